package main

import (
	"math"
	"slices"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// timeScale says where on the picture a true time is. Longer is always further, but not in proportion:
// what happens within milliseconds can be told apart, and a quiet hour does not push it off the page.
type timeScale struct {
	at     []int64   // known times, ascending
	x      []float64 // where they are
	breaks []float64 // where a wait is drawn shorter than it was
	marked []int64   // times worth a label on the axis, ascending
}

// Widths of the picture.
const (
	secondWide = 46.0  // of a gap of one second; wider goes with the square root
	gapMost    = 150.0 // of any gap
	gapLeast   = 2.0
	eventWide  = 23.0 // between two events of one peer
	narrowest  = 980.0
	pad        = 14.0
	padRight   = 92.0 // for what happens at the end and its label
)

// newScale places all that happened; events are those of the picture, by true time.
func newScale(t *sim.Timeline, events []simEvent) *timeScale {
	s := &timeScale{at: moments(t, events), marked: []int64{t.Start}}
	gaps := make([]float64, len(s.at)) // in front of each
	for i := 1; i < len(s.at); i++ {
		secs := float64(s.at[i]-s.at[i-1]) / 1000
		gaps[i] = min(max(secondWide*math.Sqrt(secs), gapLeast), gapMost)
	}
	last := map[int]int{} // lane → index of its newest event
	for _, e := range events {
		i, _ := slices.BinarySearch(s.at, e.at)
		s.marked = append(s.marked, e.at)
		before, any := last[e.lane]
		last[e.lane] = i
		if !any || before == i {
			continue
		}
		room := 0.0
		for _, g := range gaps[before+1 : i+1] {
			room += g
		}
		gaps[i] += max(0, eventWide-room)
	}
	sum := 0.0
	for _, g := range gaps {
		sum += g
	}
	s.marked = append(s.marked, t.End)
	stretch := max(0.78, min(2.5, narrowest/max(sum, 1)))
	x := pad
	for i, g := range gaps {
		x += g * stretch
		s.x = append(s.x, x)
		if i > 0 && g == gapMost {
			s.breaks = append(s.breaks, x-g*stretch/2)
		}
	}
	return s
}

// moments are all times at which something begins, ends or changes.
func moments(t *sim.Timeline, events []simEvent) []int64 {
	at := []int64{t.Start, t.End}
	for _, e := range events {
		at = append(at, e.at)
	}
	for _, l := range t.Peers {
		for _, b := range l.Beliefs {
			at = append(at, b.At)
		}
		for _, d := range l.Down {
			at = append(at, d.From, d.To)
		}
		for _, c := range l.Clock {
			at = append(at, c.True)
		}
	}
	for _, l := range t.Links {
		at = append(at, l.From, l.To)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// place is where a time is; between two known times it is in proportion.
func (s *timeScale) place(at int64) float64 {
	i, found := slices.BinarySearch(s.at, at)
	switch {
	case found:
		return s.x[i]
	case i == 0:
		return s.x[0]
	case i == len(s.at):
		return s.x[i-1]
	}
	part := float64(at-s.at[i-1]) / float64(s.at[i]-s.at[i-1])
	return s.x[i-1] + part*(s.x[i]-s.x[i-1])
}

func (s *timeScale) width() float64 { return s.x[len(s.x)-1] + padRight }

// tick is a place on the axis with its true time.
type tick struct {
	x  float64
	at int64
}

// ticks are times at which something was done, with room for a label each.
func (s *timeScale) ticks(room float64) []tick {
	var out []tick
	for _, at := range s.marked {
		if x := s.place(at); len(out) == 0 || x >= out[len(out)-1].x+room {
			out = append(out, tick{x, at})
		}
	}
	return out
}
