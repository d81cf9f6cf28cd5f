package routine

import (
	"fmt"
	"testing"
	"time"
)

func BenchmarkNextCron(b *testing.B) {
	now := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ name, expr, zone string }{
		{"utc", "0 9 * * *", ""},
		{"berlin", "30 2 * * MON-FRI", "Europe/Berlin"},
		{"leap", "0 0 29 2 *", "Europe/Berlin"},
		{"never", "0 0 30 2 *", ""},
	} {
		trigger := must(Cron(c.expr, c.zone))
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				Next(trigger, State{}, now)
			}
		})
	}
}

// A reload of a scope of 1,000 routines in which nothing changed.
func BenchmarkReload(b *testing.B) {
	s := &rows{fields: map[Key]map[string]string{}, scopes: map[Scope]bool{}, fail: map[string]int{}}
	for i := range 1000 {
		r := NewRoutine(fmt.Sprint(i), cronOf("0 9 * * *"), "ok", nil)
		s.fields[Key{Global(), r.ID}] = r.Fields()
	}
	e := New(Config{Store: s, Clock: &skewed{}})
	for b.Loop() {
		if err := e.Reload(b.Context(), Global()); err != nil {
			b.Fatal(err)
		}
	}
}
