package command

import (
	"context"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Live is what runs of extensions on this peer.
type Live interface {
	// Run runs a slash command of an extension; known is false where no extension has it.
	Run(ctx context.Context, c Call, word, args string) (out string, known bool, err error)
	// Commands lists the slash commands of extensions with a line of help each.
	Commands() []ExtensionCommand
	// Trouble says why an extension is not live in a session; "" if it is. whole is false where only
	// the instance of this session or agent is missing. State is failed or suspended.
	Trouble(name string, c Call) (state State, reason string, whole bool)
	// Resume lifts the suspension of an extension; false if there was none.
	Resume(name string) bool
	// CheckSetting says why a value is not one that an extension takes under a key.
	CheckSetting(name, key string, value []byte) error
}

// ExtensionCommand is one slash command of an extension.
type ExtensionCommand struct{ Name, Owner, Usage string }

// contributed answers a word that is no command of the host.
func (r *Runner) contributed(ctx context.Context, c Call, word, args string) Result {
	if r.cfg.Live == nil {
		return errorf("unknown command /%s: `/help` lists the commands", clean(word, 40))
	}
	out, known, err := r.cfg.Live.Run(ctx, c, word, args)
	switch {
	case !known:
		return errorf("unknown command /%s: `/help` lists the commands", clean(word, 40))
	case err != nil:
		return Result{Error, cleanText(err.Error())}
	}
	return Result{Text, cleanText(out)}
}

func (r *Runner) commandForms() []form {
	var out []form
	if r.cfg.Live != nil {
		for _, x := range r.cfg.Live.Commands() {
			what := x.Usage
			if what == "" {
				what = "of the extension " + x.Owner
			}
			out = append(out, form{"/" + x.Name, what})
		}
	}
	return out
}

// trouble puts into a row what keeps a switched-on extension from being live here.
func (r *Runner) trouble(row *listed, c Call) {
	if r.cfg.Live == nil || row.state != StateBuiltin && row.state != StateTrusted {
		return
	}
	if state, reason, whole := r.cfg.Live.Trouble(row.name, c); state != "" {
		row.state, row.reason, row.part = state, reason, !whole
	}
}

// resume is the other half of an add: what was suspended on this peer may try again.
func (r *Runner) resume(name string) bool { return r.cfg.Live != nil && r.cfg.Live.Resume(name) }

func (r *Runner) checkSetting(name, key string, value []byte) error {
	if r.cfg.Live == nil || string(value) == "null" {
		return nil
	}
	if err := r.cfg.Live.CheckSetting(name, key, value); err != nil {
		return fmt.Errorf("%s does not take this value: %w", clean(name, extension.MaxName), err)
	}
	return nil
}
