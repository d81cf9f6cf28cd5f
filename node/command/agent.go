package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

func (r *Runner) agentsVerb(ctx context.Context, c Call, rest string) Result {
	if rest != "" {
		return usageOf("agents")
	}
	return r.agentList(ctx, c)
}

func (r *Runner) agentVerb(ctx context.Context, c Call, rest string) Result {
	sub, ref := cutWord(rest)
	switch {
	case sub == "" || sub == "list" && ref == "":
		return r.agentList(ctx, c)
	case sub == "add" && ref != "":
		return r.agentAdd(ctx, c, ref)
	case sub == "remove" && ref != "":
		return r.agentRemove(ctx, c, ref)
	case sub == "host":
		return r.agentHost(ctx, c, ref)
	}
	return usageOf("agent", sub)
}

func (r *Runner) agentList(ctx context.Context, c Call) Result {
	var b strings.Builder
	err := r.viewSession(ctx, c.Session, func(s crdt.SessionView, _ *activation.Log) error {
		for _, a := range s.Agents() {
			mark := ""
			if a.ID == s.Host() {
				mark = "  (host)"
			}
			fmt.Fprintf(&b, "\n  %s  %s  runs on %s%s", clean(a.Name, 64), a.ID, r.home(a.HomePeer), mark)
		}
		return nil
	})
	switch {
	case err != nil:
		return errorf("list agents: %v", err)
	case b.Len() > 0:
		return Result{Text, "Agents attached to this session:" + b.String()}
	case c.Agent.ID.IsZero():
		return textf("No agent is attached to this session, so nobody answers. `/agent add <name or id>` attaches one.")
	}
	return textf("No agent is attached to this session; %s answers. `/agent add <name or id>` attaches one.", clean(c.Agent.Name, 64))
}

// home prints the peer that runs an agent in this session.
func (r *Runner) home(text string) string {
	if text == "" {
		return "every peer that can"
	}
	id, err := crdt.ParsePeerID(text)
	switch {
	case err != nil:
		return "every peer that can (its home can't be read)"
	case id == r.cfg.Self:
		return "this peer"
	}
	if name := clean(r.cfg.Peers.Petname(id), 64); name != "" {
		return name
	}
	return "peer …" + id.Short()
}

func (r *Runner) agentAdd(ctx context.Context, c Call, ref string) Result {
	agent, err := r.cfg.Agents.RosterEntry(ctx, ref)
	if err != nil {
		return errorf("attach an agent: %v; `/agents` shows the attached ones", err)
	}
	var reply string
	err = r.cfg.Documents.Update(ctx, c.Session, func(tx *crdt.Tx) error {
		if _, err := sessionLog(tx.View); err != nil {
			return err
		}
		reply = fmt.Sprintf("Attached %s; it runs on %s.", clean(agent.Name, 64), r.home(agent.HomePeer))
		if there, err := rostered(tx.View, agent.ID.String()); err == nil {
			agent.HomePeer = there.HomePeer
			reply = fmt.Sprintf("%s is already attached; it runs on %s.", clean(there.Name, 64), r.home(there.HomePeer))
		}
		reply += r.homeNote(tx, agent.HomePeer)
		return crdt.AttachAgent(tx, agent)
	})
	if err != nil {
		return errorf("attach %s: %v", clean(agent.Name, 64), err)
	}
	if err := r.noteSession(ctx, agent.ID, c.Session, true); err != nil {
		return errorf("attached %s, but its own list of sessions was not changed: %v", clean(agent.Name, 64), err)
	}
	return Result{Text, reply}
}

// homeNote says what is missing when the peer that is to run an agent can't write to the session.
func (r *Runner) homeNote(tx *crdt.Tx, home string) string {
	id, err := crdt.ParsePeerID(home)
	if err != nil || tx.Access().Role(id) >= crdt.Write {
		return ""
	}
	return fmt.Sprintf(" That peer may not write to this session: make it a ticket with `chaz-peer session share %s --role write`.", tx.ID().Short())
}

// noteSession keeps in the agent's document where it is attached, if this peer may write to that.
func (r *Runner) noteSession(ctx context.Context, agent, session crdt.DocID, attached bool) error {
	err := r.cfg.Documents.Update(ctx, agent, func(tx *crdt.Tx) error {
		if tx.Access().Role(tx.Self()) < crdt.Write {
			return nil
		}
		key := session.String() + "/session_db_id"
		if !attached {
			return tx.Delete("sessions", key)
		}
		return tx.Set("sessions", key, session.String())
	})
	if errors.Is(err, crdt.ErrUnknownDoc) {
		return nil
	}
	return err
}

// rostered finds an attached agent by exact name, id, or unique prefix of an id.
func rostered(v *crdt.View, ref string) (crdt.AttachedAgent, error) {
	var named, prefixed []crdt.AttachedAgent
	for _, a := range (crdt.SessionView{View: v}).Agents() {
		id := a.ID.String()
		switch {
		case id == ref:
			return a, nil
		case a.Name == ref:
			named = append(named, a)
		case len(ref) >= 8 && strings.HasPrefix(id, ref):
			prefixed = append(prefixed, a)
		}
	}
	if len(named) == 0 {
		named = prefixed
	}
	switch len(named) {
	case 0:
		return crdt.AttachedAgent{}, fmt.Errorf("no agent '%s' is attached to this session; `/agents` shows those that are", clean(ref, 64))
	case 1:
		return named[0], nil
	}
	var ids []string
	for _, a := range named {
		ids = append(ids, a.ID.String())
	}
	return crdt.AttachedAgent{}, fmt.Errorf("several attached agents fit '%s', give the id: %s", clean(ref, 64), strings.Join(ids, ", "))
}

func (r *Runner) agentRemove(ctx context.Context, c Call, ref string) Result {
	var agent crdt.AttachedAgent
	note := ""
	err := r.cfg.Documents.Update(ctx, c.Session, func(tx *crdt.Tx) (err error) {
		if _, err := sessionLog(tx.View); err != nil {
			return err
		}
		if agent, err = rostered(tx.View, ref); err != nil {
			return err
		}
		if (crdt.SessionView{View: tx.View}).Host() == agent.ID {
			note = " It was the host; now the first attached agent answers."
			if tx.Access().Role(tx.Self()) < crdt.Admin {
				// The host is part of the session's meta data, which writers may not touch.
				note = " It stays named as the host, without effect, until an admin clears that with `/agent host`."
			} else if err := tx.Delete(crdt.MetaStore, crdt.MetaHost); err != nil {
				return err
			}
		}
		return crdt.DetachAgent(tx, agent.ID)
	})
	if err != nil {
		return errorf("detach an agent: %v", err)
	}
	if err := r.noteSession(ctx, agent.ID, c.Session, false); err != nil {
		return errorf("detached %s, but its own list of sessions was not changed: %v", clean(agent.Name, 64), err)
	}
	return textf("Detached %s.%s", clean(agent.Name, 64), note)
}

func (r *Runner) agentHost(ctx context.Context, c Call, ref string) Result {
	var reply string
	err := r.cfg.Documents.Update(ctx, c.Session, func(tx *crdt.Tx) error {
		if _, err := sessionLog(tx.View); err != nil {
			return err
		}
		if ref == "" {
			reply = "No agent is the host now; the first attached one answers."
			return tx.Delete(crdt.MetaStore, crdt.MetaHost)
		}
		agent, err := rostered(tx.View, ref)
		if err != nil {
			return err
		}
		reply = fmt.Sprintf("%s is the host now: it answers unless another agent is addressed.", clean(agent.Name, 64))
		return tx.Set(crdt.MetaStore, crdt.MetaHost, agent.ID.String())
	})
	if err != nil {
		return errorf("set the host: %v", err)
	}
	return Result{Text, reply}
}
