package memory

import (
	"fmt"
	"math/rand"
	"testing"
)

// fill gives an agent n memories of about 30 words each.
func fill(x *actor, n int) {
	rng := rand.New(rand.NewSource(1))
	rows := make([]any, n)
	for i := range rows {
		var value string
		for range 30 {
			value += fmt.Sprintf("word%d ", int(rng.ExpFloat64()*200))
		}
		rows[i] = map[string]any{"key": fmt.Sprint("key", i), "value": value, "timestamp": i, "tags": []string{"a", "b"}}
	}
	x.peer.AddRows(x.agent.ID, "memory", rows...)
}

func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := alone(b)
			fill(x, n)
			x.recall("word1") // reads the document once
			for b.Loop() {
				x.recall("word5 word70 word300 word1000")
			}
		})
	}
}

// BenchmarkRecallAfterRemember is a recall that finds one new row in the document.
func BenchmarkRecallAfterRemember(b *testing.B) {
	x := alone(b)
	fill(x, 10_000)
	x.recall("word1")
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		x.remember(fmt.Sprint("new", i), "word5 and more")
		b.StartTimer()
		x.recall("word5 word70 word300 word1000")
	}
}

// BenchmarkFirstRecall reads a document of 10,000 memories.
func BenchmarkFirstRecall(b *testing.B) {
	x := alone(b)
	fill(x, 10_000)
	for b.Loop() {
		newActor(b, x.peer, x.session, x.agent).recall("word5")
	}
}
