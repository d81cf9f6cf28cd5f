package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

const (
	barWidth = 30
	barPause = 100 * time.Millisecond
)

// bar shows on a terminal how far long work has come; elsewhere it is silent.
type bar struct {
	a     *app
	label string
	last  time.Time
	shown bool
}

func (a *app) progress(label string) *bar { return &bar{a: a, label: label} }

func (b *bar) show(p control.Progress) {
	now := b.a.now()
	if !b.a.errTTY || b.a.json || (b.shown && now.Sub(b.last) < barPause && p.Done != p.Total) {
		return
	}
	b.last, b.shown = now, true
	fmt.Fprintf(b.a.err, "\r%s\x1b[K", progressLine(b.label, p))
}

func progressLine(label string, p control.Progress) string {
	if p.Total <= 0 {
		return fmt.Sprintf("%s %d %s", label, p.Done, clean(p.Unit))
	}
	part := min(max(float64(p.Done)/float64(p.Total), 0), 1)
	full := int(part * barWidth)
	return fmt.Sprintf("%s [%s%s] %3.0f %% of %d %s", label, strings.Repeat("#", full), strings.Repeat(".", barWidth-full), part*100, p.Total, clean(p.Unit))
}

// end takes the bar away.
func (b *bar) end() {
	if b.shown {
		fmt.Fprint(b.a.err, "\r\x1b[K")
	}
}
