package main

import "fmt"

// growth keeps the samples of each size, to set the largest against the smallest.
type growth struct {
	labels              []string
	writes, query, live []pairs
}

func (g *growth) add(label string, write, query pairs) {
	g.labels = append(g.labels, label)
	g.writes, g.query = append(g.writes, write), append(g.query, query)
}

// report adds the growth rows: the same thing in a large session against a small one.
func (g *growth) report(t *table) {
	for i := 1; i < len(g.labels); i++ {
		size := fmt.Sprintf("%s / %s", g.labels[i], g.labels[0])
		for _, x := range []struct {
			what string
			all  []pairs
		}{{"growth of a local write", g.writes}, {"growth of a live event (QUIC)", g.live}, {"growth of the active-set query", g.query}} {
			p := pairs{ours: x.all[i].ours, base: x.all[0].ours}
			t.add(row{what: x.what, against: "the smaller session", size: size, pairs: p, unit: inTime, aim: 1.5})
		}
	}
}
