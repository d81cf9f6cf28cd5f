package sim

import (
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// recorder writes a [Timeline]. A nil one writes nothing.
type recorder struct {
	w     *world
	t     *Timeline
	lanes map[*peer]int
	open  map[*link]*LinkSpan
}

func newRecorder(w *world) *recorder {
	return &recorder{w: w, t: &Timeline{Start: epoch}, lanes: map[*peer]int{}, open: map[*link]*LinkSpan{}}
}

func (r *recorder) lane(p *peer) *Lane {
	n, ok := r.lanes[p]
	if !ok {
		n = len(r.t.Peers)
		r.lanes[p] = n
		r.t.Peers = append(r.t.Peers, Lane{Name: p.name, Rogue: p.rogue})
	}
	return &r.t.Peers[n]
}

func (r *recorder) mark(p *peer, kind, text string) {
	if r == nil {
		return
	}
	m := Mark{At: r.w.trueMillis(), Kind: kind, Text: text, Step: r.w.step}
	if p == nil {
		m.Own = m.At
		r.t.Marks = append(r.t.Marks, m)
		return
	}
	m.Own = p.clock.millis()
	l := r.lane(p)
	l.Marks = append(l.Marks, m)
}

// step notes a step that had an effect.
func (r *recorder) step(a act, p *peer) {
	if r == nil {
		return
	}
	r.mark(p, string(a.do), r.describe(a))
}

func (r *recorder) describe(a act) string {
	far := r.w.peers[a.b].name
	switch a.do {
	case DoOn, DoOff, DoUpgrade:
		return a.name
	case DoPost, DoSet, doRogue:
		return a.text
	case DoGrant, DoJoin:
		return far + " " + a.role.String()
	case DoPartition, DoBlock, DoHeal, DoUnblock, DoReset, doFlap:
		return far
	case DoJump:
		return a.for_.String()
	case DoClock, doPoison:
		return crdt.FormatStamp(a.stamp)
	case DoDrift:
		return fmt.Sprintf("%d ppm", a.stamp)
	}
	return ""
}

func (r *recorder) clock(p *peer) {
	if r == nil {
		return
	}
	l := r.lane(p)
	l.Clock = append(l.Clock, ClockPoint{r.w.trueMillis(), p.clock.millis()})
}

func (r *recorder) up(p *peer, up bool) {
	if r == nil {
		return
	}
	l := r.lane(p)
	now := r.w.trueMillis()
	switch {
	case len(l.Clock) == 0:
		r.clock(p)
	case up && len(l.Down) > 0:
		l.Down[len(l.Down)-1].To = now
	case !up:
		l.Down = append(l.Down, Span{From: now})
	}
}

// link notes the state a link has now.
func (r *recorder) link(l *link) {
	if r == nil {
		return
	}
	now := r.w.trueMillis()
	if s := r.open[l]; s != nil {
		s.To = now
		r.t.Links = append(r.t.Links, *s)
		delete(r.open, l)
	}
	s := &LinkSpan{A: l.ends[0].n, B: l.ends[1].n, Span: Span{From: now}}
	switch {
	case l.down > 0:
		s.State = "cut"
	case l.blocked[0] && l.blocked[1]:
		s.State = "silent"
	case l.blocked[0]:
		s.State = "one_way"
	case l.blocked[1]:
		s.State, s.A, s.B = "one_way", s.B, s.A
	default:
		return
	}
	r.open[l] = s
}

// believe notes what a peer holds, if that has changed.
func (r *recorder) believe(p *peer) {
	if r == nil || !p.up {
		return
	}
	for _, d := range r.w.docs {
		b := Belief{At: r.w.trueMillis(), Doc: d.n, Active: []string{}}
		err := p.repo.View(r.w.ctx, d.id, func(v *crdt.View) error {
			for _, a := range v.Index(activation.IndexName).(beliefs).State().ReadActive() {
				b.Active = append(b.Active, a.Name)
			}
			b.Entries = v.RowCount(crdt.EntriesStore)
			return nil
		})
		if err != nil {
			continue // it does not have it
		}
		l := r.lane(p)
		at := slices.IndexFunc(l.Beliefs, func(o Belief) bool { return o.Doc == d.n })
		for i := len(l.Beliefs) - 1; i >= 0; i-- {
			if l.Beliefs[i].Doc == d.n {
				at = i
				break
			}
		}
		if at >= 0 && slices.Equal(l.Beliefs[at].Active, b.Active) && l.Beliefs[at].Entries == b.Entries {
			continue
		}
		l.Beliefs = append(l.Beliefs, b)
	}
}

// finish closes what is open.
func (r *recorder) finish() *Timeline {
	now := r.w.trueMillis()
	for _, l := range r.w.links {
		r.link(l)
		delete(r.open, l)
	}
	for _, p := range r.w.peers {
		l := r.lane(p)
		l.Clock = append(l.Clock, ClockPoint{now, p.clock.millis()})
		if n := len(l.Down); n > 0 && l.Down[n-1].To == 0 {
			l.Down[n-1].To = now
		}
	}
	r.t.End = now
	return r.t
}
