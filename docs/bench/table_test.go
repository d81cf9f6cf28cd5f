package main

import (
	"math"
	"strings"
	"testing"
)

func TestQuantileAndRatio(t *testing.T) {
	var p pairs
	for i := range 100 {
		p.add(float64(2*(99-i)), float64(i))
	}
	if got := quantile(p.base, 0.5); got != 50 {
		t.Errorf("median %v", got)
	}
	if got := quantile(p.base, 0.99); got != 99 {
		t.Errorf("p99 %v", got)
	}
	if got := p.ratio(0.5); got != 2 {
		t.Errorf("ratio %v", got)
	}
	if !math.IsNaN(quantile(nil, 0.5)) {
		t.Error("a median of nothing")
	}
}

// The spread shows a figure that moved during the run, which the ratio of all samples hides.
func TestSpread(t *testing.T) {
	var steady, moved pairs
	for i := range 100 {
		steady.add(3, 2)
		moved.add(float64(1+i/50), 1)
	}
	if low, high := steady.spread(); low != 1.5 || high != 1.5 {
		t.Errorf("spread of a steady run: %v to %v", low, high)
	}
	if low, high := moved.spread(); low != 1 || high != 2 {
		t.Errorf("spread of a run that moved: %v to %v", low, high)
	}
}

func TestMissesAreMarked(t *testing.T) {
	p := pairs{ours: []float64{3, 3, 3, 30}, base: []float64{2, 2, 2, 2}}
	for _, c := range []struct {
		aim, aim99 float64
		want       string
	}{{0, 0, ""}, {2, 0, "ok"}, {1, 0, "MISS"}, {2, 20, "ok"}, {2, 6, "MISS p99"}, {1, 6, "MISS, MISS p99"}} {
		r := row{pairs: p, aim: c.aim, aim99: c.aim99}
		if got := r.judge(); got != c.want {
			t.Errorf("aims %v and %v: %q, want %q", c.aim, c.aim99, got, c.want)
		}
	}
	var b strings.Builder
	tab := table{rows: []row{{what: "x", against: "y", size: "1k", pairs: p, unit: inTime, aim: 1}}}
	tab.print(&b)
	if !strings.Contains(b.String(), "| x | y | 1k | 4 | 3.0 ns, 30.0 ns | 2.0 ns, 2.0 ns | **1.50** (1.50–15.00) | 15.00 | ≤ 1 | MISS |") {
		t.Errorf("table:\n%s", b.String())
	}
}

func TestParseOwnSync(t *testing.T) {
	const out = "goos: linux\nBenchmarkOwnSync-2   \t       1\t 481153577 ns/op\t   2564623 wire-B\nPASS\n"
	ns, bytes, err := parseOwnSync([]byte(out))
	if err != nil || ns != 481153577 || bytes != 2564623 {
		t.Errorf("read %v ns, %v bytes: %v", ns, bytes, err)
	}
	for _, bad := range []string{"", "PASS", "BenchmarkOwnSync-2 1 12 ns/op", "BenchmarkOwnSync-2 1 x ns/op 3 wire-B"} {
		if _, _, err := parseOwnSync([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestUnits(t *testing.T) {
	for got, want := range map[string]string{
		inTime(8.64): "8.6 ns", inTime(277_400): "277 µs", inTime(5_790_000): "5.79 ms", inTime(16.06e9): "16.06 s",
		inBytes(432): "432 B", inBytes(958_000): "958 kB", inBytes(28.9e6): "28.9 MB",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestExactAims(t *testing.T) {
	for _, c := range []struct {
		ours, base, aim float64
		want            string
	}{{50, 50, 1, "ok"}, {49, 50, 1, "MISS"}, {0, 50, 0, "ok"}, {1, 50, 0, "MISS"}} {
		r := row{pairs: pairs{[]float64{c.ours}, []float64{c.base}}, aim: c.aim, exact: true}
		if got := r.judge(); got != c.want {
			t.Errorf("%v: %q", c, got)
		}
	}
	var b strings.Builder
	tab := table{rows: []row{{pairs: pairs{[]float64{0}, []float64{50}}, unit: inCount, exact: true}}}
	tab.note("left out: %s", "a reason")
	tab.print(&b)
	if !strings.Contains(b.String(), "| 0, 0 | 50, 50 | **0.00** (0.00–0.00) | 0.00 | = 0 | ok |") || !strings.HasSuffix(b.String(), "\nleft out: a reason\n") {
		t.Errorf("table:\n%s", b.String())
	}
}

func TestNumbers(t *testing.T) {
	if got, err := numbers("2,5,10"); err != nil || len(got) != 3 || got[2] != 10 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "x", "0", "1,", "-1"} {
		if _, err := numbers(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
