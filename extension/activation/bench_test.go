package activation

import (
	"fmt"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// history makes n rows of an honest log with thirty names.
func history(b *testing.B, n int) []crdt.Row {
	rows := make([]crdt.Row, n)
	for i := range rows {
		kind := Activated
		if i%3 == 0 {
			kind = Deactivated
		}
		e := mustEvent(b, kind, fmt.Sprintf("ext%d", i%30), base+int64(i), nil, 0)
		rows[i] = row(e)
	}
	return rows
}

var sizes = []int{1000, 10000, 100000}

func BenchmarkActive(b *testing.B) {
	plain := map[string]bool{}
	for i := range 30 {
		plain[fmt.Sprintf("ext%d", i)] = i%3 != 0
	}
	on := 0
	b.Run("map", func(b *testing.B) {
		for b.Loop() {
			if plain["ext7"] {
				on++
			}
		}
	})
	for _, n := range sizes {
		l := NewLog()
		for _, r := range history(b, n) {
			l.Row(Store, r)
		}
		b.Run(fmt.Sprintf("log=%d", n), func(b *testing.B) {
			for b.Loop() {
				if l.Active("ext7") {
					on++
				}
			}
		})
	}
	_ = on
}

// BenchmarkRow is the cost of one more row; its growth with the log is the point.
func BenchmarkRow(b *testing.B) {
	const more = 10000
	for _, n := range sizes {
		rows := history(b, n+more)
		b.Run(fmt.Sprintf("log=%d", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				l := NewLog()
				for _, r := range rows[:n] {
					l.Row(Store, r)
				}
				b.StartTimer()
				for _, r := range rows[n:] {
					l.Row(Store, r)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*more), "ns/row")
		})
	}
}

func BenchmarkFold(b *testing.B) {
	for _, n := range sizes {
		rows := history(b, n)
		b.Run(fmt.Sprintf("log=%d", n), func(b *testing.B) {
			for b.Loop() {
				l := NewLog()
				for _, r := range rows {
					l.Row(Store, r)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
		})
	}
}
