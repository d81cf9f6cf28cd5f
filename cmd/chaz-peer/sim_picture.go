package main

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// picture is one run as it is drawn: a lane for each peer under the links between them. names is the
// column on the left, which stays when the rest is scrolled.
type picture struct {
	t        *sim.Timeline
	failure  *sim.Failure
	story    *simStory
	events   []simEvent
	scale    *timeScale
	tracks   []track
	talk     bool // there are entries to be counted
	names, d drawing
	y        float64
}

// track is one extension, or one document beside the session: a row of bars in each lane.
type track struct {
	doc   int
	name  string
	label string
	color int
}

// Heights and widths of the picture.
const (
	namesWide  = 148.0
	axisHigh   = 38.0
	linkHigh   = 18.0
	levelHigh  = 14.0
	iconHigh   = 22.0
	trackHigh  = 15.0
	clockHigh  = 19.0
	laneGap    = 16.0
	trackKinds = 8 // colours
)

func newPicture(r *sim.Result, story *simStory) *picture {
	p := &picture{t: r.Timeline, failure: r.Failure, story: story, events: eventsOf(r.Timeline)}
	p.scale = newScale(p.t, p.events)
	p.tracks = tracksOf(p.t)
	for _, l := range p.t.Peers {
		p.talk = p.talk || slices.ContainsFunc(l.Beliefs, func(b sim.Belief) bool { return b.Doc == 0 && b.Entries > 0 })
	}
	return p
}

// draw gives both columns.
func (p *picture) draw() (names, lanes template.HTML) {
	p.axis()
	p.links()
	p.failed()
	for i := range p.t.Peers {
		p.lane(i)
	}
	label := "timeline of " + plural(int64(len(p.t.Peers)), "peer")
	return template.HTML(p.names.whole("names", "names of the lanes", namesWide, p.y)),
		template.HTML(p.d.whole("lanes", label, p.scale.width(), p.y))
}

// tracksOf lists everything that was ever active anywhere, in one order for all lanes.
func tracksOf(t *sim.Timeline) []track {
	var out []track
	for _, l := range t.Peers {
		for _, b := range l.Beliefs {
			for _, name := range b.Active {
				if !slices.ContainsFunc(out, func(x track) bool { return x.doc == b.Doc && x.name == name }) {
					out = append(out, track{doc: b.Doc, name: name, label: name})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b track) int {
		if a.doc != b.doc {
			return a.doc - b.doc
		}
		return strings.Compare(a.name, b.name)
	})
	for i := range out {
		out[i].color = i % trackKinds
		if out[i].doc > 0 {
			out[i].label += " (agent)"
		}
	}
	return out
}

func (p *picture) axis() {
	p.names.text("dim end", namesWide-8, 16, "true time")
	end := p.scale.place(p.t.End)
	for _, k := range p.scale.ticks(70) {
		p.d.line("grid", k.x, 24, k.x, p.height()-laneGap)
		p.d.text("tick", k.x, 16, since(k.at-p.t.Start))
	}
	p.d.line("axis", pad, 24, end, 24)
	for _, x := range p.scale.breaks {
		p.d.rect("gap", x-7, 20, 14, 8, "a long wait, drawn shorter than it was")
		p.d.text("tick", x, 28, "≈")
	}
	p.y = axisHigh
}

// height is how high all will be.
func (p *picture) height() float64 {
	h := axisHigh + float64(len(linkRows(p.t)))*linkHigh
	if len(linkRows(p.t)) > 0 {
		h += laneGap
	}
	for i := range p.t.Peers {
		_, levels := p.place(i)
		h += p.laneHigh(levels)
	}
	return h
}

// linkRow is one link that was not always whole.
type linkRow struct {
	a, b  int
	spans []sim.LinkSpan
}

func linkRows(t *sim.Timeline) []linkRow {
	var out []linkRow
	for _, s := range t.Links {
		a, b := min(s.A, s.B), max(s.A, s.B)
		i := slices.IndexFunc(out, func(r linkRow) bool { return r.a == a && r.b == b })
		if i < 0 {
			out = append(out, linkRow{a: a, b: b})
			i = len(out) - 1
		}
		out[i].spans = append(out[i].spans, s)
	}
	slices.SortFunc(out, func(x, y linkRow) int {
		if x.a != y.a {
			return x.a - y.a
		}
		return x.b - y.b
	})
	return out
}

// links draws a row for each link that was ever broken.
func (p *picture) links() {
	rows := linkRows(p.t)
	for _, r := range rows {
		a, b := p.t.Peers[r.a].Name, p.t.Peers[r.b].Name
		p.names.text("dim end", namesWide-8, p.y+12, cutText(a, 9)+" – "+cutText(b, 9))
		p.d.line("wire", pad, p.y+8, p.scale.place(p.t.End), p.y+8)
		for _, s := range r.spans {
			x, w := p.span(s.From, s.To)
			word := map[string]string{"cut": "cut", "silent": "nothing arrives", "one_way": "one way"}[s.State]
			tip := fmt.Sprintf("%s – %s: %s from %s to %s", a, b, word, since(s.From-p.t.Start), since(s.To-p.t.Start))
			if s.State == "one_way" {
				tip += fmt.Sprintf(": nothing of %s arrives at %s", p.t.Peers[s.A].Name, p.t.Peers[s.B].Name)
			}
			p.d.rect("broken "+s.State, x, p.y+1, w, linkHigh-4, tip)
			if textWide(word) < w-6 {
				p.d.text("onbroken", x+w/2, p.y+11.5, word)
			}
		}
		p.y += linkHigh
	}
	if len(rows) > 0 {
		p.y += laneGap
	}
}

func (p *picture) span(from, to int64) (x, w float64) {
	x = p.scale.place(from)
	return x, p.scale.place(to) - x
}

// failed marks where and when it went wrong, behind all lanes.
func (p *picture) failed() {
	if p.failure == nil {
		return
	}
	x := p.scale.place(p.t.Start + p.failure.At)
	p.d.line("failline", x, axisHigh-8, x, p.height()-laneGap)
	word := "✗ " + string(p.failure.Invariant)
	if p.failure.Invariant == sim.Expected {
		word = "✗ not as expected"
	}
	if p.failure.Peer != "" {
		word += " at " + p.failure.Peer
	}
	w := textWide(word) + 12
	left := min(max(x-w/2, 0), p.scale.width()-w)
	p.d.rect("failflag", left, axisHigh-34, w, 18, p.failure.Detail)
	p.d.text("onfail", left+w/2, axisHigh-21, word)
}
