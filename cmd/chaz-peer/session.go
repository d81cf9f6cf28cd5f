package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type sessionNewCmd struct {
	Name    string   `placeholder:"N" help:"Its name on this peer."`
	Agent   []string `placeholder:"A" sep:"none" xor:"agents" help:"Attach this agent instead of the default ones. Repeatable."`
	NoAgent bool     `xor:"agents" help:"Attach no agent."`
}

// Run starts a session.
func (c *sessionNewCmd) Run(ctx context.Context, a *app) error {
	p := control.SessionNewParams{Name: c.Name, Agents: c.Agent}
	if c.NoAgent {
		p.Agents = []string{}
	}
	return ask(ctx, a, control.SessionNew, p, showCreated)
}

func showCreated(p *page, r control.Created) { p.line(plain, "%s", clean(r.ID)) }

type sessionListCmd struct {
	All bool `help:"Closed ones too."`
}

// Run lists the sessions.
func (c *sessionListCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.SessionList, control.SessionListParams{All: c.All}, func(p *page, all control.List[control.SessionSummary]) {
		if len(all) == 0 {
			p.line(plain, "No sessions. Start one with: chaz-peer session new --name NAME")
			return
		}
		var rows []row
		for _, s := range all {
			entries := "?"
			if s.Entries != nil {
				entries = strconv.FormatInt(*s.Entries, 10)
			}
			r := row{cells: []string{s.Name, shortDoc(s.ID), s.Role, entries, plural(int64(s.StoredOn), "peer"), a.when(s.Created)}}
			if s.Closed {
				r.style = dim
				r.cells[0] += " (closed)"
			}
			rows = append(rows, r)
		}
		p.table("", []string{"NAME", "ID", "ROLE", "ENTRIES", "STORED ON", "CREATED"}, rows)
	})
}

type sessionShowCmd struct {
	Session string `arg:"" help:"The session."`
	Agent   string `placeholder:"A" help:"Whose opt-outs to apply (else the agent that answers)."`
}

// Run shows one session.
func (c *sessionShowCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.SessionDetails, control.SessionShowParams{Session: c.Session, Agent: c.Agent}, func(p *page, s control.SessionShow) { p.session(s) })
}

func (p *page) session(s control.SessionShow) {
	p.line(bold, "Session %s", called(s.Name, s.ID))
	p.line(plain, "  %s, stored on %s, your role: %s", plural(s.Entries, "entry"), plural(int64(s.StoredOn), "peer"), clean(orID(s.Role, "?")))
	p.line(dim, "  heads %s", clean(strings.Join(shortAll(s.Heads), " ")))
	if words := largeWords(s.Contents); words != "" {
		p.line(contentsStyle(s.Contents), "  %s", words)
	}
	p.line(plain, "")
	if len(s.Agents) == 0 {
		p.line(plain, "No agents. Attach one with: chaz-peer session attach S AGENT")
	} else {
		var rows []row
		for _, x := range s.Agents {
			rows = append(rows, row{cells: []string{x.Name, shortDoc(x.ID), yesNo(x.Host), shortPeer(x.HomePeer)}})
		}
		p.table("", []string{"AGENT", "ID", "HOST", "RUNS ON"}, rows)
	}
	p.line(plain, "")
	p.extensions(s.Extensions)
	p.line(plain, "")
	p.members(s.Members, s.Peers)
}

func (p *page) extensions(all []control.ExtensionState) {
	var rows []row
	for _, x := range all {
		r := row{style: good, cells: []string{x.Name, onOff(x.SessionActive), onOff(x.AgentActive), strings.ReplaceAll(x.State, "_", " "), strings.Join(x.Hooks, " ")}}
		if !x.SessionActive || !x.AgentActive {
			r.style = dim
		}
		rows = append(rows, r)
	}
	p.table("", []string{"EXTENSION", "SESSION", "AGENT", "HERE", "HOOKS"}, rows)
}

// members lists who may do what and how the document stands with each.
func (p *page) members(members []control.Member, peers []control.DocumentPeer) {
	state := make(map[string]control.DocumentPeer, len(peers))
	for _, x := range peers {
		state[x.ID] = x
	}
	var rows []row
	for _, m := range members {
		x, ok := state[m.ID]
		r := row{cells: []string{m.Name, shortPeer(m.ID), m.Role, "", ""}}
		if ok {
			r.style, r.cells[3], r.cells[4] = stateStyle(x.State), stateWord(x.State), pairWhy(x)
			if do := remedyOf(x.State, orID(m.Name, shortPeer(m.ID))); do != "" {
				r.below = []string{"→ " + do}
			}
		}
		rows = append(rows, r)
	}
	p.table("", []string{"MEMBER", "ID", "ROLE", "STATE", "WHY"}, rows)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func shortAll(hashes []string) []string {
	out := make([]string, len(hashes))
	for i, h := range hashes {
		out[i] = cut(h, 10)
	}
	return out
}

type sessionPostCmd struct {
	Session string `arg:"" help:"The session."`
	Text    string `arg:"" help:"The text, or - to read it from standard input."`
	As      string `placeholder:"NAME" help:"Who speaks (else the name of this peer)."`
	Type    string `placeholder:"TYPE" help:"The entry type, such as message or directive (default message)."`
}

// Run writes one entry; it returns after the durable commit.
func (c *sessionPostCmd) Run(ctx context.Context, a *app) error {
	text, err := a.argOrText(c.Text, maxText, "split it into several entries")
	if err != nil {
		return err
	}
	q := control.SessionPostParams{Session: c.Session, As: c.As, Content: text, EntryType: c.Type}
	if len(text) <= maxInput {
		return ask(ctx, a, control.SessionPost, q, showCreated)
	}
	q.Content = ""
	return a.with(ctx, func(cl *control.Client) error {
		r, err := control.CallStream(ctx, cl, control.SessionPostFile, q, strings.NewReader(text), func(control.Progress) error { return nil })
		if err != nil {
			return err
		}
		return a.show(r, func(p *page) { showCreated(p, r) })
	})
}

// What is read from standard input as one value is bounded; the peer has limits of its own.
const (
	maxInput = 1 << 20
	maxText  = 64 << 20 // of an entry
)

// argOrInput is the argument, or standard input if that is "-", without the last line break.
func (a *app) argOrInput(arg string) (string, error) {
	return a.argOrText(arg, maxInput, "bring a file in with: chaz-peer session import")
}

func (a *app) argOrText(arg string, most int64, remedy string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	b, err := io.ReadAll(io.LimitReader(a.in, most+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if int64(len(b)) > most {
		return "", &control.Error{Cause: fmt.Sprintf("standard input is longer than %d MiB", most>>20), Remedy: remedy}
	}
	s := strings.TrimSuffix(string(b), "\n")
	return strings.TrimSuffix(s, "\r"), nil
}

type sessionSearchCmd struct {
	Words   []string `arg:"" help:"The words; each must occur, in any case."`
	Session string   `placeholder:"S" help:"Only in this session."`
	Limit   int      `default:"20" placeholder:"N" help:"At most so many (default 20)."`
}

// Run searches.
func (c *sessionSearchCmd) Run(ctx context.Context, a *app) error {
	q := control.SessionSearchParams{Session: c.Session, Query: strings.Join(c.Words, " "), Limit: c.Limit}
	return ask(ctx, a, control.SessionSearch, q, func(p *page, hits control.List[control.Hit]) {
		if len(hits) == 0 {
			p.line(plain, "Nothing found.")
			return
		}
		for _, h := range hits {
			p.line(dim, "%s  %s", called(h.SessionName, shortDoc(h.Session)), a.when(h.Timestamp))
			text := h.Content
			if h.Excerpt != "" {
				text = h.Excerpt
			}
			p.line(plain, "  %s: %s", clean(h.Sender), clean(text))
			if h.ContentCID != "" {
				p.line(dim, "    %s", largeEntry(h.Entry))
			}
		}
	})
}

type sessionWaitCmd struct {
	Session  string   `arg:"" help:"The session."`
	StoredOn int      `required:"" placeholder:"N" help:"On how many peers, this one included."`
	Timeout  duration `default:"60s" placeholder:"D" help:"How long to wait (default 60s)."`
}

// Run waits; not in time is exit status 1.
func (c *sessionWaitCmd) Run(ctx context.Context, a *app) error {
	q := control.SessionWaitParams{Session: c.Session, StoredOn: c.StoredOn, TimeoutMS: millis(c.Timeout)}
	return ask(ctx, a, control.SessionWait, q, func(p *page, w control.Waited) {
		p.line(good, "Stored on %s.", plural(int64(w.StoredOn), "peer"))
	})
}
