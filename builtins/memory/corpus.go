package memory

import (
	"slices"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// corpus is what is known of the memories of one document: the one of each key that counts, and where
// each word occurs. It follows the document by what was added. Safe for concurrent use.
type corpus struct {
	mu    sync.RWMutex
	store string
	seen  map[crdt.RowID]bool // rows that were read; also those that are no memory
	bytes int                 // of these rows

	docs  []*memo        // nil for those that a newer one of their key replaced
	byKey map[string]int // index in docs
	words map[string]*word
	live  int // memories that count
	total int // their words
	dead  int

	vecMu   sync.Mutex
	vectors map[crdt.RowID][]float32
}

// word is where a word occurs.
type word struct {
	at   []occurrence
	live int // occurrences in memories that count
}

type occurrence struct{ doc, times int32 }

func newCorpus(store string) *corpus {
	c := &corpus{store: store, vectors: map[crdt.RowID][]float32{}}
	c.reset()
	return c
}

func (c *corpus) reset() {
	c.seen, c.byKey, c.words = map[crdt.RowID]bool{}, map[string]int{}, map[string]*word{}
	c.docs, c.bytes, c.live, c.total, c.dead = nil, 0, 0, 0, 0
}

// follow reads what the document has and the corpus has not. Deleted rows, and many that were
// replaced, make it start over.
func (c *corpus) follow(v *crdt.View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := 0
	var fresh []crdt.Row
	for r := range v.Rows(c.store) {
		if c.seen[r.ID] {
			known++
		} else {
			fresh = append(fresh, r)
		}
	}
	if known < len(c.seen) || c.dead > c.live+1000 {
		c.reset()
		fresh = slices.AppendSeq(make([]crdt.Row, 0, v.RowCount(c.store)), v.Rows(c.store))
	}
	for _, r := range fresh {
		c.seen[r.ID] = true
		c.bytes += len(r.Value)
		if m, ok := readMemo(r); ok {
			c.add(m)
		}
	}
}

func (c *corpus) add(m *memo) {
	if i, there := c.byKey[m.key]; there {
		if !m.newer(c.docs[i]) {
			return
		}
		c.remove(i)
	}
	at := int32(len(c.docs))
	c.byKey[m.key] = len(c.docs)
	c.docs = append(c.docs, m)
	var count map[string]int
	count, m.length = m.words()
	for t, n := range count {
		w := c.words[t]
		if w == nil {
			w = &word{}
			c.words[t] = w
		}
		w.at = append(w.at, occurrence{at, int32(n)})
		w.live++
	}
	c.live++
	c.total += m.length
}

func (c *corpus) remove(i int) {
	m := c.docs[i]
	count, _ := m.words()
	for t := range count {
		c.words[t].live--
	}
	c.docs[i] = nil
	c.live--
	c.dead++
	c.total -= m.length
}

// cost is what keeping the corpus takes, in bytes, roughly.
func (c *corpus) cost() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return 3*c.bytes + 200*len(c.seen) + c.vectorBytes()
}

// newest is the memory of a key that counts.
func (c *corpus) newest(key string) (*memo, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	i, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	return c.docs[i], true
}

// stats are what the score of a memory depends on beside itself; those of several corpora add up.
type stats struct {
	live, total int
	df          []int // of each word of the query
}

func (c *corpus) stats(query []string) stats {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := stats{c.live, c.total, make([]int, len(query))}
	for i, t := range query {
		if w := c.words[t]; w != nil {
			s.df[i] = w.live
		}
	}
	return s
}

func (s *stats) add(o stats) {
	s.live += o.live
	s.total += o.total
	for i := range s.df {
		s.df[i] += o.df[i]
	}
}

// search calls yield for each memory with all the tags that has a word of the query, with its score.
// yield must not come back to the corpus.
func (c *corpus) search(query []string, s stats, tags []string, yield func(*memo, float64)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	average := float64(s.total) / float64(max(s.live, 1))
	scores := make([]float64, len(c.docs))
	for i, t := range query {
		w := c.words[t]
		if w == nil {
			continue
		}
		rarity := idf(s.live, s.df[i])
		for _, o := range w.at {
			if m := c.docs[o.doc]; m != nil {
				scores[o.doc] += weight(rarity, int(o.times), m.length, average)
			}
		}
	}
	for i, score := range scores {
		if score > 0 && c.docs[i].has(tags) {
			yield(c.docs[i], score)
		}
	}
}

// count is the number of memories with all the tags.
func (c *corpus) count(tags []string) int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(tags) == 0 {
		return c.live
	}
	n := 0
	for _, m := range c.docs {
		if m != nil && m.has(tags) {
			n++
		}
	}
	return n
}

// all returns the memories with all the tags, in no order.
func (c *corpus) all(tags []string) []*memo {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]*memo, 0, c.live)
	for _, m := range c.docs {
		if m != nil && m.has(tags) {
			out = append(out, m)
		}
	}
	return out
}
