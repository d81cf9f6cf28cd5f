package memory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// meanings is an embedder for which a text is near to another when they are of the same things.
type meanings struct {
	mu    sync.Mutex
	err   error
	short bool
	texts int
	calls int
}

func (m *meanings) Embed(_ context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.texts += len(texts)
	if m.err != nil {
		return nil, m.err
	}
	var out [][]float32
	for _, t := range texts {
		v := []float32{0, 0, 0}
		for i, things := range []string{"dog puppy hound", "car truck", "nan"} {
			for _, w := range words(t) {
				if strings.Contains(things, w) {
					v[i]++
				}
			}
		}
		if v[2] > 0 {
			v[2] = float32(math.NaN())
		}
		out = append(out, v)
	}
	if m.short {
		out = out[:len(out)-1]
	}
	return out, nil
}

func TestRecallByMeaning(t *testing.T) {
	x := alone(t)
	x.remember("pet", "Rex is a hound")
	x.remember("ride", "the old truck")
	x.remember("note", "puppy")
	if keys, _ := x.recall("puppy"); keys != "note" {
		t.Fatalf("without an embedder: %s", keys)
	}
	m := &meanings{}
	x.peer.Handles.Embedder = m
	if keys, _ := x.recall("puppy"); keys != "note pet" {
		t.Errorf("both lists lead with note; meaning adds pet and not ride: %s", keys)
	}
	if m.texts != 4 {
		t.Errorf("%d texts were embedded, want the query and 3 memories", m.texts)
	}
	if x.recall("puppy"); m.texts != 5 {
		t.Errorf("%d texts after a second search, which knows the memories", m.texts)
	}
	if keys, _ := x.recall(""); keys != "note ride pet" || m.texts != 5 {
		t.Errorf("an empty query needs no meaning: %s, %d", keys, m.texts)
	}
	if keys, _ := x.recall("nan nan"); keys != "" {
		t.Errorf("a vector of nonsense finds %s", keys)
	}

	x.peer.Say(x.session, crdt.EntryMessage, "puppy")
	calls := m.calls
	if got := keysOf(x.tail(x.room())); got != "note pet" {
		t.Errorf("recalled by itself: %q", got)
	}
	if m.calls != calls+1+1 { // the query, and the memories for the other instance's cache
		t.Logf("%d calls", m.calls-calls)
	}
	for _, broken := range []*meanings{{err: errors.New("no\nroute")}, {short: true}} {
		x.peer.Handles.Embedder = broken
		x.remember("pet", fmt.Sprintf("hound %p", broken))
		keys, out := x.recall("puppy")
		if keys != "note" && !strings.HasPrefix(keys, "note ") || !strings.Contains(out, "[searched by words only, the embedder failed: ") {
			t.Errorf("a broken embedder: %q", out)
		}
		if got := keysOf(x.tail(x.room())); got != "note" {
			t.Errorf("a broken embedder: recalled by itself %q", got)
		}
	}
}

func TestManyMemoriesByMeaning(t *testing.T) {
	x := alone(t)
	var rows []any
	for i := range maxEmbedded + 50 {
		rows = append(rows, map[string]any{"key": fmt.Sprint("k", i), "value": "dog", "timestamp": i, "tags": []string{}})
	}
	x.peer.AddRows(x.agent.ID, "memory", rows...)
	m := &meanings{}
	x.peer.Handles.Embedder = m
	if keys, _ := x.recall("puppy", "limit", 1); keys != fmt.Sprint("k", maxEmbedded+49) {
		t.Errorf("the newest of equals: %s", keys)
	}
	if m.texts != maxEmbedded+1 || m.calls != 1+maxEmbedded/batch {
		t.Errorf("%d texts in %d calls", m.texts, m.calls)
	}
}
