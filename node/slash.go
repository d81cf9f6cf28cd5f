package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/node/command"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// cmd runs a slash command on a session. A usage error of the command is a result that is not ok,
// not an error of the call.
func (n *Node) cmd(ctx context.Context, p control.CmdParams) (control.CmdResult, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.CmdResult{}, err
	}
	agent, err := n.responder(ctx, id, p.Agent)
	if err != nil {
		return control.CmdResult{}, err
	}
	if err := n.loading.replay.Ensure(ctx, id); err != nil {
		return control.CmdResult{}, err
	}
	r := command.New(command.Config{
		Documents: n.repo, Declarations: n.decls, Agents: slashHost{n}, Names: slashHost{n}, Peers: slashHost{n},
		States: slashHost{n}, Live: slashHost{n}, Sources: slashHost{n}, Clock: n.clock, Self: n.Self(),
	})
	res := r.Run(ctx, command.Call{Session: id, Agent: command.Agent{ID: agent.id, Name: agent.name, Hosted: agent.hosted}, Line: p.Line})
	if res.Kind == command.NotCommand {
		return control.CmdResult{}, usage("start the line with a slash, such as '/help', or use `chaz-peer session post`", "run command: %.40q is a plain message", p.Line)
	}
	return control.CmdResult{OK: res.OK(), Output: res.Output}, nil
}

// slashHost is the node as slash commands see it.
type slashHost struct{ n *Node }

func (h slashHost) RosterEntry(ctx context.Context, ref string) (crdt.AttachedAgent, error) {
	return h.n.rosterEntry(ctx, ref)
}

func (h slashHost) SessionName(id crdt.DocID) string { return h.n.docNames.of(id.String()) }

func (h slashHost) SetSessionName(ctx context.Context, id crdt.DocID, name string) error {
	return h.n.docNames.set(ctx, id.String(), strings.TrimSpace(name))
}

func (h slashHost) Petname(id crdt.PeerID) string {
	if id == h.n.Self() {
		return "this peer"
	}
	return h.n.peerNames.of(id.String())
}

func (h slashHost) ClockOffset(id crdt.PeerID) (int64, bool) {
	if id == h.n.Self() {
		return 0, true
	}
	if link := h.n.link(id); link != nil {
		if off := link.status().ClockOffset; off != nil {
			return *off, true
		}
	}
	return 0, false
}

// RefState implements [command.States].
func (h slashHost) RefState(ctx context.Context, session crdt.DocID, name string, ref extension.Ref) command.Standing {
	if ref.Kind() == extension.Builtin {
		return command.Standing{State: command.State(h.n.stateOf(ref, h.n.decl(name, ref)))}
	}
	st, ok := h.n.loading.replay.States(session)[name]
	if !ok || !st.Ref.Equal(ref) { // it is off
		r := h.n.loading.set.Resolve(ctx, session, name, ref)
		st.State, st.Reason, st.Manifest = r.State, r.Reason, nil
		if r.Package != nil {
			st.Manifest = r.Package.Manifest
		}
	}
	out := command.Standing{State: command.State(st.State), Reason: st.Reason, Remedy: h.n.remedyFor(session, st.State)}
	if st.Manifest != nil {
		out.Hooks = st.Manifest.Kinds()
	}
	return out
}

// remedyFor is what helps with all extensions of a session that are in one state.
func (n *Node) remedyFor(session crdt.DocID, s loaders.State) string {
	where := orElse(n.docNames.of(session.String()), session.Short())
	switch s {
	case loaders.StatePending, loaders.StateNeedsReview:
		return fmt.Sprintf("look with `chaz-peer ext show NAME --session %s`, then decide with `chaz-peer ext trust` or `ext deny`", where)
	case loaders.StateUnavailable:
		return fmt.Sprintf("`chaz-peer ext show NAME --session %s` says what is missing; it comes when a peer that has it is connected", where)
	case loaders.StateDenied:
		return "`chaz-peer ext trust NAME` takes a denial back"
	}
	return ""
}

func (n *Node) id(context.Context, control.IDParams) (control.ID, error) {
	out := control.ID{PeerID: n.Self().String(), Name: n.name()}
	if on := n.getOnline(); on != nil {
		out.Addrs = on.net.Addrs()
	}
	return out, nil
}

func (n *Node) settings(context.Context, control.ConfigParams) (control.Settings, error) {
	s := n.cfg.settings()
	s.Name = n.name()
	return s, nil
}

// needOnline is for what only a running daemon can do.
func (n *Node) needOnline() (*online, error) {
	if on := n.getOnline(); on != nil {
		return on, nil
	}
	return nil, &control.Error{Code: control.CodeUnavailable, Cause: "this needs a running daemon", Remedy: "start it with `chaz-peer run`"}
}

func (n *Node) getOnline() *online {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.online
}

// want makes the network keep in touch with the partners.
func (n *Node) want(crdt.PeerID) {
	if on := n.getOnline(); on != nil && !errors.Is(on.ctx.Err(), context.Canceled) {
		on.wantPartners()
	}
}
