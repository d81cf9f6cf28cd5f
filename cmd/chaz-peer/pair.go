package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type peersPairCmd struct {
	Ticket  string   `arg:"" optional:"" help:"The ticket that the other machine printed; none: print one here."`
	Yes     bool     `help:"Take the words for equal without asking (for scripts: whoever has the ticket is let in)."`
	Expires duration `default:"10m" placeholder:"D" help:"How long the ticket is good."`
	Timeout duration `default:"10m" placeholder:"D" help:"How long to wait for the other side."`
	QR      bool     `name:"qr" help:"Also show the ticket as a QR code, on standard error."`
}

// Run pairs two machines: one prints a ticket, the other takes it, both show the same words, and a
// person says on both that they are equal.
func (c *peersPairCmd) Run(ctx context.Context, a *app) error {
	if !c.Yes && !a.inTTY {
		return &control.Error{Cause: "pairing asks a person to compare words, and the input is no terminal", Remedy: "chaz-peer peers pair --yes"}
	}
	return a.withDaemon(ctx, "pairing", func(cl *control.Client) error {
		met, err := c.meet(ctx, a, cl)
		if err != nil {
			return err
		}
		yes, err := c.compare(a, met)
		if err != nil {
			return err
		}
		end, err := control.Call(ctx, cl, control.PeersPairConfirm, control.PairConfirmParams{Pairing: met.Pairing, Yes: yes, TimeoutMS: millis(c.Timeout)})
		if err != nil {
			return err
		}
		if err := a.show(end, func(p *page) { p.pairing(end) }); err != nil {
			return err
		}
		if end.State != control.PairPaired {
			return &exit{code: exitError}
		}
		return nil
	})
}

// meet brings the two sides together, by the ticket given or a new one.
func (c *peersPairCmd) meet(ctx context.Context, a *app, cl *control.Client) (control.Pairing, error) {
	if c.Ticket != "" {
		return control.Call(ctx, cl, control.PeersPairJoin, control.PairJoinParams{Ticket: c.Ticket, TimeoutMS: millis(c.Timeout)})
	}
	t, err := control.Call(ctx, cl, control.PeersPairStart, control.PairStartParams{ExpiresMS: millis(c.Expires)})
	if err != nil {
		return control.Pairing{}, err
	}
	if err := a.show(t, func(p *page) { p.line(plain, "%s", clean(t.Ticket)) }); err != nil {
		return control.Pairing{}, err
	}
	if c.QR {
		if err := a.qr(t.Ticket); err != nil {
			return control.Pairing{}, err
		}
	}
	if !a.json {
		fmt.Fprintf(a.err, "On the other machine: chaz-peer peers pair TICKET (good until %s)\n", moment(t.Expires))
	}
	return control.Call(ctx, cl, control.PeersPairWait, control.PairWaitParams{Pairing: t.Pairing, TimeoutMS: millis(c.Timeout)})
}

// compare has a person compare the words.
func (c *peersPairCmd) compare(a *app, met control.Pairing) (bool, error) {
	fmt.Fprintf(a.err, "The other machine: %s\nIts words must be:  %s\n", called(met.Name, shortPeer(met.PeerID)), a.paint(a.errTTY, bold, clean(met.Words)))
	if c.Yes {
		return true, nil
	}
	return a.confirm("Does the other machine show the same words?")
}

func (p *page) pairing(end control.Pairing) {
	switch end.State {
	case control.PairPaired:
		p.line(good, "%s is now a device of yours: both hold what either holds.", called(end.Name, shortPeer(end.PeerID)))
	case control.PairWaiting:
		p.line(warn, "The other machine has not confirmed yet; run chaz-peer peers list later.")
	default:
		p.line(bad, "Not paired: one side said that the words differ.")
	}
}

// confirm asks a question that is answered with y or anything else.
func (a *app) confirm(question string) (bool, error) {
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && answer == "" {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}
