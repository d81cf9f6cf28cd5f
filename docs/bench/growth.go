package main

import "fmt"

// growth keeps the samples of each size, to set a larger one against the smallest. They were taken
// minutes apart, so each is first divided by what the plain arm, which does not grow, took then.
type growth struct {
	labels              []string
	writes, live, query []pairs
}

func (g *growth) add(label string, write, live, query pairs) {
	g.labels = append(g.labels, label)
	g.writes, g.live, g.query = append(g.writes, write), append(g.live, live), append(g.query, query)
}

// relative divides the samples by the median of their plain arm.
func relative(p pairs) []float64 {
	base := quantile(p.base, 0.5)
	out := make([]float64, len(p.ours))
	for i, v := range p.ours {
		out[i] = v / base
	}
	return out
}

func (g *growth) report(t *table) {
	for i := 1; i < len(g.labels); i++ {
		size := fmt.Sprintf("%s / %s", g.labels[i], g.labels[0])
		for _, x := range []struct {
			what string
			all  []pairs
		}{{"growth of a local write", g.writes}, {"growth of a live event, QUIC", g.live}, {"growth of the active-set query", g.query}} {
			p := pairs{ours: relative(x.all[i]), base: relative(x.all[0])}
			t.add(row{what: x.what, against: "the smallest session", size: size, pairs: p, unit: inTimes, aim: 1.5})
		}
	}
}
