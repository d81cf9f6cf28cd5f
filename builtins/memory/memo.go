package memory

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// memo is one memory: a row {key, value, timestamp, tags} of the store memory. It never changes.
type memo struct {
	id    crdt.RowID
	key   string
	value string
	tags  []string
	at    int64 // ms since 1970

	length int // words
}

// row is the form in the store.
type row struct {
	Key   string   `json:"key"`
	Value string   `json:"value"`
	At    *int64   `json:"timestamp"`
	Tags  []string `json:"tags"`
}

// readMemo reads a row; false for what is no memory.
func readMemo(r crdt.Row) (*memo, bool) {
	var m row
	if json.Unmarshal([]byte(r.Value), &m) != nil || m.Key == "" || m.At == nil {
		return nil, false
	}
	return &memo{id: r.ID, key: m.Key, value: m.Value, tags: m.Tags, at: *m.At}, true
}

// newer reports whether m counts before o where they have one key: the later timestamp, then the
// greater row id.
func (m *memo) newer(o *memo) bool { return compareMemos(m, o) < 0 }

// compareMemos sorts the newest first.
func compareMemos(a, b *memo) int {
	return cmp.Or(cmp.Compare(b.at, a.at), slices.Compare(b.id[:], a.id[:]))
}

// words counts how often each word occurs in key, value and tags, and all of them together.
func (m *memo) words() (count map[string]int, length int) {
	count = map[string]int{}
	add := func(t string) bool {
		count[t]++
		length++
		return true
	}
	tokens(m.key, add)
	tokens(m.value, add)
	for _, t := range m.tags {
		tokens(t, add)
	}
	return count, length
}

// has reports whether the memory has all the tags, in any case.
func (m *memo) has(tags []string) bool {
	for _, want := range tags {
		if !slices.ContainsFunc(m.tags, func(t string) bool { return strings.EqualFold(t, want) }) {
			return false
		}
	}
	return true
}

// text is what is embedded.
func (m *memo) text() string {
	const most = 8 << 10
	s := m.key + "\n" + m.value + "\n" + strings.Join(m.tags, " ")
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}
