package node

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// responding is the agent that a view of a session is taken for.
type responding struct {
	id   crdt.DocID // zero: none
	name string
	// here says that this peer has the agent's document; hosted that it may write to it.
	here, hosted bool
}

// responder picks the agent that answers in a session: the one asked for, else the session's host,
// else the first on the roster.
func (n *Node) responder(ctx context.Context, session crdt.DocID, ref string) (responding, error) {
	var a crdt.AttachedAgent
	err := n.repo.View(ctx, session, func(v *crdt.View) error {
		s := crdt.SessionView{View: v}
		for i, x := range s.Agents() {
			if i == 0 || x.ID == s.Host() {
				a = x
			}
		}
		return nil
	})
	if err != nil {
		return responding{}, err
	}
	if ref != "" {
		if a, err = n.rostered(ctx, session, ref); err != nil {
			id, err2 := n.findAgent(ctx, ref)
			if err2 != nil {
				return responding{}, err
			}
			a = crdt.AttachedAgent{ID: id}
		}
	}
	if a.ID.IsZero() {
		return responding{}, nil
	}
	r := responding{id: a.ID, name: a.Name}
	access, err := n.repo.Access(ctx, a.ID)
	switch {
	case errors.Is(err, crdt.ErrUnknownDoc):
		return r, nil
	case err != nil:
		return r, err
	}
	r.here, r.hosted = true, n.roleIn(access) >= crdt.Write
	if r.name == "" {
		sum, _ := n.repo.Summary(a.ID)
		r.name = n.docName(ctx, sum)
	}
	return r, nil
}

// optOuts returns the extensions that the responding agent has switched off for itself. An agent
// whose document is not hosted here counts as having none.
func (n *Node) optOuts(ctx context.Context, session crdt.DocID, ref string) (map[string]bool, string, error) {
	agent, err := n.responder(ctx, session, ref)
	if err != nil || !agent.hosted {
		return nil, agent.name, err
	}
	out := map[string]bool{}
	err = n.repo.View(ctx, agent.id, func(v *crdt.View) error {
		log, err := activationLog(v)
		if err == nil {
			for _, name := range log.ReadDisabled() {
				out[name] = true
			}
		}
		return err
	})
	return out, agent.name, err
}

// extensionStates lists what the session's log knows of, and what this peer makes of it. Names,
// references and session_active come from the log alone, so they are equal on all peers in sync.
func (n *Node) extensionStates(id crdt.DocID, log *activation.Log, optOut map[string]bool) control.List[control.ExtensionState] {
	var out control.List[control.ExtensionState]
	external := n.loading.replay.States(id)
	for name := range log.State() {
		ref, ok := log.LastRef(name)
		if !ok {
			continue // only ever switched off
		}
		decl, on := n.decl(name, ref), log.Active(name)
		e := control.ExtensionState{Name: name, SessionActive: on, AgentActive: on && !optOut[name], State: n.stateOf(ref, decl)}
		if st, ok := external[name]; ok && st.Ref.Equal(ref) {
			e.State, e.Reason = stateWord(st.State), st.Reason
			if st.Manifest != nil {
				for _, h := range st.Manifest.Kinds() {
					e.Hooks = append(e.Hooks, string(h))
				}
			}
		}
		e.Ref = json.RawMessage(ref.String())
		if decl != nil {
			for _, h := range decl.Hooks {
				e.Hooks = append(e.Hooks, string(h))
			}
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b control.ExtensionState) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// decl finds the compiled extension that a reference of this name stands for.
func (n *Node) decl(name string, ref extension.Ref) *extension.Declaration {
	for i := range n.decls {
		if n.decls[i].Name == name && n.decls[i].Ref.Kind() == ref.Kind() {
			return &n.decls[i]
		}
	}
	return nil
}

// stateOf says what this peer can do with a reference to code that is compiled in; for any other one the
// replay of the session says more.
func (n *Node) stateOf(ref extension.Ref, decl *extension.Declaration) string {
	if ref.Kind() == extension.Builtin && decl != nil {
		return "builtin"
	}
	return "unavailable"
}
