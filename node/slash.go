package node

import (
	"context"
	"errors"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
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
	r := command.New(command.Config{
		Documents: n.repo, Declarations: n.decls, Agents: slashHost{n}, Names: slashHost{n}, Peers: slashHost{n},
		States: slashHost{n}, Live: slashHost{n}, Clock: n.clock, Self: n.Self(),
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

func (h slashHost) RefState(ref extension.Ref) (command.State, string) {
	return command.State(h.n.stateOf(ref, h.n.decl(ref.Name(), ref))), ""
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
