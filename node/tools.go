package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chaz-peer/chaz-peer/builtins/web"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/node/control"
	"github.com/chaz-peer/chaz-peer/node/pipeline"
	"github.com/chaz-peer/chaz-peer/node/toolhost"
)

// Security is what the operator allows tools to do. The zero value denies by default: files below
// the work folder, no shell command without approval, public addresses only.
type Security struct {
	// WorkFolder is where relative paths of tools begin; empty: "work" in the home. It is made.
	WorkFolder string
	// Grants are what there is to give; session and agent can only narrow them.
	Grants toolhost.Grants
	// Sandbox is "" or "bwrap".
	Sandbox string
	// AutoApproved tools run unasked where their policy is unless_auto_approved.
	AutoApproved []string
	// BlockLeaks withholds a text with a secret in it instead of redacting the secret.
	BlockLeaks bool
	// Policies by tool, merged field by field over the tools' own.
	Policies map[string]extension.Policy
}

// openTools makes the one way to a tool.
func (n *Node) openTools() error {
	sec := n.cfg.Security
	err := os.MkdirAll(sec.WorkFolder, 0o700)
	if err != nil {
		return fmt.Errorf("open work folder: %w", err)
	}
	home, err := filepath.Abs(n.cfg.Home)
	if err != nil {
		return fmt.Errorf("open work folder: %w", err)
	}
	if n.machine, err = toolhost.New(toolhost.Config{WorkFolder: sec.WorkFolder, Private: home, Sandbox: sec.Sandbox}); err != nil {
		return err
	}
	leaks := pipeline.Redact
	if sec.BlockLeaks {
		leaks = pipeline.Block
	}
	n.pipeline, err = pipeline.New(pipeline.Config{
		Clock: n.clock, Audit: entryAudit{n}, HostFor: n.hostFor, Policies: sec.Policies, AutoApproved: sec.AutoApproved, Leaks: leaks, Log: n.log,
	})
	return err
}

// entryAudit writes calls and results into the session.
type entryAudit struct{ n *Node }

// ToolCall implements [pipeline.Audit].
func (a entryAudit) ToolCall(ctx context.Context, r pipeline.CallRecord) (string, error) {
	return a.write(ctx, r.Session, r.Agent, r.Entry())
}

// ToolResult implements [pipeline.Audit].
func (a entryAudit) ToolResult(ctx context.Context, r pipeline.ResultRecord) error {
	_, err := a.write(ctx, r.Session, r.Agent, r.Entry())
	return err
}

func (a entryAudit) write(ctx context.Context, session crdt.DocID, agent extension.Agent, e crdt.Entry) (string, error) {
	if e.Sender == "" {
		e.Sender = agent.Name
	}
	if e.Sender == "" { // nobody's turn: a call from the shell
		e.Sender = a.n.name()
	}
	id, err := a.n.addEntry(ctx, session, e)
	return id.String(), err
}

// hostFor opens the doors of one call: what the operator gives, cut by the session's and the agent's
// grants and the agent's limits for the tool.
func (n *Node) hostFor(ctx context.Context, h pipeline.HostRequest) (extension.Host, error) {
	l := toolhost.Levels{Tool: n.cfg.Security.Grants}
	if h.Tool == "web_search" {
		l.Trusted = web.Addresses(n.cfg.Search)
	}
	err := n.repo.View(ctx, h.Session, func(v *crdt.View) error {
		return grantsIn(v, crdt.MetaStore, "capabilities", &l.Session)
	})
	if err != nil {
		return nil, err
	}
	if n.repo.Has(h.Agent.ID) {
		err := n.repo.View(ctx, h.Agent.ID, func(v *crdt.View) error {
			var tools map[string]toolhost.Grants
			if err := grantsIn(v, crdt.ConfigStore, "grants", &tools); err != nil {
				return err
			}
			l.PerTool = tools[h.Tool]
			return grantsIn(v, crdt.ConfigStore, "capabilities", &l.Agent)
		})
		if err != nil {
			return nil, err
		}
	}
	return n.machine.Host(l, h.Approved)
}

// grantsIn reads a field that narrows what tools may do. One that can't be read must not widen
// anything: it is an error.
func grantsIn(v *crdt.View, store, key string, into any) error {
	text, ok := v.Record(store, key)
	if !ok {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("read grants %s/%s: %w", store, key, err)
	}
	return nil
}

// hubTurn is a turn of the hub as the pipeline wants it.
type hubTurn struct{ *hub.Turn }

// Tool implements [pipeline.Turn].
func (t hubTurn) Tool(name string) (pipeline.Bound, bool) {
	b, ok := t.Turn.Tool(name)
	return pipeline.Bound(b), ok
}

// ToolCall implements [pipeline.Turn].
func (t hubTurn) ToolCall(ctx context.Context, tool string, args json.RawMessage, validate func(json.RawMessage) error) pipeline.CallOutcome {
	return pipeline.CallOutcome(t.Turn.ToolCall(ctx, tool, args, validate))
}

// ToolResult implements [pipeline.Turn].
func (t hubTurn) ToolResult(ctx context.Context, tool, text string) pipeline.ResultOutcome {
	return pipeline.ResultOutcome(t.Turn.ToolResult(ctx, tool, text))
}

// seat is a turn of an agent in a session, with the agent's allow list.
type seat struct {
	session crdt.DocID
	agent   extension.Agent
	turn    *hub.Turn
	allow   []string // nil: every tool
}

// takeSeat starts a turn for the shell. Release the turn.
func (n *Node) takeSeat(ctx context.Context, sessionRef, agentRef string) (seat, error) {
	id, err := n.findSession(sessionRef)
	if err != nil {
		return seat{}, err
	}
	who, err := n.responder(ctx, id, agentRef)
	if err != nil {
		return seat{}, err
	}
	if err := n.sessionStarted(ctx, id); err != nil {
		return seat{}, err
	}
	if err := n.loading.replay.Ensure(ctx, id); err != nil {
		return seat{}, err
	}
	s := seat{session: id, agent: extension.Agent{ID: who.id, Name: who.name}}
	if who.here {
		err := n.repo.View(ctx, who.id, func(v *crdt.View) error {
			if text, ok := v.Record(crdt.ConfigStore, "tools"); ok {
				return json.Unmarshal([]byte(text), &s.allow)
			}
			return nil
		})
		if err != nil {
			return s, fmt.Errorf("read tools of agent %s: %w", who.name, err)
		}
	}
	s.turn, err = n.hub.Turn(ctx, hub.TurnKey{Session: id, Agent: s.agent})
	return s, err
}

func (n *Node) toolList(ctx context.Context, p control.ToolListParams) (control.List[control.Tool], error) {
	s, err := n.takeSeat(ctx, p.Session, p.Agent)
	if err != nil {
		return nil, err
	}
	defer s.turn.Release()
	return n.toolsOf(s), nil
}

func (n *Node) toolsOf(s seat) control.List[control.Tool] {
	out := control.List[control.Tool]{}
	for _, t := range n.pipeline.Tools(hubTurn{s.turn}, s.allow) {
		p := t.Policy.Fill()
		out = append(out, control.Tool{
			Name: t.Name, Owner: t.Owner, Description: t.Description, Parameters: t.Parameters,
			Risk: string(p.Risk), Approval: string(p.Approval), TimeoutMS: p.Timeout.Milliseconds(),
		})
	}
	return out
}

func (n *Node) toolDescribe(ctx context.Context, p control.ToolParams) (control.Tool, error) {
	s, err := n.takeSeat(ctx, p.Session, p.Agent)
	if err != nil {
		return control.Tool{}, err
	}
	defer s.turn.Release()
	for _, t := range n.toolsOf(s) {
		if t.Name == p.Tool {
			return t, nil
		}
	}
	return control.Tool{}, &control.Error{
		Code: control.CodeNotFound, Cause: fmt.Sprintf("describe tool %.60q: this turn has no such tool", p.Tool),
		Remedy: "see `chaz-peer tool list` and `/extensions`",
	}
}

// yes approves everything: the person at the shell said so beforehand.
type yes struct{}

// Approve implements [pipeline.Approver].
func (yes) Approve(context.Context, pipeline.Question) (pipeline.Decision, error) {
	return pipeline.Approve, nil
}

func (n *Node) toolCall(ctx context.Context, p control.ToolCallParams) (control.ToolCalled, error) {
	s, err := n.takeSeat(ctx, p.Session, p.Agent)
	if err != nil {
		return control.ToolCalled{}, err
	}
	defer s.turn.Release()
	q := pipeline.Request{Turn: hubTurn{s.turn}, Session: s.session, Agent: s.agent, Tool: p.Tool, Args: p.Args, Allow: s.allow}
	if p.Approve {
		q.Approver = yes{}
	}
	o := n.pipeline.Call(ctx, q)
	if errors.Is(o.Err, crdt.ErrNoRight) {
		return control.ToolCalled{}, denied(o.Err)
	}
	if o.Err != nil {
		return control.ToolCalled{}, fmt.Errorf("write the audit entries: %w", o.Err)
	}
	out := control.ToolCalled{Status: string(o.Status), Output: o.Plain, ChangedBy: o.ChangedBy}
	if len(o.ChangedBy) > 0 {
		out.FinalArgs = o.Args
	}
	return out, nil
}

// turnContext is what a turn would get, put together from the outside in: nothing is called that a
// turn would not call, and nothing is kept.
func (n *Node) turnContext(ctx context.Context, p control.ContextParams) (control.TurnContext, error) {
	s, err := n.takeSeat(ctx, p.Session, p.Agent)
	if err != nil {
		return control.TurnContext{}, err
	}
	defer s.turn.Release()
	out := control.TurnContext{Session: s.session.String(), Agent: s.agent.Name, Tail: s.turn.Tails(ctx), Active: s.turn.Active(), Tools: n.toolsOf(s)}
	var parts []string
	if n.repo.Has(s.agent.ID) {
		err := n.repo.View(ctx, s.agent.ID, func(v *crdt.View) error {
			parts = append(parts, v.Text(crdt.ConfigStore, "system_prompt"))
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	parts = append(parts, s.turn.Augment(ctx))
	var kept []string
	for _, text := range parts {
		if strings.TrimSpace(text) != "" {
			kept = append(kept, text)
		}
	}
	out.System = strings.Join(kept, "\n\n")
	return out, nil
}
