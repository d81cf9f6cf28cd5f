package main

import (
	"context"
	"fmt"
	"strconv"

	qrcode "github.com/skip2/go-qrcode"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// shareFlags are the flags of a ticket.
type shareFlags struct {
	Role    roleFlag `default:"read" placeholder:"R" help:"What the holder may do: read, write or admin (default read)."`
	Uses    int      `default:"1" placeholder:"N" help:"How many peers may use it; 0: any number (default 1)."`
	Expires duration `default:"7d" placeholder:"D" help:"How long it is good; 0: for ever (default 7d)."`
	Ask     bool     `help:"Without a secret: who uses it must be approved (chaz-peer peers pending)."`
	QR      bool     `name:"qr" help:"Also show it as a QR code, on standard error."`
}

func (f *shareFlags) options() (control.ShareOptions, error) {
	if f.Uses < 0 {
		return control.ShareOptions{}, &exit{exitUsage, fmt.Errorf("--uses %d is below zero", f.Uses)}
	}
	return control.ShareOptions{Role: string(f.Role), Uses: f.Uses, ExpiresMS: millis(f.Expires), Ask: f.Ask}, nil
}

// share prints the ticket alone on standard output, so that it can be piped.
func share[P any](ctx context.Context, a *app, f *shareFlags, e control.Endpoint[P, control.Ticket], params P) error {
	return a.with(ctx, func(c *control.Client) error {
		t, err := control.Call(ctx, c, e, params)
		if err != nil {
			return err
		}
		if err := a.show(t, func(p *page) { p.line(plain, "%s", clean(t.Ticket)) }); err != nil {
			return err
		}
		if f.QR {
			return a.qr(t.Ticket)
		}
		return nil
	})
}

// qr draws a ticket on standard error.
func (a *app) qr(text string) error {
	q, err := qrcode.New(text, qrcode.Low)
	if err != nil {
		return fmt.Errorf("draw QR code: %w", err)
	}
	_, err = fmt.Fprint(a.err, q.ToSmallString(false))
	return err
}

func (p *page) tickets(all []control.TicketInfo) {
	if len(all) == 0 {
		p.line(plain, "No tickets.")
		return
	}
	var rows []row
	for _, t := range all {
		rows = append(rows, p.ticket(t))
	}
	p.table("", []string{"TICKET", "ROLE", "USED", "EXPIRES", "STATE"}, rows)
}

func (p *page) ticket(t control.TicketInfo) row {
	used := strconv.Itoa(t.Used) + " of any number"
	if t.Uses > 0 {
		used = fmt.Sprintf("%d of %d", t.Used, t.Uses)
	}
	expires := "never"
	if t.Expires != nil {
		expires = moment(*t.Expires)
	}
	r := row{style: plain, cells: []string{cut(t.ID, 10), t.Role, used, expires, "good"}}
	switch {
	case t.Revoked:
		r.cells[4], r.style = "revoked", dim
	case t.Uses > 0 && t.Used >= t.Uses:
		r.cells[4], r.style = "used up", dim
	case t.Expires != nil && int64(*t.Expires) <= p.a.nowMS():
		r.cells[4], r.style = "expired", dim
	}
	return r
}

// joinFlags are the flags of using a ticket.
type joinFlags struct {
	Ticket string   `arg:"" help:"The ticket, or - to read it from standard input."`
	Wait   duration `default:"30s" placeholder:"D" help:"How long to wait for the first complete copy (default 30s)."`
	Name   string   `placeholder:"N" help:"What it is called here."`
	Role   roleFlag `placeholder:"R" help:"What to ask for, when the ticket holds no secret."`
}

// use redeems the ticket. Ready and pending are success.
func (f *joinFlags) use(ctx context.Context, a *app, e control.Endpoint[control.JoinParams, control.Joined]) error {
	ticket, err := a.argOrInput(f.Ticket)
	if err != nil {
		return err
	}
	return a.with(ctx, func(c *control.Client) error {
		j, err := control.Call(ctx, c, e, control.JoinParams{Ticket: ticket, WaitMS: millis(f.Wait), Name: f.Name, Role: string(f.Role)})
		if err != nil {
			return err
		}
		if err := a.show(j, func(p *page) { p.joined(j) }); err != nil {
			return err
		}
		if j.State != control.StateReady && j.State != control.Pending {
			return &exit{code: exitError}
		}
		return nil
	})
}

func (p *page) joined(j control.Joined) {
	id := shortDoc(j.ID)
	switch j.State {
	case control.StateReady:
		p.line(good, "%s %s is here.", clean(j.Kind), id)
	case control.Pending:
		p.line(warn, "%s %s waits for approval; it arrives by itself once it is given.", clean(j.Kind), id)
	default:
		p.line(bad, "%s %s: %s. %s", clean(j.Kind), id, stateWord(j.State), clean(j.Reason))
		if do := remedyOf(j.State, "the other peer"); do != "" {
			p.line(plain, "→ %s", do)
		}
	}
}
