package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type runCmd struct {
	Listen     []string `placeholder:"ADDR" sep:"none" help:"Listen there: a multiaddr, or HOST:PORT for TCP and QUIC. Repeatable."`
	NoMDNS     bool     `name:"no-mdns" help:"Do not look for peers in the local network."`
	ClockSkew  *skew    `placeholder:"±D" help:"Shift this peer's clock, such as +2h or -3d."`
	ControlTCP string   `name:"control-tcp" placeholder:"HOST:PORT" help:"Serve the API also on a loopback address, with a token."`
}

// Run is the daemon.
func (r *runCmd) Run(ctx context.Context, a *app) error {
	if err := a.prepareHome(); err != nil {
		return err
	}
	o, err := a.options()
	if err != nil {
		return err
	}
	if err := r.apply(&o.Settings); err != nil {
		return &exit{exitUsage, err}
	}
	var said error
	err = a.engine.Run(ctx, o, func(ready control.Ready) { said = r.announce(a, o, ready) })
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // asked to stop, and stopped
	}
	return errors.Join(err, said)
}

// apply puts the flags over the settings of file and environment.
func (r *runCmd) apply(s *control.Settings) error {
	if len(r.Listen) > 0 {
		s.Listen = nil
		for _, l := range r.Listen {
			addrs, err := listenAddrs(l)
			if err != nil {
				return fmt.Errorf("--listen: %w", err)
			}
			s.Listen = append(s.Listen, addrs...)
		}
	}
	if r.NoMDNS {
		s.MDNS = false
	}
	if r.ClockSkew != nil {
		s.ClockSkewMS = time.Duration(*r.ClockSkew).Milliseconds()
	}
	if r.ControlTCP != "" {
		if err := checkLoopback(r.ControlTCP); err != nil {
			return fmt.Errorf("--control-tcp: %w", err)
		}
		s.ControlTCP = r.ControlTCP
	}
	return nil
}

func (r *runCmd) announce(a *app, o nodeOptions, ready control.Ready) error {
	ready.Ready = true
	return a.show(ready, func(p *page) {
		p.line(good, "chaz-peer %s serves as %s", a.engine.Version, called(o.Settings.Name, ready.PeerID))
		for _, addr := range ready.Addrs {
			p.line(plain, "  listens on %s", clean(addr))
		}
		if ms := o.Settings.ClockSkewMS; ms != 0 {
			p.line(warn, "  the clock is shifted by %s", span(ms))
		}
		p.line(dim, "  home %s; stop with Ctrl-C", a.home)
	})
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(a *app) error {
	v := struct {
		Version string `json:"version"`
	}{a.engine.Version}
	return a.show(v, func(p *page) { p.line(plain, "chaz-peer %s", v.Version) })
}

type idCmd struct{}

// Run prints who this peer is.
func (idCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.GetID, control.IDParams{}, func(p *page, id control.ID) {
		p.line(plain, "%s", clean(id.PeerID))
		if id.Name != "" {
			p.line(dim, "  name %s", clean(id.Name))
		}
		for _, addr := range id.Addrs {
			p.line(dim, "  listens on %s", clean(addr))
		}
	})
}

type cmdCmd struct {
	Session string `required:"" placeholder:"S" help:"The session."`
	Agent   string `placeholder:"A" help:"As this agent (else the one that answers there)."`
	Line    string `arg:"" help:"The command, such as '/extensions list'."`
}

// Run runs a slash command; one that failed is exit status 1.
func (c *cmdCmd) Run(ctx context.Context, a *app) error {
	line, err := a.absLine(c.Line)
	if err != nil {
		return err
	}
	return a.with(ctx, func(cl *control.Client) error {
		r, err := control.Call(ctx, cl, control.RunCmd, control.CmdParams{Session: c.Session, Agent: c.Agent, Line: line})
		if err != nil {
			return err
		}
		switch {
		case a.json:
			err = writeJSON(a.out, r)
		case r.OK:
			_, err = fmt.Fprintln(a.out, cleanText(r.Output))
		default:
			_, err = fmt.Fprintln(a.err, cleanText(r.Output))
		}
		if err == nil && !r.OK {
			return &exit{code: exitError}
		}
		return err
	})
}
