package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// createAgent makes an agent document; this peer is its home.
func (n *Node) createAgent(ctx context.Context, name string, config map[string]any) (crdt.DocID, error) {
	if err := checkName(name); err != nil {
		return crdt.DocID{}, err
	}
	id, err := n.repo.Create(ctx, crdt.Agent, func(tx *crdt.Tx) error {
		if err := tx.Set(crdt.MetaStore, crdt.MetaDisplay, name); err != nil {
			return err
		}
		for field, v := range config {
			if err := tx.Set(crdt.ConfigStore, field, v); err != nil {
				return err
			}
		}
		return tx.Set(crdt.MetaStore, crdt.MetaHome, n.Self().String())
	})
	if err != nil {
		return id, err
	}
	return id, n.catalog.Put(ctx, id.String(), catalogRow{Source: "cli", Created: crdt.NowMillis(n.clock)})
}

func (n *Node) agentNew(ctx context.Context, p control.AgentNewParams) (control.Created, error) {
	if p.Name == "" {
		return control.Created{}, usage("give the agent a name", "make agent: the name is empty")
	}
	for _, s := range n.repo.List() {
		if s.Kind == crdt.Agent && n.docName(ctx, s) == p.Name {
			return control.Created{}, &control.Error{Code: control.CodeConflict, Cause: fmt.Sprintf("make agent %s: an agent here has this name", p.Name), Remedy: "choose another name"}
		}
	}
	config := map[string]any{}
	for field, text := range p.Config {
		v, err := configValue(field, text)
		if err != nil {
			return control.Created{}, err
		}
		if v != nil {
			config[field] = v
		}
	}
	id, err := n.createAgent(ctx, p.Name, config)
	if err != nil {
		return control.Created{}, err
	}
	return control.Created{ID: id.String()}, nil
}

// configFields are the settable fields of an agent and how their text is read.
func configFields() map[string]func(string) (any, error) {
	text := func(s string) (any, error) { return s, nil }
	list := func(s string) (any, error) {
		out := []string{}
		for _, p := range strings.Split(s, ",") {
			if p = strings.TrimSpace(p); p != "" {
				out = append(out, p)
			}
		}
		return out, nil
	}
	count := func(s string) (any, error) {
		k, err := strconv.Atoi(s)
		if err != nil || k < 1 {
			return nil, fmt.Errorf("want a whole number from 1")
		}
		return k, nil
	}
	flag := func(s string) (any, error) {
		switch strings.ToLower(s) {
		case "true", "1", "yes", "on":
			return true, nil
		case "false", "0", "no", "off":
			return false, nil
		}
		return nil, fmt.Errorf("want true or false")
	}
	return map[string]func(string) (any, error){
		"system_prompt": text, "system_prompt_files": list, "model": text, "tools": list, "max_iterations": count,
		"autonomous": flag, "tool_profile": text, "max_context_tokens": count,
	}
}

// configValue reads the text of a field; an empty one takes the field away and is nil.
func configValue(field, text string) (any, error) {
	read := configFields()[field]
	if read == nil {
		var known []string
		for f := range configFields() {
			known = append(known, f)
		}
		slices.Sort(known)
		return nil, usage("use one of: "+strings.Join(known, ", "), "set agent: unknown field %.40q", field)
	}
	if text == "" {
		return nil, nil
	}
	v, err := read(text)
	if err != nil {
		return nil, usage("", "set agent: field %s: %s", field, err)
	}
	return v, nil
}

func (n *Node) agentList(ctx context.Context, _ control.AgentListParams) (control.List[control.AgentSummary], error) {
	out := control.List[control.AgentSummary]{}
	for _, s := range n.repo.List() {
		if s.Kind != crdt.Agent {
			continue
		}
		sum, err := n.agentSummary(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, sum)
	}
	slices.SortFunc(out, func(a, b control.AgentSummary) int { return strings.Compare(a.Name+a.ID, b.Name+b.ID) })
	return out, nil
}

func (n *Node) agentSummary(ctx context.Context, id crdt.DocID) (control.AgentSummary, error) {
	out := control.AgentSummary{ID: id.String()}
	err := n.repo.View(ctx, id, func(v *crdt.View) error {
		a := crdt.AgentView{View: v}
		role := n.roleIn(v.Access())
		out.Name, out.HomePeer, out.Role, out.Hosted = a.Name(), a.HomePeer(), role.String(), role >= crdt.Write
		out.Model = v.Text(crdt.ConfigStore, "model")
		return nil
	})
	if err != nil {
		return out, err
	}
	if name := n.docNames.of(out.ID); name != "" {
		out.Name = name
	}
	attached, err := n.attachedTo(ctx, id)
	if err != nil {
		return out, err
	}
	out.Sessions = len(attached)
	out.StoredOn, err = n.repo.StoredOn(ctx, id)
	return out, err
}

// attachedTo lists the sessions here that have the agent on their roster.
func (n *Node) attachedTo(ctx context.Context, agent crdt.DocID) (control.List[control.SessionRef], error) {
	var out control.List[control.SessionRef]
	for _, s := range n.repo.List() {
		if s.Kind != crdt.Session {
			continue
		}
		err := n.repo.View(ctx, s.ID, func(v *crdt.View) error {
			if _, there := v.Record(crdt.AgentsStore, agent.String()+"/display_name"); there {
				out = append(out, control.SessionRef{ID: s.ID.String(), Name: n.docNames.of(s.ID.String())})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b control.SessionRef) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

func (n *Node) agentShow(ctx context.Context, p control.AgentParams) (control.AgentShow, error) {
	id, err := n.findAgent(ctx, p.Agent)
	if err != nil {
		return control.AgentShow{}, err
	}
	return n.showAgent(ctx, id)
}

func (n *Node) showAgent(ctx context.Context, id crdt.DocID) (control.AgentShow, error) {
	sum, err := n.agentSummary(ctx, id)
	out := control.AgentShow{AgentSummary: sum, Config: map[string]any{}}
	if err != nil {
		return out, err
	}
	err = n.repo.View(ctx, id, func(v *crdt.View) error {
		out.Heads, out.Members = hexHeads(v.Heads()), n.members(v.Access())
		for k, text := range (crdt.AgentView{View: v}).Config() {
			var val any
			if err := json.Unmarshal([]byte(text), &val); err != nil {
				return fmt.Errorf("read agent: field %s: %w", k, err)
			}
			out.Config[k] = val
		}
		log, err := activationLog(v)
		if err == nil {
			out.OptOuts = log.ReadDisabled()
		}
		return err
	})
	if err != nil {
		return out, err
	}
	if out.Attached, err = n.attachedTo(ctx, id); err != nil {
		return out, err
	}
	out.Peers, err = n.documentPeers(ctx, id)
	return out, err
}

func (n *Node) agentSet(ctx context.Context, p control.AgentSetParams) (control.AgentShow, error) {
	id, err := n.findAgent(ctx, p.Agent)
	if err != nil {
		return control.AgentShow{}, err
	}
	v, err := configValue(p.Field, p.Value)
	if err != nil {
		return control.AgentShow{}, err
	}
	err = n.repo.Update(ctx, id, func(tx *crdt.Tx) error {
		if v == nil {
			return tx.Delete(crdt.ConfigStore, p.Field)
		}
		return tx.Set(crdt.ConfigStore, p.Field, v)
	})
	if err != nil {
		return control.AgentShow{}, denied(err)
	}
	return n.showAgent(ctx, id)
}

func (n *Node) agentForget(ctx context.Context, p control.AgentForgetParams) (control.Forgotten, error) {
	id, err := n.findAgent(ctx, p.Agent)
	if err != nil {
		return control.Forgotten{}, err
	}
	attached, err := n.attachedTo(ctx, id)
	if err != nil {
		return control.Forgotten{}, err
	}
	if len(attached) > 0 && !p.Force {
		return control.Forgotten{}, &control.Error{
			Code: control.CodeConflict, Cause: fmt.Sprintf("forget agent %s: on the roster of sessions here: %d", id.Short(), len(attached)),
			Remedy: "detach it there first, or repeat with --force",
		}
	}
	if err := n.forget(ctx, id, p.Force); err != nil {
		return control.Forgotten{}, err
	}
	return control.Forgotten{ID: id.String()}, nil
}
