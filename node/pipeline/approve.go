package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// ApprovalTimeout is how long a person has to answer.
const ApprovalTimeout = 300 * time.Second

// Decision is a person's answer.
type Decision string

// The decisions. ApproveAll holds for the rest of the turn and for every tool.
const (
	Approve    Decision = "approve"
	Refuse     Decision = "deny"
	ApproveAll Decision = "approve_all"
	TimedOut   Decision = "timed_out"
)

// Question is what a person is asked.
type Question struct {
	Session crdt.DocID
	Agent   extension.Agent
	Call    string // the id that [Audit] gave the call
	Tool    string
	Owner   string
	Risk    extension.Risk
	// Arguments are the final ones, as canonical JSON, with sensitive values replaced.
	Arguments string
	// Reason is why a hook asks, By which extension; empty if the policy demands it.
	Reason, By string
	Timeout    time.Duration
}

// Approver asks a person. Approve blocks until there is a decision or ctx ends, which it does at the
// question's timeout.
type Approver interface {
	Approve(ctx context.Context, q Question) (Decision, error)
}

// Approvals remembers, for one turn, that everything was approved. The zero value is ready. Safe for
// concurrent use.
type Approvals struct{ all atomic.Bool }

// maxShown bounds the arguments in a question.
const maxShown = 32 << 10

// approve decides whether a call may run. person says that somebody agreed, to this call or to all of
// the turn.
func (c *call) approve(ctx context.Context, hooks CallOutcome) (person bool, refusal string) {
	need := hooks.Verdict == extension.Ask
	switch c.policy.Approval {
	case extension.NeverAsk:
	case extension.AskUnlessAutomatic:
		need = need || !c.r.automatic[c.q.Tool]
	default: // always, and whatever else a tool says of itself
		need = true
	}
	all := c.q.Approvals != nil && c.q.Approvals.all.Load()
	switch {
	case all:
		return true, ""
	case !need:
		return false, ""
	case c.q.Approver == nil:
		return false, textNobody
	}
	limited, cancel := context.WithTimeout(ctx, c.r.cfg.ApprovalTimeout)
	defer cancel()
	q := c.question(hooks)
	d, err := within(limited, func(ctx context.Context) (Decision, error) { return c.q.Approver.Approve(ctx, q) })
	if ctx.Err() != nil {
		return false, textCanceled
	}
	if limited.Err() != nil && (err != nil || d == TimedOut) {
		return false, textTooLate
	}
	if err != nil {
		return false, textApprovalFailed(err)
	}
	switch d {
	case Approve:
		return true, ""
	case ApproveAll:
		if c.q.Approvals != nil {
			c.q.Approvals.all.Store(true)
		}
		return true, ""
	case Refuse:
		return false, textDenied
	case TimedOut:
		return false, textTooLate
	}
	return false, textApprovalFailed(fmt.Errorf("unknown decision %.40q", d))
}

func (c *call) question(hooks CallOutcome) Question {
	q := Question{
		Session: c.q.Session, Agent: c.q.Agent, Call: c.id, Tool: c.q.Tool, Owner: c.bound.Owner, Risk: c.policy.Risk,
		Arguments: showArgs(c.args, c.policy.Sensitive), Timeout: c.r.cfg.ApprovalTimeout,
	}
	if hooks.Verdict == extension.Ask {
		q.Reason, q.By = hooks.Reason, hooks.By
	}
	return q
}

const redactedValue = "[REDACTED]"

// showArgs renders arguments for a person. The value of a sensitive name is replaced at any depth.
// What is too long for a question is cut, and says so.
func showArgs(args json.RawMessage, sensitive []string) string {
	text := string(args)
	if len(sensitive) > 0 {
		v, err := decode(args)
		if err != nil {
			return redactedValue
		}
		if text, err = crdt.Canonical(redact(v, sensitive)); err != nil {
			return redactedValue
		}
	}
	if short := cutBytes(text, maxShown); len(short) < len(text) {
		return fmt.Sprintf("%s… (%d more bytes are not shown)", short, len(text)-len(short))
	}
	return text
}

func decode(text json.RawMessage) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

func redact(v any, names []string) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if containsFold(names, key) {
				v[key] = redactedValue
			} else {
				v[key] = redact(value, names)
			}
		}
	case []any:
		for i := range v {
			v[i] = redact(v[i], names)
		}
	}
	return v
}

func containsFold(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}
