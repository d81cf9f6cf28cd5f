package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Config is what a [Runner] needs of the peer.
type Config struct {
	Clock crdt.Clock // of the rate limit
	Audit Audit
	// HostFor makes the doors to the machine for one call, cut to its grants; nil: there are none.
	HostFor func(ctx context.Context, h HostRequest) (extension.Host, error)
	// Policies are what the operator states, by tool, merged field by field over the tools' own.
	Policies map[string]extension.Policy
	// AutoApproved are the tools that need no approval where the policy is unless_auto_approved.
	AutoApproved []string
	// Leaks is "" for [Redact].
	Leaks LeakMode
	// MaxOutput is how many bytes of a result the model gets at most; 0 is 256 KiB.
	MaxOutput int
	// ApprovalTimeout is 0 for [ApprovalTimeout].
	ApprovalTimeout time.Duration
	// Log is nil for silence.
	Log *slog.Logger
}

// HostRequest says for which call doors are opened.
type HostRequest struct {
	Session crdt.DocID
	Agent   extension.Agent
	Tool    string
	Owner   string
	// Approved: a person agreed to this call, or to all of the turn.
	Approved bool
}

const defaultMaxOutput = 256 << 10

// Runner runs the tool calls of a process. There is one for all turns, since it holds the rate
// limits. Safe for concurrent use.
type Runner struct {
	cfg       Config
	log       *slog.Logger
	limits    *limiter
	schemas   schemas
	leaks     scanner
	automatic map[string]bool
}

// New checks a configuration.
func New(cfg Config) (*Runner, error) {
	if cfg.Clock == nil || cfg.Audit == nil {
		return nil, errors.New("open tool pipeline: a clock and an audit are needed")
	}
	for tool, p := range cfg.Policies {
		if err := CheckPolicy(p); err != nil {
			return nil, fmt.Errorf("open tool pipeline: %s: %w", tool, err)
		}
	}
	switch cfg.Leaks {
	case "":
		cfg.Leaks = Redact
	case Redact, Block:
	default:
		return nil, fmt.Errorf("open tool pipeline: leak mode %.40q (want redact or block)", cfg.Leaks)
	}
	if cfg.MaxOutput <= 0 {
		cfg.MaxOutput = defaultMaxOutput
	}
	if cfg.ApprovalTimeout <= 0 {
		cfg.ApprovalTimeout = ApprovalTimeout
	}
	r := &Runner{cfg: cfg, log: cfg.Log, limits: newLimiter(cfg.Clock), leaks: newScanner(), automatic: map[string]bool{}}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	for _, tool := range cfg.AutoApproved {
		r.automatic[tool] = true
	}
	return r, nil
}

// Request is one call.
type Request struct {
	Turn    Turn
	Session crdt.DocID
	Agent   extension.Agent
	// CallID is the model's id of the call, for the entries.
	CallID string
	Tool   string
	Args   json.RawMessage
	// Allow is the agent's allow list; nil allows every tool of the turn. An entry is a
	// tool's exact name or "ns__*": all whose names begin with "ns__".
	Allow []string
	// Approver is nil where nobody can be asked: what needs approval is denied.
	Approver Approver
	// Approvals is shared by the calls of a turn; nil: "approve all" counts for this call alone.
	Approvals *Approvals
}

// Outcome is how a call ended.
type Outcome struct {
	Status Status
	Text   string // for the model: wrapped
	Plain  string // the same before wrapping
	// ChangedBy are the extensions that changed the arguments, Args the final ones.
	ChangedBy []string
	Args      json.RawMessage
	// Err is a failure to write the audit entries. Without a ToolCall entry the tool did not run.
	Err error
}

// Call runs one call. It never panics and always answers; it returns when ctx ends at the latest,
// apart from the writing of the result entry.
func (r *Runner) Call(ctx context.Context, q Request) Outcome {
	c := &call{r: r, q: q}
	err := guard(func() (err error) {
		c.id, err = r.cfg.Audit.ToolCall(ctx, CallRecord{Session: q.Session, Agent: q.Agent, CallID: q.CallID, Tool: q.Tool, Args: q.Args})
		return err
	})
	if err != nil {
		text, status := r.clean(textFailed(errors.New("the call could not be written down, so it did not run")), StatusError, r.cfg.MaxOutput)
		return Outcome{Status: status, Plain: text, Text: wrap(q.Tool, text), Err: fmt.Errorf("write tool call: %w", err)}
	}
	text, status := c.guarded(ctx)
	text, status = r.clean(text, status, r.cfg.MaxOutput+hookRoom)
	out := Outcome{Status: status, Plain: text, Text: wrap(q.Tool, text), ChangedBy: c.changedBy, Args: c.args}
	record := ResultRecord{
		Session: q.Session, Agent: q.Agent, Call: c.id, CallID: q.CallID, Tool: q.Tool, Owner: c.bound.Owner,
		Status: status, Preview: Preview(text, previewLength),
	}
	if len(c.changedBy) > 0 {
		record.ChangedBy, record.Args = c.changedBy, c.args
	}
	if err := guard(func() error { return r.cfg.Audit.ToolResult(context.WithoutCancel(ctx), record) }); err != nil {
		out.Err = fmt.Errorf("write tool result: %w", err)
	}
	return out
}

// guard turns a panic into an error.
func guard(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p}
		}
	}()
	return fn()
}
