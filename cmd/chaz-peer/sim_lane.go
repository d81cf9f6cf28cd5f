package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// sign is an event of a lane with its place, and the level of its label; -1 where there is no room.
type sign struct {
	simEvent
	x     float64
	level int
}

// levelsMost is how many labels may stand above each other.
const levelsMost = 4

// place finds room for the events of a lane and their labels.
func (p *picture) place(lane int) (signs []sign, levels int) {
	x := -math.MaxFloat64
	for _, e := range p.events {
		if e.lane == lane {
			x = max(p.scale.place(e.at), x+17)
			signs = append(signs, sign{e, x, -1})
		}
	}
	// From right to left: a label may end before the stem of any label that stands above it begins.
	var free [levelsMost]float64
	for i := range free {
		free[i] = p.scale.width() - 4
	}
	for i := len(signs) - 1; i >= 0; i-- {
		s := &signs[i]
		end := s.x + textWide(labelOf(s.simEvent)) + 4
		for l := range free {
			if end > free[l] {
				continue
			}
			s.level = l
			levels = max(levels, l+1)
			// The stem crosses the levels below.
			for k := range l + 1 {
				free[k] = min(free[k], s.x-7)
			}
			break
		}
	}
	return signs, levels
}

func labelOf(e simEvent) string { return cutText(e.short, 22) }

func (p *picture) laneHigh(levels int) float64 {
	rows := len(p.tracks) + b2i(p.talk)
	return 8 + max(float64(levels), 1)*levelHigh + iconHigh + float64(rows)*trackHigh + clockHigh + laneGap
}

// lane draws one peer: its events with their labels, what it believed active, its clock.
func (p *picture) lane(n int) {
	l := p.t.Peers[n]
	signs, levels := p.place(n)
	high := p.laneHigh(levels)
	class := "lane"
	if p.failure != nil && p.failure.Peer == l.Name {
		class = "lane failed"
	}
	p.d.rect(class, 1, p.y, p.scale.width()-2, high-laneGap+4, "")
	p.title(n, class, high)
	icons := p.y + 8 + max(float64(levels), 1)*levelHigh + 9
	p.absent(l, high)
	p.cutOff(n)
	y := icons + 14
	for _, tr := range p.tracks {
		p.names.text("trackname end", namesWide-8, y+10, cutText(tr.label, 20))
		p.bars(l, tr, y)
		y += trackHigh
	}
	if p.talk {
		p.entries(l, y)
		y += trackHigh
	}
	p.clock(n, y)
	for _, s := range signs {
		p.sign(s, icons)
	}
	p.y += high
}

func (p *picture) title(n int, class string, high float64) {
	l := p.t.Peers[n]
	p.names.rect(class+" title", 1, p.y, namesWide-2, high-laneGap+4, l.Name)
	p.names.text("peer", 9, p.y+17, cutText(l.Name, 16))
	role := ""
	switch {
	case l.Rogue:
		role = "a reader who writes"
	case p.story != nil && n < len(p.story.Peers):
		role = map[string]string{"": "may write", "write": "may write", "read": "may read", "admin": "admin", "none": "comes in later", "owner": "owner"}[p.story.Peers[n].Role]
		if n == 0 {
			role = "owner"
		}
	case n == 0:
		role = "owner"
	}
	p.names.text("dim", 9, p.y+31, role)
}

// absent shades the times in which the peer did not run.
func (p *picture) absent(l sim.Lane, high float64) {
	for _, d := range l.Down {
		x, w := p.span(d.From, d.To)
		p.d.rect("down", x, p.y+1, w, high-laneGap+2, fmt.Sprintf("%s does not run from %s to %s", l.Name, since(d.From-p.t.Start), since(d.To-p.t.Start)))
		if w > 34 {
			p.d.text("downword", x+w/2, p.y+high-laneGap-clockHigh-1, "down")
		}
	}
}

// cutOff draws along the top of a lane when the peer could not reach somebody.
func (p *picture) cutOff(n int) {
	for _, s := range p.t.Links {
		if s.A == n || s.B == n {
			x, w := p.span(s.From, s.To)
			p.d.rect("edge", x, p.y, w, 3.5, "")
		}
	}
}

// bars draws from when to when a peer believed something active.
func (p *picture) bars(l sim.Lane, tr track, y float64) {
	var mine []sim.Belief
	for _, b := range l.Beliefs {
		if b.Doc == tr.doc {
			mine = append(mine, b)
		}
	}
	if len(mine) == 0 {
		return
	}
	first := p.scale.place(mine[0].At)
	p.d.line("inactive", first, y+6, p.scale.place(p.t.End), y+6)
	for i := 0; i < len(mine); {
		if !slices.Contains(mine[i].Active, tr.name) {
			i++
			continue
		}
		from, to := mine[i].At, p.t.End
		for i++; i < len(mine); i++ {
			if !slices.Contains(mine[i].Active, tr.name) {
				to = mine[i].At
				break
			}
		}
		x, w := p.span(from, to)
		p.d.rect(fmt.Sprintf("bar b%d", tr.color), x, y+1, w, trackHigh-5, fmt.Sprintf("%s believes %s active from %s to %s", l.Name, tr.label, since(from-p.t.Start), since(to-p.t.Start)))
	}
}

// entries writes how many entries the peer had, whenever that changed.
func (p *picture) entries(l sim.Lane, y float64) {
	p.names.text("trackname end", namesWide-8, y+10, "entries")
	free, before := -math.MaxFloat64, -1
	for i, b := range l.Beliefs {
		if b.Doc != 0 || b.Entries == before {
			continue
		}
		x := p.scale.place(b.At)
		if x < free && slices.ContainsFunc(l.Beliefs[i+1:], func(o sim.Belief) bool { return o.Doc == 0 && p.scale.place(o.At) < free+14 }) {
			continue // the next one tells more
		}
		x = max(x, free)
		text := fmt.Sprint(b.Entries)
		p.d.text("count", x, y+10, text)
		free, before = x+textWide(text)+5, b.Entries
	}
}

// clock writes what the peer's clock shows: at the start, whenever it was put, and where it has moved
// against the true time meanwhile.
func (p *picture) clock(n int, y float64) {
	const late = 170 // how far behind its place a text may stand
	p.names.text("dim end", namesWide-8, y+13, "its clock")
	free, off, day := -math.MaxFloat64, "", ""
	for _, r := range p.readings(n) {
		now := offsetText(r.Own, r.True)
		x := p.scale.place(r.True)
		if now == off || x+late < free {
			continue
		}
		if off != "" && x >= free {
			p.d.line("put", x, y+2, x, y+16)
		}
		x, off = max(x+3, free), now
		text := clockText(r.Own)
		if date, hour, ok := strings.Cut(text, " "); ok && date == day {
			text = hour
		} else {
			day = date
		}
		if now != "right" {
			text += " · " + now
		}
		p.d.text("clock", x, y+13, text)
		free = x + textWide(text) + 12
	}
}

// readings are all known readings of a clock, those beside an event too, by true time.
func (p *picture) readings(n int) []sim.ClockPoint {
	out := slices.Clone(p.t.Peers[n].Clock)
	for _, e := range p.events {
		if e.lane == n {
			out = append(out, sim.ClockPoint{True: e.at, Own: e.own})
		}
	}
	slices.SortStableFunc(out, func(a, b sim.ClockPoint) int { return cmp.Compare(a.True, b.True) })
	return out
}

// sign draws one event: a number in a dot, and a label above it if there is room.
func (p *picture) sign(s sign, y float64) {
	if s.level >= 0 {
		top := y - 8 - float64(s.level)*levelHigh
		if s.level > 0 {
			p.d.line("stem "+s.class, s.x-4, top, s.x-4, y-8)
		}
		p.d.text("label "+s.class, s.x-5, top-2, labelOf(s.simEvent))
	}
	tip := fmt.Sprintf("%d. %s, its clock %s: %s", s.n, since(s.at-p.t.Start), clockText(s.own), s.long)
	p.d.dot("event "+s.class, s.x, y, 8, tip)
	p.d.text("number", s.x, y+3.3, fmt.Sprint(s.n))
}
