package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// pairs are samples of two arms that took turns: i-th of ours beside i-th of base.
type pairs struct{ ours, base []float64 }

func (p *pairs) add(ours, base float64) {
	p.ours, p.base = append(p.ours, ours), append(p.base, base)
}

func (p *pairs) addTimes(ours, base time.Duration) { p.add(float64(ours), float64(base)) }

// quantile of unsorted values; the nearest rank.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

func (p *pairs) ratio(q float64) float64 { return quantile(p.ours, q) / quantile(p.base, q) }

// spread is the smallest and the greatest ratio of medians among ten stretches of the run (among
// single samples where there are few): how far the figure moves while the machine does other things.
func (p *pairs) spread() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	size := max(1, len(p.ours)/10)
	for from := 0; from+size <= len(p.ours) && from+size <= len(p.base); from += size {
		part := pairs{p.ours[from : from+size], p.base[from : from+size]}
		r := part.ratio(0.5)
		low, high = min(low, r), max(high, r)
	}
	return low, high
}

// unit says how to print a value.
type unit func(float64) string

func inTime(v float64) string {
	switch d := time.Duration(v); {
	case math.IsNaN(v):
		return ""
	case v < 1000:
		return fmt.Sprintf("%.1f ns", v)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", v/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.2f ms", v/1e6)
	default:
		return fmt.Sprintf("%.2f s", v/1e9)
	}
}

func inCount(v float64) string { return fmt.Sprintf("%.0f", v) }

func inTimes(v float64) string { return fmt.Sprintf("%.2f×", v) }

func inBytes(v float64) string {
	switch {
	case v < 10_000:
		return fmt.Sprintf("%.0f B", v)
	case v < 10e6:
		return fmt.Sprintf("%.0f kB", v/1e3)
	}
	return fmt.Sprintf("%.1f MB", v/1e6)
}

// row is one line of the table.
type row struct {
	what, against, size string
	pairs               pairs
	unit                unit
	aim, aim99          float64 // 0: none
	exact               bool    // the ratio must be the aim, which may be 0
}

type table struct {
	rows  []row
	notes []string
}

// note is a sentence below the table.
func (t *table) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *table) add(r row) {
	t.rows = append(t.rows, r)
	progress("%s, %s: %s", r.what, r.size, r.verdict())
}

func (r *row) verdict() string {
	low, high := r.pairs.spread()
	return fmt.Sprintf("%.2f (%.2f–%.2f) %s", r.pairs.ratio(0.5), low, high, r.judge())
}

// judge marks a miss.
func (r *row) judge() string {
	var missed []string
	if r.exact {
		if r.pairs.ratio(0.5) != r.aim {
			return "MISS"
		}
		return "ok"
	}
	if r.aim > 0 && r.pairs.ratio(0.5) > r.aim {
		missed = append(missed, "MISS")
	}
	if r.aim99 > 0 && r.pairs.ratio(0.99) > r.aim99 {
		missed = append(missed, "MISS p99")
	}
	if len(missed) == 0 && r.aim > 0 {
		return "ok"
	}
	return strings.Join(missed, ", ")
}

func (t *table) print(w io.Writer) {
	fmt.Fprintln(w, "| what | against | session | n | ours p50, p99 | base p50, p99 | ratio p50 (spread) | ratio p99 | aim | |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for i := range t.rows {
		r := &t.rows[i]
		p, aim := &r.pairs, ""
		if r.aim > 0 {
			aim = fmt.Sprintf("≤ %g", r.aim)
		}
		if r.aim99 > 0 {
			aim += fmt.Sprintf(", p99 ≤ %g", r.aim99)
		}
		if r.exact {
			aim = fmt.Sprintf("= %g", r.aim)
		}
		low, high := p.spread()
		fmt.Fprintf(w, "| %s | %s | %s | %d | %s, %s | %s, %s | **%.2f** (%.2f–%.2f) | %.2f | %s | %s |\n",
			r.what, r.against, r.size, len(p.ours),
			r.unit(quantile(p.ours, 0.5)), r.unit(quantile(p.ours, 0.99)),
			r.unit(quantile(p.base, 0.5)), r.unit(quantile(p.base, 0.99)),
			p.ratio(0.5), low, high, p.ratio(0.99), aim, r.judge())
	}
	for _, n := range t.notes {
		fmt.Fprintf(w, "\n%s\n", n)
	}
}
