package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type sessionLogCmd struct {
	Session string `arg:"" help:"The session."`
	Follow  bool   `short:"f" help:"Go on with new entries as they arrive (needs a daemon)."`
	Tail    int    `short:"n" placeholder:"N" help:"Only the N newest."`
}

// Run prints the entries in order; with --follow until it is interrupted.
func (c *sessionLogCmd) Run(ctx context.Context, a *app) error {
	if c.Tail < 0 {
		return &exit{exitUsage, fmt.Errorf("--tail %d is below zero", c.Tail)}
	}
	w := bufio.NewWriter(a.out)
	read := func(cl *control.Client) error {
		q := control.SessionLogParams{Session: c.Session, Tail: c.Tail, Follow: c.Follow}
		_, err := control.CallStream(ctx, cl, control.SessionLog, q, nil, func(e control.Entry) error {
			if err := a.writeEntry(w, e); err != nil || !c.Follow {
				return err
			}
			return w.Flush()
		})
		return errors.Join(err, w.Flush())
	}
	if !c.Follow {
		return a.with(ctx, read)
	}
	err := a.withDaemon(ctx, "following a log", read)
	if ctx.Err() != nil {
		return nil // ended by the person
	}
	return err
}

func (a *app) writeEntry(w *bufio.Writer, e control.Entry) error {
	if a.json {
		return writeJSON(w, e)
	}
	kind := ""
	if e.EntryType != "message" {
		kind = " [" + clean(strings.ReplaceAll(e.EntryType, "_", " ")) + "]"
	}
	head := a.paint(a.outTTY, dim, a.when(e.Timestamp)) + "  " + a.paint(a.outTTY, bold, clean(e.Sender)) + kind + ": "
	text := strings.ReplaceAll(strings.TrimRight(cleanText(e.Content), "\n"), "\n", "\n    ")
	if e.ContentMissing {
		text += "…\n    " + a.paint(a.outTTY, warn, "["+largeEntry(e)+"]")
	}
	_, err := fmt.Fprintln(w, head+text)
	return err
}

type sessionShareCmd struct {
	Session string `arg:"" help:"The session."`
	shareFlags
}

// Run prints a ticket.
func (c *sessionShareCmd) Run(ctx context.Context, a *app) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	return share(ctx, a, &c.shareFlags, control.SessionShare, control.SessionShareParams{Session: c.Session, ShareOptions: o})
}

type sessionTicketsCmd struct {
	Session string `arg:"" help:"The session."`
	Revoke  string `placeholder:"TICKET" help:"Revoke this one: nobody else can use it."`
}

// Run lists the tickets, or revokes one.
func (c *sessionTicketsCmd) Run(ctx context.Context, a *app) error {
	if c.Revoke != "" {
		return ask(ctx, a, control.SessionTicketsRevoke, control.SessionTicketParams{Session: c.Session, Ticket: c.Revoke}, showRevoked)
	}
	return ask(ctx, a, control.SessionTickets, control.SessionParams{Session: c.Session}, showTickets)
}

func showTickets(p *page, all control.List[control.TicketInfo]) { p.tickets(all) }

func showRevoked(p *page, t control.TicketInfo) { p.tickets([]control.TicketInfo{t}) }

type sessionJoinCmd struct{ joinFlags }

// Run uses a ticket.
func (c *sessionJoinCmd) Run(ctx context.Context, a *app) error {
	return c.use(ctx, a, control.SessionJoin)
}

type sessionAttachCmd struct {
	Session string `arg:"" help:"The session."`
	Agent   string `arg:"" help:"The agent."`
}

// Run attaches an agent.
func (c *sessionAttachCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.SessionAttach, control.AttachParams{Session: c.Session, Agent: c.Agent}, func(p *page, r control.Attached) {
		p.line(good, "%s is attached; it runs on %s.", called(r.Name, shortDoc(r.ID)), orID(shortPeer(r.HomePeer), "no peer"))
		p.note(r.Note)
	})
}

func (p *page) note(text string) {
	if text != "" {
		p.line(warn, "%s", cleanText(text))
	}
}

type sessionDetachCmd struct {
	Session string `arg:"" help:"The session."`
	Agent   string `arg:"" help:"The agent."`
}

// Run detaches an agent.
func (c *sessionDetachCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.SessionDetach, control.AttachParams{Session: c.Session, Agent: c.Agent}, func(p *page, r control.Attached) {
		p.line(plain, "%s is detached.", called(r.Name, shortDoc(r.ID)))
		p.note(r.Note)
	})
}

type sessionHostCmd struct {
	Session string `arg:"" help:"The session."`
	Agent   string `arg:"" optional:"" help:"The agent, attached already; none clears the choice."`
}

// Run chooses the agent that answers.
func (c *sessionHostCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.SessionHost, control.AttachParams{Session: c.Session, Agent: c.Agent}, func(p *page, r control.Attached) {
		if c.Agent == "" {
			p.line(plain, "The session has no host now.")
		} else {
			p.line(good, "%s is the host.", called(r.Name, shortDoc(r.ID)))
		}
		p.note(r.Note)
	})
}

type sessionCloseCmd struct {
	Session string `arg:"" help:"The session."`
}

// Run puts a session away.
func (c *sessionCloseCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.SessionClose, control.SessionParams{Session: c.Session}, func(p *page, s control.SessionSummary) {
		p.line(plain, "%s is closed. It still syncs, and is listed with --all.", called(s.Name, shortDoc(s.ID)))
	})
}

// forgetFlags are the flags of dropping a document.
type forgetFlags struct {
	Force bool `help:"Also when no other peer has all of it: then it is lost."`
	Yes   bool `short:"y" help:"Do not ask."`
}

// sure asks a person before something is dropped.
func (f *forgetFlags) sure(a *app, what string) (bool, error) {
	if f.Yes || !a.inTTY {
		return true, nil
	}
	return a.confirm("Drop this peer's copy of " + clean(what) + "?")
}

func showForgotten(p *page, r control.Forgotten) {
	p.line(plain, "%s is no longer here.", shortDoc(r.ID))
}

type sessionForgetCmd struct {
	Session string `arg:"" help:"The session."`
	forgetFlags
}

// Run drops this peer's copy.
func (c *sessionForgetCmd) Run(ctx context.Context, a *app) error {
	if ok, err := c.sure(a, c.Session); err != nil || !ok {
		return err
	}
	return ask(ctx, a, control.SessionForget, control.SessionForgetParams{Session: c.Session, Force: c.Force}, showForgotten)
}
