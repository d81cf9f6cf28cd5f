package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Limits of one search.
const (
	defaultHits = 10
	maxHits     = 10_000
	maxQuery    = 8 << 10 // bytes of the text that count
	maxTerms    = 256
)

// query is one search. An empty text finds the newest.
type query struct {
	text  string
	tags  []string
	limit int

	asked []float32 // the text's vector where it is known
	plain bool      // by words only
}

// hit is one memory that was found, and where.
type hit struct {
	*memo
	in    *place
	score float64
}

// result tells what was found. The counts tell an empty store, tags that nothing has and a query that
// finds nothing apart.
type result struct {
	hits   []hit
	stored int // memories that count
	tagged int // of these, with all the tags
	note   string
}

// finder searches documents.
type finder struct {
	peer  *extension.Peer
	cache *bank.Cache[*corpus]
}

// cacheBudget is how much the corpora of all documents may take together, in bytes, roughly.
const cacheBudget = 128 << 20

func newCache() *bank.Cache[*corpus] { return bank.NewCache[*corpus](cacheBudget) }

// corpus returns that of a document as v shows it.
func (f finder) corpus(v *crdt.View) *corpus {
	return f.cache.Get(v, func(c *corpus) (*corpus, int) {
		if c == nil {
			c = newCorpus(bank.Memory().Rows)
		}
		c.follow(v)
		return c, c.cost()
	})
}

// place is a source and what is known of its memories.
type place struct {
	from bank.Source
	*corpus
}

// search looks through the sources. Those that are not on this peer are left out.
func (f finder) search(ctx context.Context, sources []bank.Source, q query) (result, error) {
	places, err := f.places(ctx, sources)
	if err != nil {
		return result{}, err
	}
	if q.text = strings.TrimSpace(q.text); len(q.text) > maxQuery {
		q.text = strings.ToValidUTF8(q.text[:maxQuery], "")
	}
	var r result
	for _, p := range places {
		r.stored += p.stats(nil).live
		r.tagged += p.count(q.tags)
	}
	q.limit = min(q.limit, maxHits)
	switch {
	case q.text == "":
		r.hits = newest(places, q.tags, q.limit)
	case f.peer.Embedder == nil || q.plain:
		r.hits = byWords(places, terms(maxTerms, q.text), q.tags, q.limit)
	default:
		// Where ranks are merged, the list is as long as it may ever be told.
		r.hits = byWords(places, terms(maxTerms, q.text), q.tags, maxHits)
		var like []hit
		if like, r.note = f.byMeaning(ctx, places, q); len(like) > 0 {
			r.hits = fuse(r.hits, like)
		}
		r.hits = r.hits[:min(len(r.hits), q.limit)]
	}
	return r, nil
}

func (f finder) places(ctx context.Context, sources []bank.Source) ([]*place, error) {
	var out []*place
	for _, s := range sources {
		if !s.Here {
			continue
		}
		doc, err := s.Open(ctx)
		if err != nil {
			return nil, err
		}
		err = doc.View(ctx, func(v *crdt.View) error { out = append(out, &place{s, f.corpus(v)}); return nil })
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// newest are the n newest memories with all the tags.
func newest(places []*place, tags []string, n int) []hit {
	out := best{n: n}
	for _, p := range places {
		for _, m := range p.all(tags) {
			out.add(hit{memo: m, in: p})
		}
	}
	return out.ranked()
}

// byWords are the n best by BM25 over all the places as one.
func byWords(places []*place, words, tags []string, n int) []hit {
	s := stats{df: make([]int, len(words))}
	for _, p := range places {
		s.add(p.stats(words))
	}
	out := best{n: n}
	for _, p := range places {
		p.search(words, s, tags, func(m *memo, score float64) { out.add(hit{m, p, score}) })
	}
	return out.ranked()
}

// best keeps the n best of the hits it is given.
type best struct {
	n    int
	hits []hit // sorted up to at; behind that what came since
	at   int
}

func (b *best) add(h hit) {
	if b.at == b.n && (b.n == 0 || compareHits(b.hits[b.n-1], h) < 0) {
		return
	}
	if b.hits = append(b.hits, h); len(b.hits) >= 2*b.n+64 {
		b.ranked()
	}
}

func (b *best) ranked() []hit {
	slices.SortFunc(b.hits, compareHits)
	b.hits = b.hits[:min(len(b.hits), b.n)]
	b.at = len(b.hits)
	return b.hits
}

// compareHits sorts the best first, then the newest, then by source.
func compareHits(a, b hit) int {
	return cmp.Or(cmp.Compare(b.score, a.score), compareMemos(a.memo, b.memo), slices.Compare(a.in.from.ID[:], b.in.from.ID[:]))
}

// fuse merges rankings by reciprocal rank.
func fuse(lists ...[]hit) []hit {
	type key struct {
		in  *place
		row crdt.RowID
	}
	at := map[key]int{}
	var out []hit
	for _, list := range lists {
		for rank, h := range list {
			k := key{h.in, h.id}
			i, there := at[k]
			if !there {
				i = len(out)
				at[k] = i
				out = append(out, hit{memo: h.memo, in: h.in})
			}
			out[i].score += fused(rank + 1)
		}
	}
	slices.SortFunc(out, compareHits)
	return out
}
