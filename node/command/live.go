package command

import (
	"context"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Live is what runs of extensions on this peer.
type Live interface {
	// Run runs a slash command of an extension; known is false where no extension has it.
	Run(ctx context.Context, c Call, word, args string) (out string, known bool, err error)
	// Commands lists the slash commands of extensions in a session with a line of help each.
	Commands(session crdt.DocID) []ExtensionCommand
	// Trouble says why a version of an extension is not live in a session; "" if it is. whole is false
	// where only the instance of this session or agent is missing. State is failed or suspended.
	Trouble(name string, ref extension.Ref, c Call) (state State, reason string, whole bool)
	// Resume lifts the suspension of an extension in a session; false if there was none.
	Resume(session crdt.DocID, name string) bool
	// CheckSetting says why a value is not one that an extension of a session takes under a key.
	CheckSetting(session crdt.DocID, name, key string, value []byte) error
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

func (r *Runner) commandForms(session crdt.DocID) []form {
	var out []form
	if r.cfg.Live != nil {
		for _, x := range r.cfg.Live.Commands(session) {
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
	if state, reason, whole := r.cfg.Live.Trouble(row.name, row.ref, c); state != "" {
		row.state, row.reason, row.part = state, reason, !whole
	}
}

// resume is the other half of an add: what was suspended on this peer may try again.
func (r *Runner) resume(session crdt.DocID, name string) bool {
	return r.cfg.Live != nil && r.cfg.Live.Resume(session, name)
}

func (r *Runner) checkSetting(session crdt.DocID, name, key string, value []byte) error {
	if r.cfg.Live == nil || string(value) == "null" {
		return nil
	}
	if err := r.cfg.Live.CheckSetting(session, name, key, value); err != nil {
		return fmt.Errorf("%s does not take this value: %w", clean(name, extension.MaxName), err)
	}
	return nil
}
