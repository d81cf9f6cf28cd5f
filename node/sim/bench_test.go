package sim

import "testing"

// BenchmarkSeeds: one run is one operation; seeds/s is what a core does.
func BenchmarkSeeds(b *testing.B) {
	for _, c := range []struct {
		name string
		opt  Options
	}{
		{"3x60", Options{Core: CoreNever}},
		{"3x60 core", Options{Core: CoreAlways}},
		{"5x200", Options{Peers: 5, Steps: 200, Core: CoreNever}},
	} {
		b.Run(c.name, func(b *testing.B) {
			lab := newLab(b)
			frames := 0
			opt := c.opt
			for b.Loop() {
				opt.Seed++
				r := play(b, lab, opt)
				frames += r.Messages
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "seeds/s")
			b.ReportMetric(float64(frames)/float64(b.N), "frames/op")
		})
	}
}
