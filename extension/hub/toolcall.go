package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// CallOutcome is what the tool_call hooks of a turn decided together: the strictest of deny, ask and
// allow.
type CallOutcome struct {
	Verdict   extension.Verdict // Allow, Ask or Deny
	Args      json.RawMessage   // as the hooks left them
	ChangedBy []string          // the extensions that changed them, in order
	Reason    string            // of an Ask or a Deny, for people and the model
	By        string            // who asked or denied; several who asked by ", "
}

// callChain is one run of the tool_call hooks.
type callChain struct {
	t        *Turn
	tool     string
	validate func(json.RawMessage) error
	links    []link
	out      CallOutcome
	asked    []string
	reasons  []string
}

// link is one hook, or, without an instance, an enforcing extension that can't be asked.
type link struct {
	ent    *entry
	in     *instance
	reason string
}

// ToolCall offers a call to the tool_call hooks in registration order; each sees what the ones before
// left. After a modification the hooks before it are asked once more and may then only deny or ask.
// validate checks changed arguments; nil asks for a JSON object. A hook that fails lets the call
// pass, unless its extension is enforcing. Where the session is blocked ([Hub.Block]) nobody is asked.
func (t *Turn) ToolCall(ctx context.Context, tool string, args json.RawMessage, validate func(json.RawMessage) error) CallOutcome {
	c := &callChain{t: t, tool: tool, validate: validate, links: t.callLinks()}
	c.out = CallOutcome{Verdict: extension.Allow, Args: args}
	if by, why, blocked := t.h.blocked(t.key.Session); blocked {
		c.out.Verdict, c.out.By, c.out.Reason = extension.Deny, by, why
		return c.out
	}
	for i, l := range c.links {
		d, failed := c.offer(ctx, l)
		switch {
		case failed != nil:
			return c.deny(l, "the check of "+l.ent.name()+" failed: "+failed.Error())
		case d.Verdict == extension.Deny:
			return c.deny(l, reason(d.Reason))
		case d.Verdict == extension.Ask:
			c.ask(l, d.Reason)
		case d.Verdict == extension.Modify && !c.same(d.Args):
			if err := c.change(l, d.Args); err != nil {
				return c.deny(l, l.ent.name()+" changed the arguments into invalid ones: "+oneLine(err.Error()))
			}
			if denied := c.again(ctx, c.links[:i]); denied {
				return c.out
			}
		}
	}
	return c.out
}

// callLinks lists the hooks that are to be asked.
func (t *Turn) callLinks() []link {
	var links []link
	for _, m := range t.members {
		if !m.ent.declares(extension.HookToolCall) {
			continue
		}
		x := m.handler(allScopes, func(i *extension.Instance) bool { return i.Hooks.ToolCall != nil })
		switch {
		case m.ent.decl.Enforcing && m.ent.suspended.Load():
			links = append(links, link{m.ent, nil, "suspended after repeated failures"})
		case m.ent.decl.Enforcing && m.reason != "":
			links = append(links, link{m.ent, nil, m.reason})
		case x != nil:
			links = append(links, link{m.ent, x, ""})
		}
	}
	return links
}

// offer asks one hook. A failure is neutral; failed is set if it must not be.
func (c *callChain) offer(ctx context.Context, l link) (d extension.CallDecision, failed error) {
	if l.in == nil {
		return d, fmt.Errorf("%s", l.reason)
	}
	at := c.t.place(string(extension.HookToolCall))
	d, err := invoke(ctx, c.t.h, l.in, at, c.t.h.time.Hook, func(ctx context.Context) (extension.CallDecision, error) {
		// A copy: a hook that fails half-way, or is abandoned, changes nothing.
		return l.in.ext.Hooks.ToolCall(ctx, c.t.call(l.ent), extension.ToolCallInput{Tool: c.tool, Args: bytes.Clone(c.out.Args)})
	})
	if err == nil {
		if err = checkVerdict(&d); err == nil {
			return d, nil
		}
		c.t.h.judge(l.ent, at, err)
	}
	if l.ent.decl.Enforcing {
		return extension.CallDecision{}, err
	}
	return extension.CallDecision{Verdict: extension.Allow}, nil
}

func checkVerdict(d *extension.CallDecision) error {
	switch d.Verdict {
	case "":
		d.Verdict = extension.Allow
	case extension.Allow, extension.Deny, extension.Ask:
	case extension.Modify:
		if len(d.Args) > maxText {
			return &nonsenseError{fmt.Sprintf("arguments of %d bytes; the limit is %d", len(d.Args), maxText)}
		}
		d.Args = bytes.Clone(d.Args) // the hook may keep its own
	default:
		return &nonsenseError{fmt.Sprintf("the verdict %.40q", string(d.Verdict))}
	}
	return nil
}

// same reports whether arguments mean what the present ones mean.
func (c *callChain) same(args json.RawMessage) bool {
	if bytes.Equal(args, c.out.Args) {
		return true
	}
	a, err := crdt.Canonical(args)
	if err != nil {
		return false
	}
	b, err := crdt.Canonical(c.out.Args)
	return err == nil && a == b
}

func (c *callChain) change(l link, args json.RawMessage) error {
	if !isObject(args) {
		return fmt.Errorf("they are no JSON object")
	}
	if c.validate != nil {
		if err := c.validate(args); err != nil {
			return err
		}
	}
	c.out.Args = args
	if !slices.Contains(c.out.ChangedBy, l.ent.name()) {
		c.out.ChangedBy = append(c.out.ChangedBy, l.ent.name())
	}
	return nil
}

// again offers changed arguments to hooks that had said yes to others.
func (c *callChain) again(ctx context.Context, links []link) (denied bool) {
	for _, l := range links {
		d, failed := c.offer(ctx, l)
		switch {
		case failed != nil:
			c.deny(l, "the check of "+l.ent.name()+" failed: "+failed.Error())
			return true
		case d.Verdict == extension.Deny:
			c.deny(l, reason(d.Reason))
			return true
		case d.Verdict == extension.Ask:
			c.ask(l, d.Reason)
		case d.Verdict == extension.Modify && !c.same(d.Args):
			c.t.h.audit(AuditEvent{
				Extension: l.ent.name(), Point: string(extension.HookToolCall), Session: c.t.key.Session, Agent: c.t.key.Agent.ID,
				Outcome: OutcomeIgnored, Detail: "it may not change arguments that a later hook has changed",
			})
		}
	}
	return false
}

func (c *callChain) deny(l link, reason string) CallOutcome {
	c.out.Verdict, c.out.By, c.out.Reason = extension.Deny, l.ent.name(), reason
	return c.out
}

func (c *callChain) ask(l link, why string) {
	if !slices.Contains(c.asked, l.ent.name()) {
		c.asked = append(c.asked, l.ent.name())
	}
	if why = reason(why); !slices.Contains(c.reasons, why) {
		c.reasons = append(c.reasons, why)
	}
	c.out.Verdict, c.out.By, c.out.Reason = extension.Ask, strings.Join(c.asked, ", "), strings.Join(c.reasons, "; ")
}

func reason(text string) string {
	if text = oneLine(text); text == "" {
		return "no reason given"
	}
	return text
}
