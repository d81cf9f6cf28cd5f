package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type toolCmds struct {
	List     toolListCmd     `cmd:"" help:"The tools that a turn of an agent in a session would have."`
	Describe toolDescribeCmd `cmd:"" help:"One tool: parameters, owner, policy."`
	Call     toolCallCmd     `cmd:"" help:"Call a tool through the same pipeline as a model's call, audit entries included."`
}

// turnFlags say whose turn is meant.
type turnFlags struct {
	Session string `required:"" placeholder:"S" help:"The session."`
	Agent   string `placeholder:"A" help:"As this agent (else the one that answers there)."`
}

type toolListCmd struct{ turnFlags }

// Run lists the tools of a turn.
func (c *toolListCmd) Run(ctx context.Context, a *app) error {
	q := control.ToolListParams{Session: c.Session, Agent: c.Agent}
	return ask(ctx, a, control.ToolList, q, func(p *page, tools control.List[control.Tool]) { p.tools(tools) })
}

func (p *page) tools(tools []control.Tool) {
	if len(tools) == 0 {
		p.line(plain, "No tools.")
		return
	}
	var rows []row
	for _, t := range tools {
		what, _, _ := strings.Cut(t.Description, "\n")
		rows = append(rows, row{cells: []string{t.Name, t.Owner, t.Risk, strings.ReplaceAll(t.Approval, "_", " "), cut(what, 70)}})
	}
	p.table("", []string{"TOOL", "OF", "RISK", "ASKS", "WHAT IT DOES"}, rows)
}

type toolDescribeCmd struct {
	turnFlags
	Tool string `arg:"" help:"The tool."`
}

// Run describes one tool.
func (c *toolDescribeCmd) Run(ctx context.Context, a *app) error {
	q := control.ToolParams{Session: c.Session, Agent: c.Agent, Tool: c.Tool}
	return ask(ctx, a, control.ToolDescribe, q, func(p *page, t control.Tool) {
		p.line(bold, "%s", clean(t.Name))
		p.line(plain, "%s", cleanText(t.Description))
		p.line(dim, "  of %s, risk %s, asks: %s, %d s", clean(t.Owner), t.Risk, strings.ReplaceAll(t.Approval, "_", " "), t.TimeoutMS/1000)
		var pretty strings.Builder
		enc := json.NewEncoder(&pretty)
		enc.SetIndent("", "  ")
		if enc.Encode(t.Parameters) == nil {
			p.line(plain, "%s", cleanText(strings.TrimRight(pretty.String(), "\n")))
		}
	})
}

type toolCallCmd struct {
	turnFlags
	Approve bool   `help:"Answer yes where a person is asked."`
	Tool    string `arg:"" help:"The tool."`
	Args    string `arg:"" optional:"" default:"{}" help:"The arguments as a JSON object; - reads them from standard input."`
}

// Run calls a tool; anything but an ok result is exit status 1.
func (c *toolCallCmd) Run(ctx context.Context, a *app) error {
	args, err := a.argOrInput(c.Args)
	if err != nil {
		return err
	}
	if !json.Valid([]byte(args)) {
		return &exit{exitUsage, fmt.Errorf("the arguments are not JSON: %.60s", args)}
	}
	q := control.ToolCallParams{Session: c.Session, Agent: c.Agent, Tool: c.Tool, Args: json.RawMessage(args), Approve: c.Approve}
	return a.with(ctx, func(cl *control.Client) error {
		r, err := control.Call(ctx, cl, control.ToolCall, q)
		if err != nil {
			return err
		}
		switch {
		case a.json:
			err = writeJSON(a.out, r)
		case r.Status == "ok":
			_, err = fmt.Fprintln(a.out, cleanText(r.Output))
		default:
			// The text is made for a model, which is told in it that this is an error.
			_, err = fmt.Fprintf(a.err, "%s: %s\n", clean(r.Status), cleanText(strings.TrimPrefix(r.Output, "Error: ")))
			if err == nil && r.Status == "denied" && !c.Approve && strings.Contains(r.Output, "needs approval") {
				_, err = fmt.Fprintln(a.err, "try: repeat it with --approve, if you agree to this call")
			}
		}
		if err == nil && r.Status != "ok" {
			return &exit{code: exitError}
		}
		return err
	})
}

type contextCmd struct{ turnFlags }

// Run prints what a turn would get.
func (c *contextCmd) Run(ctx context.Context, a *app) error {
	q := control.ContextParams{Session: c.Session, Agent: c.Agent}
	return ask(ctx, a, control.ShowContext, q, func(p *page, t control.TurnContext) {
		p.line(bold, "System text for %s", clean(t.Agent))
		p.line(plain, "%s", cleanText(orNone(t.System)))
		p.line(bold, "\nBehind the conversation")
		p.line(plain, "%s", cleanText(orNone(t.Tail)))
		p.line(bold, "\nActive")
		p.line(plain, "%s", clean(strings.Join(t.Active, " ")))
		p.line(bold, "\nTools")
		p.tools(t.Tools)
	})
}

func orNone(s string) string {
	if s == "" {
		return "(nothing)"
	}
	return s
}
