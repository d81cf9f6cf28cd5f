package node

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/node/control"
)

func (n *Node) sessionNew(ctx context.Context, p control.SessionNewParams) (control.Created, error) {
	id, err := n.createSession(ctx, p.Name, p.Agents, "cli", nil)
	if err != nil {
		return control.Created{}, err
	}
	return control.Created{ID: id.String()}, nil
}

// createSession makes a session with its default activation rows, its agents and what fill writes,
// all in its first commit.
func (n *Node) createSession(ctx context.Context, name string, agents []string, source string, fill func(*crdt.Tx) error) (crdt.DocID, error) {
	if err := checkName(name); err != nil {
		return crdt.DocID{}, err
	}
	if _, taken := n.docNames.byName(name); taken {
		return crdt.DocID{}, &control.Error{Code: control.CodeConflict, Cause: fmt.Sprintf("make session %s: another session here has this name", name), Remedy: "choose another name"}
	}
	roster, err := n.firstRoster(ctx, agents)
	if err != nil {
		return crdt.DocID{}, err
	}
	id, err := n.repo.Create(ctx, crdt.Session, func(tx *crdt.Tx) error {
		if name != "" {
			if err := tx.Set(crdt.MetaStore, crdt.MetaName, name); err != nil {
				return err
			}
		}
		for i, a := range roster {
			// Who was attached first answers first; of these, who is listed first.
			a.AttachedAt = tx.Now() + int64(i)
			if err := crdt.AttachAgent(tx, a); err != nil {
				return err
			}
		}
		if fill != nil {
			if err := fill(tx); err != nil {
				return err
			}
		}
		if tx.Writes(activation.Store) {
			return nil // what is on came with the content
		}
		return n.recordActive(tx)
	})
	if err != nil {
		return id, err
	}
	if err := n.catalog.Put(ctx, id.String(), catalogRow{Source: source, Created: crdt.NowMillis(n.clock)}); err != nil {
		return id, err
	}
	return id, n.docNames.set(ctx, id.String(), name)
}

// recordActive writes the activation rows that a session start calls for.
func (n *Node) recordActive(tx *crdt.Tx) error {
	log, err := activationLog(tx.View)
	if err != nil {
		return err
	}
	rows, err := activation.RecordActive(log, n.decls, tx.Now())
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

func activationLog(v *crdt.View) (*activation.Log, error) {
	log, ok := v.Index(activation.IndexName).(*activation.Log)
	if !ok {
		return nil, fmt.Errorf("read activation log: a %s document has none", v.Kind())
	}
	return log, nil
}

// firstRoster resolves the agents of a new session; nil stands for the default ones.
func (n *Node) firstRoster(ctx context.Context, refs []string) ([]crdt.AttachedAgent, error) {
	find := n.findAgent
	if refs == nil {
		refs, find = n.cfg.DefaultAgents, n.findDefaultAgent
	}
	var roster []crdt.AttachedAgent
	for _, ref := range refs {
		id, err := find(ctx, ref)
		if err != nil {
			return nil, err
		}
		a, err := n.agentEntry(ctx, id)
		if err != nil {
			return nil, err
		}
		roster = append(roster, a)
	}
	return roster, nil
}

// rosterEntry resolves an agent for a roster.
func (n *Node) rosterEntry(ctx context.Context, ref string) (crdt.AttachedAgent, error) {
	id, err := n.findAgent(ctx, ref)
	if err != nil {
		return crdt.AttachedAgent{}, err
	}
	return n.agentEntry(ctx, id)
}

// agentEntry is an agent as a roster has it: its home is the agent's own, else this peer.
func (n *Node) agentEntry(ctx context.Context, id crdt.DocID) (crdt.AttachedAgent, error) {
	a := crdt.AttachedAgent{ID: id}
	err := n.repo.View(ctx, id, func(v *crdt.View) error {
		agent := crdt.AgentView{View: v}
		a.Name, a.HomePeer = agent.Name(), agent.HomePeer()
		return nil
	})
	if a.HomePeer == "" {
		a.HomePeer = n.Self().String()
	}
	return a, err
}

func (n *Node) sessionList(ctx context.Context, p control.SessionListParams) (control.List[control.SessionSummary], error) {
	out := control.List[control.SessionSummary]{}
	for _, s := range n.repo.List() {
		if s.Kind != crdt.Session {
			continue
		}
		row, err := n.cataloged(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		if row.Closed && !p.All {
			continue
		}
		sum, err := n.sessionSummary(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, sum)
	}
	slices.SortFunc(out, func(a, b control.SessionSummary) int {
		if a.Created != b.Created {
			if a.Created > b.Created {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, nil
}

func (n *Node) sessionSummary(ctx context.Context, id crdt.DocID) (control.SessionSummary, error) {
	row, err := n.cataloged(ctx, id)
	if err != nil {
		return control.SessionSummary{}, err
	}
	out := control.SessionSummary{ID: id.String(), Name: n.docNames.of(id.String()), Closed: row.Closed, Created: control.Time(row.Created)}
	err = n.repo.View(ctx, id, func(v *crdt.View) error {
		entries := int64(crdt.SessionView{View: v}.Log().Len())
		out.Entries, out.Heads, out.Role = &entries, hexHeads(v.Heads()), n.roleIn(v.Access()).String()
		if out.Created == 0 {
			out.Created = control.Time(v.Access().Created())
		}
		return nil
	})
	if err == nil {
		out.StoredOn, err = n.storedOn(ctx, id)
	}
	return out, err
}

func (n *Node) roleIn(a *crdt.Access) crdt.Role {
	return a.RoleAt(n.Self(), crdt.NowMillis(n.clock))
}

func hexHeads(heads []crdt.ChangeHash) control.List[string] {
	out := make(control.List[string], len(heads))
	for i, h := range heads {
		out[i] = h.String()
	}
	return out
}

func (n *Node) sessionShow(ctx context.Context, p control.SessionShowParams) (control.SessionShow, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.SessionShow{}, err
	}
	optOut, agent, err := n.optOuts(ctx, id, p.Agent)
	if err != nil {
		return control.SessionShow{}, err
	}
	if err := n.loading.replay.Ensure(ctx, id); err != nil {
		return control.SessionShow{}, err
	}
	out := control.SessionShow{ID: id.String(), Name: n.docNames.of(id.String()), Agent: agent}
	err = n.repo.View(ctx, id, func(v *crdt.View) error {
		s := crdt.SessionView{View: v}
		log, err := activationLog(v)
		if err != nil {
			return err
		}
		out.Entries, out.Heads, out.Role = int64(s.Log().Len()), hexHeads(v.Heads()), n.roleIn(v.Access()).String()
		for _, a := range s.Agents() {
			out.Agents = append(out.Agents, control.SessionAgent{ID: a.ID.String(), Name: a.Name, Host: a.ID == s.Host(), HomePeer: a.HomePeer})
		}
		out.Extensions = n.extensionStates(id, log, optOut)
		out.Members = n.members(v.Access())
		return nil
	})
	if err != nil {
		return out, err
	}
	if out.StoredOn, err = n.storedOn(ctx, id); err != nil {
		return out, err
	}
	s, err := n.contents.standing(ctx, id)
	if err != nil {
		return out, err
	}
	out.Contents = n.contents.summary(id, &s)
	out.Peers, err = n.documentPeers(ctx, id)
	return out, err
}

func (n *Node) members(a *crdt.Access) control.List[control.Member] {
	var out control.List[control.Member]
	now := crdt.NowMillis(n.clock)
	for _, m := range a.Members() {
		if role := a.RoleAt(m.Peer, now); role > crdt.NoRole {
			out = append(out, control.Member{ID: m.Peer.String(), Name: n.nameOf(m.Peer), Role: role.String()})
		}
	}
	return slices.CompactFunc(out, func(a, b control.Member) bool { return a.ID == b.ID })
}

// nameOf is what a peer is called here.
func (n *Node) nameOf(p crdt.PeerID) string {
	if p == n.Self() {
		return n.name()
	}
	return n.peerNames.of(p.String())
}

// sessionPostFile is sessionPost with the text as a file beside the parameters.
func (n *Node) sessionPostFile(ctx context.Context, p control.SessionPostParams, out *control.Events[control.Progress]) (control.Created, error) {
	if p.Content != "" {
		return control.Created{}, usage("leave the content out", "post entry: the text is given twice, as content and as a file")
	}
	text, err := io.ReadAll(out.Upload())
	if err != nil {
		return control.Created{}, fmt.Errorf("post entry: %w", err)
	}
	p.Content = string(text)
	return n.sessionPost(ctx, p)
}

func (n *Node) sessionPost(ctx context.Context, p control.SessionPostParams) (control.Created, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.Created{}, err
	}
	e := crdt.Entry{Sender: p.As, Content: p.Content}
	if e.Sender == "" {
		e.Sender = n.name()
	}
	if p.EntryType != "" {
		if e.Type, err = crdt.ParseEntryType(p.EntryType); err != nil {
			return control.Created{}, usage("leave the type out for a message", "%s", err)
		}
	}
	if e.Content == "" {
		return control.Created{}, usage("give the text, or - and the text on standard input", "post entry: the text is empty")
	}
	row, err := n.addEntry(ctx, id, e)
	if err != nil {
		return control.Created{}, denied(err)
	}
	return control.Created{ID: row.String()}, nil
}

func (n *Node) sessionClose(ctx context.Context, p control.SessionParams) (control.SessionSummary, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.SessionSummary{}, err
	}
	row, err := n.cataloged(ctx, id)
	if err != nil {
		return control.SessionSummary{}, err
	}
	row.Closed = true // first, so that no change of the log starts it again behind the shutdown
	if err := n.catalog.Put(ctx, id.String(), row); err != nil {
		return control.SessionSummary{}, err
	}
	if err := n.hub.SessionShutdown(ctx, id); err != nil {
		n.log.Error("session_shutdown hooks failed", "session", id.Short(), "cause", err)
	}
	n.loading.drop(ctx, id)
	n.reloadRoutines(ctx, id)
	return n.sessionSummary(ctx, id)
}

func (n *Node) sessionForget(ctx context.Context, p control.SessionForgetParams) (control.Forgotten, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.Forgotten{}, err
	}
	if err := n.forget(ctx, id, p.Force); err != nil {
		return control.Forgotten{}, err
	}
	return control.Forgotten{ID: id.String()}, nil
}

// forget removes a document from this peer. The only copy goes on demand alone.
func (n *Node) forget(ctx context.Context, id crdt.DocID, force bool) error {
	copies, err := n.storedOn(ctx, id)
	if err != nil {
		return err
	}
	if copies < 2 && !force {
		return &control.Error{
			Code: control.CodeConflict, Cause: fmt.Sprintf("forget %s: no other peer is known to have all of it", id.Short()),
			Remedy: "export it first, or repeat with --force to lose it",
		}
	}
	if err := n.repo.Forget(ctx, id); err != nil {
		return err
	}
	n.reloadRoutines(ctx, id)
	n.loading.drop(ctx, id)
	if err := n.contents.drop(ctx, id); err != nil {
		return err
	}
	if err := n.loading.forget(ctx, id); err != nil {
		return err
	}
	if err := n.docNames.set(ctx, id.String(), ""); err != nil {
		return err
	}
	return n.catalog.Delete(ctx, id.String())
}
