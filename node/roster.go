package node

import (
	"context"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

func (n *Node) sessionAttach(ctx context.Context, p control.AttachParams) (control.Attached, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.Attached{}, err
	}
	a, err := n.rosterEntry(ctx, p.Agent)
	if err != nil {
		return control.Attached{}, err
	}
	err = n.repo.Update(ctx, id, func(tx *crdt.Tx) error { return crdt.AttachAgent(tx, a) })
	if err != nil {
		return control.Attached{}, denied(err)
	}
	out, err := n.attached(ctx, id, a.ID)
	if err != nil {
		return out, err
	}
	out.Note = n.homeNote(ctx, id, out.HomePeer)
	return out, n.noteSession(ctx, a.ID, id)
}

// homeNote says what is missing when the peer that is to run an agent can't reach the session.
func (n *Node) homeNote(ctx context.Context, session crdt.DocID, homePeer string) string {
	home, err := crdt.ParsePeerID(homePeer)
	if err != nil || home == n.Self() {
		return ""
	}
	access, err := n.repo.Access(ctx, session)
	if err != nil || access.Role(home) >= crdt.Write {
		return ""
	}
	return fmt.Sprintf("the agent runs on peer %s, which may not write to this session; make it a ticket: chaz-peer session share %s --role write", home.Short(), session.Short())
}

// noteSession keeps in an agent document that it is attached to a session, where this peer may
// write to it: whoever hosts the agent finds the session there.
func (n *Node) noteSession(ctx context.Context, agent, session crdt.DocID) error {
	access, err := n.repo.Access(ctx, agent)
	if err != nil {
		return err
	}
	if n.roleIn(access) < crdt.Write {
		return nil
	}
	return n.repo.Update(ctx, agent, func(tx *crdt.Tx) error {
		return tx.Set("sessions", session.String()+"/session_db_id", session.String())
	})
}

// attached reads one roster entry back.
func (n *Node) attached(ctx context.Context, session, agent crdt.DocID) (control.Attached, error) {
	out := control.Attached{Session: session.String()}
	out.ID = agent.String()
	err := n.repo.View(ctx, session, func(v *crdt.View) error {
		s := crdt.SessionView{View: v}
		for _, a := range s.Agents() {
			if a.ID == agent {
				out.SessionAgent = control.SessionAgent{ID: a.ID.String(), Name: a.Name, Host: a.ID == s.Host(), HomePeer: a.HomePeer}
			}
		}
		return nil
	})
	return out, err
}

// rostered finds an agent on the roster of a session: by id, prefix or name there.
func (n *Node) rostered(ctx context.Context, session crdt.DocID, ref string) (crdt.AttachedAgent, error) {
	var roster []crdt.AttachedAgent
	err := n.repo.View(ctx, session, func(v *crdt.View) error {
		roster = crdt.SessionView{View: v}.Agents()
		return nil
	})
	if err != nil {
		return crdt.AttachedAgent{}, err
	}
	var all []candidate
	for _, a := range roster {
		all = append(all, candidate{a.ID.String(), a.Name})
	}
	id, err := pick("agent", ref, all)
	if err != nil {
		return crdt.AttachedAgent{}, err
	}
	for _, a := range roster {
		if a.ID.String() == id {
			return a, nil
		}
	}
	return crdt.AttachedAgent{}, fmt.Errorf("find agent %s: %w", ref, crdt.ErrNotFound)
}

func (n *Node) sessionDetach(ctx context.Context, p control.AttachParams) (control.Attached, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.Attached{}, err
	}
	a, err := n.rostered(ctx, id, p.Agent)
	if err != nil {
		return control.Attached{}, err
	}
	err = n.repo.Update(ctx, id, func(tx *crdt.Tx) error {
		if (crdt.SessionView{View: tx.View}).Host() == a.ID {
			if err := tx.Delete(crdt.MetaStore, crdt.MetaHost); err != nil {
				return err
			}
		}
		return crdt.DetachAgent(tx, a.ID)
	})
	out := control.Attached{Session: id.String(), SessionAgent: control.SessionAgent{ID: a.ID.String(), Name: a.Name, HomePeer: a.HomePeer}}
	return out, denied(err)
}

func (n *Node) sessionHost(ctx context.Context, p control.AttachParams) (control.Attached, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.Attached{}, err
	}
	if p.Agent == "" {
		err := n.repo.Update(ctx, id, func(tx *crdt.Tx) error { return tx.Delete(crdt.MetaStore, crdt.MetaHost) })
		return control.Attached{Session: id.String()}, denied(err)
	}
	a, err := n.rostered(ctx, id, p.Agent)
	if err != nil {
		return control.Attached{}, err
	}
	err = n.repo.Update(ctx, id, func(tx *crdt.Tx) error { return tx.Set(crdt.MetaStore, crdt.MetaHost, a.ID.String()) })
	if err != nil {
		return control.Attached{}, denied(err)
	}
	return n.attached(ctx, id, a.ID)
}
