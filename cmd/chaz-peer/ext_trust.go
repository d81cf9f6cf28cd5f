package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type extTrustCmd struct {
	extRef
	Session      string            `placeholder:"S" help:"Let it run in this session. With --everywhere: the session that the name is looked up in."`
	Everywhere   bool              `help:"Let it run in every session that has it on."`
	Cap          []string          `placeholder:"POWER" sep:"none" xor:"powers" help:"Give it this power, as ext show spells it. Repeatable."`
	AllRequested bool              `xor:"powers" help:"Give it everything it asks for."`
	NoCaps       bool              `xor:"powers" help:"Give it nothing of what it asks for."`
	Publisher    bool              `help:"Also trust later versions that the same publisher signs and that ask for no more."`
	Mount        map[string]string `placeholder:"ID=DIR" mapsep:"none" help:"The folder that an id it asks for means here. Repeatable."`
	YesSHA256    string            `name:"yes-sha256" placeholder:"HEX" help:"Do not ask: the 64 digits of the wasm sha256 that was looked at."`
	Fetch        bool              `help:"Also contact hosts that are no peers of the session, such as a git server."`
}

// contentHash is the SHA-256 of a module, or a whole key.
var contentHash = regexp.MustCompile(`^[0-9a-f]{64}(\.[0-9a-f]{64})?$`)

// Run shows the card and asks; a script names the content that somebody has looked at instead.
func (c *extTrustCmd) Run(ctx context.Context, a *app) error {
	q, err := c.params(a)
	if err != nil {
		return err
	}
	// The card goes where the question goes.
	if q.SHA256 == "" && (!a.inTTY || !a.errTTY) {
		return &control.Error{
			Cause:  "trust " + c.Ref + ": a person has to look at it first, and this is no terminal",
			Remedy: commandLine(append([]string{"ext", "show", c.Ref}, c.where()...)...) + ", then repeat this with --yes-sha256 and the wasm sha256 shown there",
		}
	}
	return a.with(ctx, func(cl *control.Client) error {
		if q.SHA256 == "" {
			if q.SHA256, err = c.decide(ctx, a, cl); err != nil {
				return err
			}
		}
		r, err := c.send(ctx, a, cl, q)
		if err != nil {
			return err
		}
		if err := a.show(r, func(p *page) { p.trusted(r) }); err != nil {
			return err
		}
		if r.State != "trusted" {
			return &exit{code: exitError}
		}
		return nil
	})
}

// params checks the flags.
func (c *extTrustCmd) params(a *app) (control.ExtTrustParams, error) {
	q := control.ExtTrustParams{
		Ref: c.Ref, Session: c.Session, Everywhere: c.Everywhere, Caps: c.Cap, AllRequested: c.AllRequested, NoCaps: c.NoCaps,
		SHA256: strings.ToLower(c.YesSHA256), Publisher: c.Publisher, Outside: c.Fetch,
	}
	if c.Session == "" && !c.Everywhere {
		return q, &exit{exitUsage, &control.Error{
			Cause: "trust " + c.Ref + ": where may it run?", Remedy: "--session S for one session, or --everywhere",
		}}
	}
	if q.SHA256 != "" && !contentHash.MatchString(q.SHA256) {
		return q, &exit{exitUsage, &control.Error{
			Cause: "--yes-sha256 is not the 64 hex digits of a sha256", Remedy: commandLine(append([]string{"ext", "show", c.Ref}, c.where()...)...),
		}}
	}
	var err error
	if q.Mounts, err = c.mounts(a); err != nil {
		return q, &exit{exitUsage, err}
	}
	return q, nil
}

// mounts are the folders, absolute.
func (c *extTrustCmd) mounts(a *app) (map[string]string, error) {
	if len(c.Mount) == 0 {
		return nil, nil
	}
	dirs := make(map[string]string, len(c.Mount))
	for id, dir := range c.Mount {
		path, err := a.absPath(dir)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("find folder of --mount %s: %w", id, err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("find folder of --mount %s: %s is no folder", id, path)
		}
		dirs[id] = path
	}
	return dirs, nil
}

// where are the flags that say where it is looked up.
func (c *extTrustCmd) where() []string {
	if c.Session == "" {
		return nil
	}
	return []string{"--session", c.Session}
}

// decide shows the card and asks. It returns the key of exactly what was shown.
func (c *extTrustCmd) decide(ctx context.Context, a *app, cl *control.Client) (string, error) {
	card, err := a.card(ctx, cl, control.ExtShowParams{Ref: c.Ref, Session: c.Session, Outside: c.Fetch})
	if err != nil {
		return "", err
	}
	asking := *a
	asking.out, asking.outTTY, asking.json = a.err, a.errTTY, false
	if err := asking.show(card, func(p *page) { p.card(card) }); err != nil {
		return "", err
	}
	if err := c.decidable(card); err != nil {
		return "", err
	}
	if err := asking.show(card, func(p *page) { p.wouldGet(c, card) }); err != nil {
		return "", err
	}
	yes, err := a.confirm("Let " + nameVersion(card.Name, card.Version) + " run " + c.place() + "?")
	if err != nil {
		return "", err
	}
	if !yes {
		fmt.Fprintf(a.err, "Nothing was decided. To be asked no more: %s\n", commandLine("ext", "deny", c.Ref))
		return "", &exit{code: exitError}
	}
	return card.Key, nil
}

// decidable says why no question can be asked about a card.
func (c *extTrustCmd) decidable(card control.ExtCard) error {
	why := "trust " + nameVersion(card.Name, card.Version) + ": "
	switch {
	case !card.BytesHere || card.Key == "":
		return &control.Error{Cause: why + orID(card.Reason, "its bytes are not on this peer"), Remedy: nextCommand(card, c.Ref, c.Session)}
	case card.State == "invalid":
		return &control.Error{Cause: why + orID(card.Reason, "it is invalid"), Remedy: nextCommand(card, c.Ref, c.Session)}
	case len(card.Asks) > 0 && len(c.Cap) == 0 && !c.AllRequested && !c.NoCaps:
		return &exit{exitUsage, &control.Error{
			Cause:  why + "it asks for " + plural(int64(len(card.Asks)), "power") + ", say which it gets",
			Remedy: "--all-requested, --no-caps, or of these what you agree to: " + shellLine(trustWords(card, "", nil)[3:]),
		}}
	}
	return nil
}

func (c *extTrustCmd) place() string {
	if c.Everywhere {
		return "in every session that has it on"
	}
	return "in the session " + clean(c.Session)
}

// wouldGet says what a yes gives.
func (p *page) wouldGet(c *extTrustCmd, card control.ExtCard) {
	p.head("A yes gives it, " + c.place())
	switch {
	case len(card.Asks) == 0 || c.NoCaps:
		p.bullet(good, "No powers outside its sandbox.")
	case c.AllRequested:
		for _, x := range card.Asks {
			p.bullet(warn, x.Words)
		}
	default:
		for _, x := range c.Cap {
			p.bullet(warn, inWords(card, x))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Mount)) {
		p.bullet(warn, "The folder "+c.Mount[id]+", as "+id+".")
	}
	if c.Publisher {
		p.bullet(warn, "The same for every later version that its publisher signs and that asks for no more, unseen.")
	}
	p.line(plain, "")
}

// inWords is a power as the card says it, else as it was typed.
func inWords(card control.ExtCard, power string) string {
	for _, x := range card.Asks {
		if x.Cap == power {
			return x.Words
		}
	}
	return power
}

func (c *extTrustCmd) send(ctx context.Context, a *app, cl *control.Client, q control.ExtTrustParams) (control.ExtTrusted, error) {
	bar := a.progress("fetching")
	defer bar.end()
	r, err := control.CallStream(ctx, cl, control.ExtTrust, q, nil, func(p control.Progress) error {
		bar.show(p)
		return nil
	})
	var ce *control.Error
	if errors.As(err, &ce) && ce.Code == control.CodeConflict && ce.Remedy == "" {
		ce.Remedy = commandLine(append([]string{"ext", "show", c.Ref}, c.where()...)...)
	}
	return r, err
}

// trusted says what may run now, and where.
func (p *page) trusted(r control.ExtTrusted) {
	if r.State != "trusted" {
		state, look := extState(r.State)
		p.line(look, "%s is remembered as trusted, but: %s. %s", clean(r.Name), state, clean(r.Reason))
		return
	}
	if r.Everywhere {
		p.line(good, "%s may run in every session that has it on.", clean(r.Name))
	} else {
		p.line(good, "%s may run in %s.", clean(r.Name), sessionNames(r.Sessions))
	}
	if len(r.Caps) == 0 {
		p.line(plain, "  It has no powers outside its sandbox.")
	}
	for _, x := range r.Caps {
		p.bullet(plain, x.Words)
	}
}
