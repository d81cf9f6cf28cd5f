package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type statusCmd struct{}

// Run shows the status of the daemon. It never opens the store: without a daemon it says so and
// ends with status 3.
func (statusCmd) Run(ctx context.Context, a *app) error {
	c, err := control.Dial(a.home)
	if errors.Is(err, control.ErrNoDaemon) {
		s := control.Status{Version: a.engine.Version}
		err = a.show(s, func(p *page) {
			p.line(warn, "No daemon runs for %s.", a.home)
			p.line(plain, "Start it with: chaz-peer run")
		})
		return errors.Join(&exit{code: exitNoDaemon}, err)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := control.Call(ctx, c, control.GetStatus, control.StatusParams{})
	if err != nil {
		return err
	}
	a.skew = time.Duration(s.ClockSkewMS) * time.Millisecond
	return a.show(s, func(p *page) { p.status(s) })
}

func (p *page) status(s control.Status) {
	p.line(bold, "Peer %s, chaz-peer %s", clean(s.PeerID), clean(s.Version))
	for _, addr := range s.Addrs {
		p.line(dim, "  listens on %s", clean(addr))
	}
	if s.ClockSkewMS != 0 {
		p.line(warn, "  the clock is shifted by %s against this machine's", span(s.ClockSkewMS))
	}
	p.line(plain, "")
	if len(s.Peers) == 0 {
		p.line(plain, "No peers yet. Share something (chaz-peer session share S) or pair a machine (chaz-peer peers pair).")
	} else {
		p.line(bold, "Peers")
		p.peers("  ", s.Peers)
	}
	p.line(plain, "")
	if len(s.Documents) == 0 {
		p.line(plain, "No documents yet. Start a session with: chaz-peer session new --name NAME")
	} else {
		p.line(bold, "Documents")
		p.documents("  ", s.Documents, peerNames(s.Peers))
	}
	if len(s.Counters) > 0 {
		p.line(plain, "")
		p.line(bold, "Refused from other peers since the start")
		p.counters(s.Counters)
	}
}

func (p *page) counters(counters map[string]int64) {
	names := make([]string, 0, len(counters))
	for n := range counters {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		p.line(warn, "  %6d  %s", counters[n], clean(n))
	}
}

// peers is the table of peers, with warnings and remedies under their rows.
func (p *page) peers(indent string, peers []control.Peer) {
	var rows []row
	for _, x := range peers {
		name := x.Name
		if x.Paired {
			name += " *"
		}
		r := row{style: stateStyle(x.State), cells: []string{name, shortPeer(x.ID), stateWord(x.State), clockOf(x.ClockOffsetMS), p.seen(x), x.Reason}}
		for _, w := range x.Warnings {
			r.below = append(r.below, "warning: "+w)
		}
		if do := peerRemedy(x); do != "" {
			r.below = append(r.below, "→ "+do)
		}
		rows = append(rows, r)
	}
	p.table(indent, []string{"NAME", "ID", "STATE", "CLOCK", "LAST SEEN", "WHY"}, rows)
	for _, x := range peers {
		if x.Paired {
			p.line(dim, "%s* a device of yours", indent)
			break
		}
	}
}

func (p *page) seen(x control.Peer) string {
	switch {
	case x.State == control.InSync || x.State == control.Syncing:
		return "now"
	case x.LastSeen == nil:
		return "never"
	}
	return p.a.when(*x.LastSeen)
}

// documents lists each document with the peers that it is not in sync with.
func (p *page) documents(indent string, docs []control.Document, names map[string]string) {
	var rows []row
	for _, d := range docs {
		synced := 0
		r := row{style: plain}
		for _, x := range d.Peers {
			if x.State == control.InSync {
				synced++
			}
			if x.State != control.InSync || x.Reason != "" {
				r.below = append(r.below, pairLines(x, names[x.ID])...)
			}
		}
		if d.Contents != nil && d.Contents.Missing > 0 {
			r.below = append(r.below, largeWords(d.Contents))
		}
		if len(r.below) > 0 {
			r.style = warn
		}
		sync := "no other peer"
		if n := len(d.Peers); n > 0 {
			sync = fmt.Sprintf("with %d of %d", synced, n)
		}
		r.cells = []string{d.Name, shortDoc(d.ID), d.Kind, plural(int64(d.StoredOn), "peer"), sync}
		rows = append(rows, r)
	}
	p.table(indent, []string{"NAME", "ID", "KIND", "STORED ON", "IN SYNC"}, rows)
}

// pairLines say how a document stands with one peer that it is not in sync with.
func pairLines(x control.DocumentPeer, name string) []string {
	lines := []string{called(name, shortPeer(x.ID)) + ": " + stateWord(x.State)}
	if why := pairWhy(x); why != "" {
		lines[0] += ": " + why
	}
	if do := remedyOf(x.State, orID(name, shortPeer(x.ID))); do != "" {
		lines = append(lines, "→ "+do)
	}
	return lines
}

// pairWhy is the reason, and how much is missing where.
func pairWhy(x control.DocumentPeer) string {
	m := missing(x)
	if m != "" && x.Reason != "" {
		return x.Reason + "; " + m
	}
	return x.Reason + m
}

func missing(x control.DocumentPeer) string {
	var s string
	if x.MissingHere != nil && *x.MissingHere > 0 {
		s = plural(*x.MissingHere, "change") + " missing here"
	}
	if x.MissingThere != nil && *x.MissingThere > 0 {
		if s != "" {
			s += ", "
		}
		s += plural(*x.MissingThere, "change") + " missing there"
	}
	return s
}

func peerNames(peers []control.Peer) map[string]string {
	m := make(map[string]string, len(peers))
	for _, x := range peers {
		m[x.ID] = x.Name
	}
	return m
}

func orID(name, id string) string {
	if name != "" {
		return name
	}
	return id
}

// clockOf is the offset of another peer's clock.
func clockOf(ms *int64) string {
	switch {
	case ms == nil:
		return "?"
	case *ms > 0:
		return "+" + span(*ms)
	}
	return span(*ms)
}
