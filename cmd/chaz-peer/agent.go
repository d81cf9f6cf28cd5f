package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type agentNewCmd struct {
	Name   string   `arg:"" help:"Its name."`
	Config []string `arg:"" optional:"" sep:"none" name:"field=value" help:"Config fields, such as model=script."`
}

// Run creates an agent.
func (c *agentNewCmd) Run(ctx context.Context, a *app) error {
	p := control.AgentNewParams{Name: c.Name, Config: map[string]string{}}
	for _, kv := range c.Config {
		k, v, ok := strings.Cut(kv, "=")
		if _, twice := p.Config[k]; !ok || k == "" || twice {
			return &exit{exitUsage, &control.Error{Cause: fmt.Sprintf("%q is not FIELD=VALUE, or the field is given twice", kv), Remedy: "chaz-peer agent new --help"}}
		}
		p.Config[k] = v
	}
	return ask(ctx, a, control.AgentNew, p, showCreated)
}

type agentListCmd struct{}

// Run lists the agents.
func (agentListCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.AgentList, control.AgentListParams{}, func(p *page, all control.List[control.AgentSummary]) {
		if len(all) == 0 {
			p.line(plain, "No agents. Create one with: chaz-peer agent new NAME")
			return
		}
		var rows []row
		for _, x := range all {
			rows = append(rows, row{cells: []string{x.Name, shortDoc(x.ID), x.Role, yesNo(x.Hosted), x.Model, shortPeer(x.HomePeer), strconv.Itoa(x.Sessions), plural(int64(x.StoredOn), "peer")}})
		}
		p.table("", []string{"NAME", "ID", "ROLE", "HOSTED", "MODEL", "RUNS ON", "SESSIONS", "STORED ON"}, rows)
	})
}

type agentShowCmd struct {
	Agent string `arg:"" help:"The agent."`
}

// Run shows one agent.
func (c *agentShowCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.AgentDetails, control.AgentParams{Agent: c.Agent}, func(p *page, s control.AgentShow) { p.agent(s) })
}

func (p *page) agent(s control.AgentShow) {
	p.line(bold, "Agent %s", called(s.Name, s.ID))
	p.line(plain, "  stored on %s, your role: %s, hosted here: %s, runs on: %s", plural(int64(s.StoredOn), "peer"), clean(orID(s.Role, "?")), yesNo(s.Hosted), orID(shortPeer(s.HomePeer), "any host"))
	p.line(dim, "  heads %s", clean(strings.Join(shortAll(s.Heads), " ")))
	fields := make([]string, 0, len(s.Config))
	for f := range s.Config {
		fields = append(fields, f)
	}
	sort.Strings(fields)
	for _, f := range fields {
		p.line(plain, "  %s: %s", clean(f), clean(valueText(s.Config[f])))
	}
	optOuts := "none"
	if len(s.OptOuts) > 0 {
		optOuts = clean(strings.Join(s.OptOuts, ", "))
	}
	p.line(plain, "  switched off for this agent: %s", optOuts)
	for _, x := range s.Attached {
		p.line(plain, "  in session %s", called(x.Name, shortDoc(x.ID)))
	}
	p.line(plain, "")
	p.members(s.Members, s.Peers)
}

// valueText is a config value as it would be given to agent set.
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = valueText(x)
		}
		return strings.Join(parts, ",")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

type agentSetCmd struct {
	Agent string `arg:"" help:"The agent."`
	Field string `arg:"" help:"The config field."`
	Value string `arg:"" help:"Its value: lists comma-separated, - reads standard input, empty takes the field away."`
}

// Run sets a config field.
func (c *agentSetCmd) Run(ctx context.Context, a *app) error {
	v, err := a.argOrInput(c.Value)
	if err != nil {
		return err
	}
	return ask(ctx, a, control.AgentSet, control.AgentSetParams{Agent: c.Agent, Field: c.Field, Value: v}, func(p *page, s control.AgentShow) {
		value := "not set any more"
		if set, ok := s.Config[c.Field]; ok {
			value = clean(valueText(set))
		}
		p.line(plain, "%s: %s is %s, from its next turn.", called(s.Name, shortDoc(s.ID)), clean(c.Field), value)
	})
}

type agentShareCmd struct {
	Agent string `arg:"" help:"The agent."`
	shareFlags
}

// Run prints a ticket.
func (c *agentShareCmd) Run(ctx context.Context, a *app) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	return share(ctx, a, &c.shareFlags, control.AgentShare, control.AgentShareParams{Agent: c.Agent, ShareOptions: o})
}

type agentTicketsCmd struct {
	Agent  string `arg:"" help:"The agent."`
	Revoke string `placeholder:"TICKET" help:"Revoke this one: nobody else can use it."`
}

// Run lists the tickets, or revokes one.
func (c *agentTicketsCmd) Run(ctx context.Context, a *app) error {
	if c.Revoke != "" {
		return ask(ctx, a, control.AgentTicketsRevoke, control.AgentTicketParams{Agent: c.Agent, Ticket: c.Revoke}, showRevoked)
	}
	return ask(ctx, a, control.AgentTickets, control.AgentParams{Agent: c.Agent}, showTickets)
}

type agentJoinCmd struct{ joinFlags }

// Run uses a ticket.
func (c *agentJoinCmd) Run(ctx context.Context, a *app) error {
	return c.use(ctx, a, control.AgentJoin)
}

type agentInviteCmd struct {
	Agent string   `arg:"" help:"The agent."`
	Peer  string   `arg:"" help:"The peer: its id, the beginning of it, or its name."`
	Role  roleFlag `default:"admin" placeholder:"R" help:"read, write or admin (default admin)."`
}

// Run gives a peer a role.
func (c *agentInviteCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.AgentInvite, control.AgentInviteParams{Agent: c.Agent, Peer: c.Peer, Role: string(c.Role)}, func(p *page, r control.Invited) {
		p.line(good, "%s has the role %s in %s.", shortPeer(r.PeerID), clean(r.Role), shortDoc(r.ID))
	})
}

type agentForgetCmd struct {
	Agent string `arg:"" help:"The agent."`
	forgetFlags
}

// Run drops this peer's copy.
func (c *agentForgetCmd) Run(ctx context.Context, a *app) error {
	if ok, err := c.sure(a, c.Agent); err != nil || !ok {
		return err
	}
	return ask(ctx, a, control.AgentForget, control.AgentForgetParams{Agent: c.Agent, Force: c.Force}, showForgotten)
}
