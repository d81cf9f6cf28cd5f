package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// How long a scenario waits for quiet.
const (
	calm     = 3 * time.Second // without a frame that says something
	waitMost = 10 * time.Minute
)

// runScenario plays a story and looks at what came of it.
func (w *world) runScenario(s *Scenario) error {
	if err := s.Check(); err != nil {
		return err
	}
	c := &compiler{s: s}
	if err := c.peers(); err != nil {
		return err
	}
	acts, err := c.steps()
	if err != nil {
		return err
	}
	w.guard(func() { w.castScenario(s) })
	for _, a := range acts {
		w.advance(max(w.now, a.at))
		if w.res.Failure != nil || w.ctx.Err() != nil {
			return nil
		}
		switch a.do {
		case DoWait:
			w.step = a.n
			most := waitMost
			if a.for_ > 0 {
				most = a.for_
			}
			if !w.quiet(calm, most) {
				w.fail(I8, nil, "step %d: not quiet after %s: %s", a.n+1, most, w.apart())
			}
		case DoExpect:
			w.step = a.n
			w.guard(func() { w.expect(c, a.want, fmt.Sprintf("step %d", a.n+1)) })
		default:
			w.guard(func() { w.play(a) })
		}
	}
	w.endScenario(c)
	return nil
}

func (w *world) endScenario(c *compiler) {
	w.met(I8)
	if w.res.Failure == nil && !w.quiet(calm, waitMost) && w.ctx.Err() == nil {
		w.fail(I8, nil, "not quiet %s after the last step: %s", waitMost, w.apart())
	}
	for i := range c.s.Expect {
		if w.res.Failure == nil {
			w.guard(func() { w.expect(c, &c.s.Expect[i], fmt.Sprintf("expect %d", i+1)) })
		}
	}
	w.guard(func() {
		for _, p := range w.peers {
			for _, d := range w.docs {
				if w.res.Failure != nil || !p.up || p.rogue || !p.repo.Has(d.id) {
					continue
				}
				if pic := w.look(p, d); pic != nil {
					w.checkSigned(p, d, pic)
					w.checkSaved(p, d, pic)
				}
			}
		}
	})
}

// castScenario makes the peers, the session and the links.
func (w *world) castScenario(s *Scenario) {
	core := w.opt.newCore()
	for i, sp := range s.Peers {
		p := w.newPeer(i, sp.Name, core)
		p.rogue = sp.Rogue
		if sp.Clock.At != "" {
			p.clock.at, _ = sp.Clock.At.millis() // checked before
		}
		p.clock.at = addSaturating(p.clock.at, time.Duration(sp.Clock.Offset).Milliseconds())
		p.clock.ppm = sp.Clock.DriftPPM
		w.peers = append(w.peers, p)
		p.start()
	}
	w.addDoc(crdt.Session)
	for i, sp := range s.Peers[1:] {
		role, _ := startRole(i+1, sp.Role) // checked before
		w.admit(w.docs[0], w.peers[i+1], role)
	}
	for i, p := range w.peers {
		for _, q := range w.peers[i+1:] {
			w.linkScenario(s, p, q)
		}
	}
	for _, p := range w.peers {
		p.looked()
	}
}

func (w *world) linkScenario(s *Scenario, p, q *peer) {
	l := w.newLink(p, q)
	l.latency, l.jitter = time.Duration(s.Latency), time.Duration(s.Jitter)
	if s.Latency == 0 {
		l.latency = 20 * time.Millisecond
	}
	for _, sl := range s.Links {
		if sl.Between != [2]string{p.name, q.name} && sl.Between != [2]string{q.name, p.name} {
			continue
		}
		if sl.Latency > 0 {
			l.latency = time.Duration(sl.Latency)
		}
		if sl.Jitter > 0 {
			l.jitter = time.Duration(sl.Jitter)
		}
		if sl.Down {
			l.partition()
		}
	}
	l.dialSoon()
}

// expect holds what a scenario says against what is.
func (w *world) expect(c *compiler, e *Expect, where string) {
	w.met(Expected)
	d := w.docs[0]
	var asked []*peer
	for _, name := range e.Peers {
		asked = append(asked, w.peers[c.number[name]])
	}
	if len(e.Peers) == 0 {
		for _, p := range w.members(d) {
			if p.up {
				asked = append(asked, p)
			}
		}
	}
	var first *picture
	differ := ""
	for _, p := range asked {
		if !p.up {
			w.fail(Expected, p, "%s: it does not run", where)
			return
		}
		if e.Has != nil && p.repo.Has(d.id) != *e.Has {
			w.fail(Expected, p, "%s: has the session: %v, want %v", where, !*e.Has, *e.Has)
			return
		}
		if !p.repo.Has(d.id) {
			if e.Has == nil {
				w.fail(Expected, p, "%s: it does not have the session", where)
			}
			continue
		}
		pic := w.look(p, d) // compares with a fold from scratch too
		if pic == nil || w.res.Failure != nil {
			return
		}
		w.expectOne(p, d, e, pic, where)
		if first == nil {
			first = pic
		} else if !slices.Equal(first.heads, pic.heads) || first.access != pic.access || !first.state.Equal(pic.state) || first.subject != pic.subject {
			differ = fmt.Sprintf("%s believes %s, %s %s", asked[0].name, words(first.state), p.name, words(pic.state))
		}
	}
	switch {
	case e.Agree == nil || *e.Agree == (differ == ""):
	case *e.Agree:
		w.fail(Expected, nil, "%s: they do not have the same: %s", where, differ)
	default:
		w.fail(Expected, nil, "%s: they have the same, and should not yet", where)
	}
}

func (w *world) expectOne(p *peer, d *doc, e *Expect, pic *picture, where string) {
	for _, name := range e.Active {
		if pic.state[name].Kind != activation.Activated {
			w.fail(Expected, p, "%s: %s is not active; it believes %s", where, name, words(pic.state))
		}
	}
	for _, name := range e.Inactive {
		if pic.state[name].Kind == activation.Activated {
			w.fail(Expected, p, "%s: %s is active; it believes %s", where, name, words(pic.state))
		}
	}
	if e.Entries != nil && len(pic.entries) != *e.Entries {
		w.fail(Expected, p, "%s: %d entries, want %d", where, len(pic.entries), *e.Entries)
	}
	if e.StoredOn != nil {
		if n, err := p.repo.StoredOn(w.ctx, d.id); err != nil || n < *e.StoredOn {
			w.fail(Expected, p, "%s: stored on %d peers, want %d: %v", where, n, *e.StoredOn, err)
		}
	}
}
