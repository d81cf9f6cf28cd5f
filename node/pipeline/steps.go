package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
)

// call is the state of one call.
type call struct {
	r *Runner
	q Request

	id        string
	bound     Bound
	policy    extension.Policy
	args      json.RawMessage // as the last step left them
	changedBy []string
}

// guarded runs the steps so that whatever breaks in them ends as a result.
func (c *call) guarded(ctx context.Context) (text string, status Status) {
	defer func() {
		if p := recover(); p != nil {
			c.r.log.Error("a tool call panicked", "tool", c.q.Tool, "panic", p)
			text, status = textFailed(&panicError{value: p}), StatusError
		}
	}()
	return c.steps(ctx)
}

// steps are the steps between the two entries.
func (c *call) steps(ctx context.Context) (string, Status) {
	var found bool
	if c.bound, found = c.find(); !found {
		c.bound = Bound{}
		return textUnknown(c.q.Tool), StatusUnknown
	}
	c.policy = c.r.policy(c.q.Tool, c.bound.Tool.Policy)
	args, err := c.checked(ctx, c.q.Args)
	if err != nil {
		return invalid(ctx, err)
	}
	c.args = args
	if limit := c.policy.RateLimit; limit != nil {
		if wait, ok := c.r.limits.take(c.q.Tool, *limit); !ok {
			return textLimited(c.q.Tool, *limit, wait), StatusLimited
		}
	}
	hooks, text, status := c.hooks(ctx)
	if text != "" {
		return text, status
	}
	person, refusal := c.approve(ctx, hooks)
	if refusal == textCanceled {
		return refusal, StatusError
	}
	if refusal != "" {
		return refusal, StatusDenied
	}
	return c.run(ctx, person)
}

func invalid(ctx context.Context, err error) (string, Status) {
	var faulty *schemaError
	switch {
	case ctx.Err() != nil:
		return textCanceled, StatusError
	case errors.As(err, &faulty):
		return textFailed(err), StatusError
	}
	return textInvalid(err), StatusInvalid
}

// hooks runs the tool_call hooks; text is not empty if they end the call.
func (c *call) hooks(ctx context.Context) (out CallOutcome, text string, status Status) {
	validate := func(args json.RawMessage) error {
		_, err := c.checked(ctx, args)
		return err
	}
	out, err := within(ctx, func(ctx context.Context) (CallOutcome, error) {
		return c.q.Turn.ToolCall(ctx, c.q.Tool, bytes.Clone(c.args), validate), nil
	})
	if err != nil {
		if ctx.Err() != nil {
			return out, textCanceled, StatusError
		}
		return out, textFailed(fmt.Errorf("the hooks of the call failed: %w", err)), StatusDenied
	}
	// Nothing reaches a tool unchecked, whatever the dispatcher did.
	if len(out.ChangedBy) > 0 || len(out.Args) > 0 && !bytes.Equal(out.Args, c.args) {
		args, err := c.checked(ctx, out.Args)
		if err != nil && out.Verdict != extension.Deny {
			return out, textDeniedBy(strings.Join(out.ChangedBy, ", "), "it changed the arguments into invalid ones: "+err.Error()), StatusDenied
		}
		if err == nil {
			c.args, c.changedBy = args, out.ChangedBy
			if len(c.changedBy) == 0 {
				c.changedBy = []string{"unknown"}
			}
		}
	}
	switch out.Verdict {
	case "", extension.Allow, extension.Ask:
		return out, "", ""
	case extension.Deny:
		return out, textDeniedBy(out.By, out.Reason), StatusDenied
	}
	return out, textDeniedBy(out.By, fmt.Sprintf("unknown verdict %.40q", out.Verdict)), StatusDenied
}

// checked parses arguments and checks them against the tool's schema.
func (c *call) checked(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
	args, err := parse(args)
	if err != nil {
		return nil, err
	}
	return args, c.r.schemas.check(ctx, c.bound.Tool.Parameters, args)
}

// run executes an approved call and treats what it says.
func (c *call) run(ctx context.Context, person bool) (string, Status) {
	// A person may have thought for minutes: the tool may be gone by now.
	again, ok := c.find()
	if !ok || again.Owner != c.bound.Owner {
		return textUnknown(c.q.Tool), StatusUnknown
	}
	var host extension.Host
	if c.r.cfg.HostFor != nil {
		var err error
		if host, err = c.r.cfg.HostFor(ctx, HostRequest{c.q.Session, c.q.Agent, c.q.Tool, c.bound.Owner, person}); err != nil {
			return textFailed(fmt.Errorf("open the doors of the machine: %w", err)), StatusError
		}
	}
	text, status := c.execute(ctx, host)
	if text, status = c.r.clean(text, status, c.r.cfg.MaxOutput); status != StatusOK {
		return text, status
	}
	out, err := within(ctx, func(ctx context.Context) (ResultOutcome, error) {
		return c.q.Turn.ToolResult(ctx, c.q.Tool, text), nil
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return textCanceled, StatusError
	case err != nil:
		c.r.log.Error("the tool_result hooks failed", "tool", c.q.Tool, "error", err)
		return text, status
	case out.Blocked:
		return textBlockedBy(out.By, out.Text), StatusBlocked
	}
	return out.Text, status
}
