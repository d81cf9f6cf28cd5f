package command

import (
	"context"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

func (r *Runner) extensions(ctx context.Context, c Call, rest string) Result {
	sub, rest := cutWord(rest)
	switch sub {
	case "", "list":
		if rest != "" {
			return usageOf("extensions", "list")
		}
		return r.list(ctx, c)
	case "add", "remove", "history":
		name, agent, ok := scoped(rest)
		switch {
		case !ok:
			return usageOf("extensions", sub)
		case sub == "add" && isSource(name):
			return r.addSource(ctx, c, name, agent)
		case sub == "history":
			return r.history(ctx, c, name, agent)
		case agent:
			return r.switchAgent(ctx, c, name, sub == "add")
		}
		return r.switchSession(ctx, c, name, sub == "add")
	case "settings":
		if name, more := cutWord(rest); name != "" && more == "" {
			return r.settings(ctx, c, name)
		}
	case "set":
		name, rest := cutWord(rest)
		key, value := cutWord(rest)
		if value != "" {
			return r.set(ctx, c, name, key, value)
		}
	case "unset":
		name, rest := cutWord(rest)
		if key, more := cutWord(rest); key != "" && more == "" {
			return r.unset(ctx, c, name, key)
		}
	}
	return usageOf("extensions", sub)
}

// scoped reads "<name> [agent|session]". One word is always the name; quotes make one word of several.
func scoped(args string) (name string, agent, ok bool) {
	words, ok := words(args)
	if !ok {
		return "", false, false
	}
	switch len(words) {
	case 1:
		return words[0], false, true
	case 2:
		return words[0], words[1] == "agent", words[1] == "agent" || words[1] == "session"
	}
	return "", false, false
}

func (r *Runner) declared(name string) (extension.Declaration, bool) {
	for _, d := range r.cfg.Declarations {
		if d.Name == name {
			return d, true
		}
	}
	return extension.Declaration{}, false
}

// refFor is the reference under which a name is switched on: our own, else the last recorded one.
func (r *Runner) refFor(name string, logs ...*activation.Log) (extension.Ref, bool) {
	if d, ok := r.declared(name); ok {
		return d.Ref, true
	}
	for _, log := range logs {
		if ref, ok := log.LastRef(name); ok {
			return ref, true
		}
	}
	return extension.Ref{}, false
}

func unknownExtension(name string) Result {
	return errorf("unknown extension '%s': `/extensions list` shows those of this peer and this session", clean(name, extension.MaxName))
}

// switchSession is /extensions add|remove for the session.
func (r *Runner) switchSession(ctx context.Context, c Call, name string, on bool) Result {
	var reply Result
	err := r.cfg.Documents.Update(ctx, c.Session, func(tx *crdt.Tx) error {
		log, err := sessionLog(tx.View)
		if err != nil {
			return err
		}
		ref, known := r.refFor(name, log)
		if !on && !known {
			_, known = log.Latest(name)
		}
		kind := activation.Deactivated
		switch {
		case !known:
			reply = unknownExtension(name)
			return nil
		case on && log.Active(name):
			reply = textf("%s is already active on this session.", name)
			if r.resume(c.Session, name) {
				reply = textf("%s was suspended on this peer after failures; it may run again.", name)
			}
			return nil
		case !on && !log.Active(name):
			reply = textf("%s is not active on this session; there is nothing to remove.", name)
			return nil
		case on:
			r.resume(c.Session, name)
			kind = activation.Activated
			reply = textf("Activated %s on this session, with effect from the next agent turn.", name)
		default:
			reply = textf("Deactivated %s on this session: from the next agent turn its hooks, tools and commands are gone.", name)
		}
		return write(tx, log, kind, name, ref)
	})
	if err != nil {
		return errorf("switch %s on this session: %v", clean(name, extension.MaxName), err)
	}
	return reply
}

func write(tx *crdt.Tx, log *activation.Log, kind activation.Kind, name string, ref extension.Ref) error {
	rows, err := log.Next(tx.Now(), kind, name, ref)
	if err != nil {
		return err
	}
	for _, e := range rows {
		if _, err := tx.PutRow(activation.Store, e.Text); err != nil {
			return err
		}
	}
	return nil
}

// switchAgent is /extensions add|remove for the responding agent: its opt-outs.
func (r *Runner) switchAgent(ctx context.Context, c Call, name string, on bool) Result {
	if c.Agent.ID.IsZero() {
		return errorf("no agent answers in this session, so there is no set to edit: attach one with `/agent add <name or id>`")
	}
	who := clean(c.Agent.Name, 64)
	if !c.Agent.Hosted {
		return errorf("the agent %s is not hosted on this peer: its set can't be edited here", who)
	}
	known := false
	var ref extension.Ref
	err := r.viewSession(ctx, c.Session, func(_ crdt.SessionView, log *activation.Log) error {
		ref, known = r.refFor(name, log)
		if !known {
			_, known = log.Latest(name)
		}
		return nil
	})
	if err != nil {
		return errorf("switch %s for %s: %v", clean(name, extension.MaxName), who, err)
	}
	var reply Result
	err = r.cfg.Documents.Update(ctx, c.Agent.ID, func(tx *crdt.Tx) error {
		log, err := logOf(tx.View)
		if err != nil {
			return err
		}
		reply, err = switchOptOut(tx, log, name, who, on, known, ref)
		return err
	})
	if err != nil {
		return errorf("switch %s for %s: %v", clean(name, extension.MaxName), who, err)
	}
	return reply
}

func switchOptOut(tx *crdt.Tx, log *activation.Log, name, who string, on, known bool, ref extension.Ref) (Result, error) {
	_, recorded := log.Latest(name)
	off := log.Disabled(name)
	switch {
	case on && !off:
		note := ""
		if !known && !recorded {
			note = " No extension of that name is known here."
		}
		return textf("%s has not opted out of %s; there is nothing to add.%s", who, clean(name, extension.MaxName), note), nil
	case on:
		if ref.IsZero() {
			if ref, _ = log.LastRef(name); ref.IsZero() {
				// Only the name counts in an agent's log, but a row that ends an opt-out needs a
				// reference; this one is valid for every name.
				ref = extension.BuiltinRef(name, extension.HostVersion)
			}
		}
		return textf("%s no longer opts out of %s: from its next turn it has what the session allows.", who, name),
			write(tx, log, activation.Activated, name, ref)
	case off:
		return textf("%s has already opted out of %s.", who, name), nil
	case !known && !recorded:
		return unknownExtension(name), nil
	}
	return textf("%s opts out of %s from its next turn; other agents are not affected.", who, name),
		write(tx, log, activation.Deactivated, name, extension.Ref{})
}

// optedOut returns the opt-outs of the responding agent; none if it is not hosted here.
func (r *Runner) optedOut(ctx context.Context, a Agent) (map[string]bool, error) {
	off := map[string]bool{}
	if a.ID.IsZero() || !a.Hosted {
		return off, nil
	}
	err := r.cfg.Documents.View(ctx, a.ID, func(v *crdt.View) error {
		log, err := logOf(v)
		if err != nil {
			return err
		}
		for _, name := range log.ReadDisabled() {
			off[name] = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the opt-outs of %s: %w", clean(a.Name, 64), err)
	}
	return off, nil
}
