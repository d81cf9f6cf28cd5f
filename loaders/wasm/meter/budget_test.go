package meter

import (
	"testing"

	"pgregory.net/rapid"
)

func TestBudget(t *testing.T) {
	b := NewBudget(100, 30)
	for _, step := range []struct {
		left, next, used int64
		ok               bool
	}{
		{-5, 30, 5, true},   // 35 of 100 are out
		{-10, 30, 45, true}, // 10 over the slice: 75 are out
		{-1, 24, 76, true},  // the last slice is what is left
		{-1, -1, 101, false},
	} {
		next, ok := b.Refill(step.left)
		if next != step.next || ok != step.ok || b.Used(next) != step.used {
			t.Fatalf("Refill(%d) = %d, %v and used %d; want %+v", step.left, next, ok, b.Used(next), step)
		}
	}
}

// However code pays and whatever the slices are, it may go on as long as it paid no more than the total,
// and what was used is what it paid.
func TestBudgetPays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(1, 10_000).Draw(t, "total")
		b := NewBudget(total, rapid.Int64Range(1, 12_000).Draw(t, "slice"))
		var counter, paid int64
		for _, cost := range rapid.SliceOf(rapid.Int64Range(1, 3_000)).Draw(t, "costs") {
			counter -= cost
			paid += cost
			ok := true
			if counter < 0 {
				counter, ok = b.Refill(counter)
			}
			if b.Used(counter) != paid {
				t.Fatalf("used %d, paid %d", b.Used(counter), paid)
			}
			if ok != (paid <= total) {
				t.Fatalf("may go on: %v, with %d paid of %d", ok, paid, total)
			}
			if !ok {
				return
			}
		}
	})
}
