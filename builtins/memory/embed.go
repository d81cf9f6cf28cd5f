package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
)

const (
	// maxEmbedded is how many memories, the newest, are compared by meaning: more would take minutes
	// at the first search.
	maxEmbedded = 2048
	batch       = 64 // texts of one call of the embedder
)

// byMeaning ranks by the similarity of vectors. Where the embedder fails the words must do; the note
// says so.
func (f finder) byMeaning(ctx context.Context, places []*place, q query) ([]hit, string) {
	if err := f.ask(ctx, &q); err != nil {
		return nil, note(err)
	}
	list := newest(places, q.tags, maxEmbedded)
	unknown := slices.DeleteFunc(slices.Clone(list), func(h hit) bool { return h.in.vector(h.memo) != nil })
	for part := range slices.Chunk(unknown, batch) {
		if err := f.learn(ctx, part); err != nil {
			return nil, note(err)
		}
	}
	var out []hit
	for _, h := range list {
		if h.score = cosine(q.asked, h.in.vector(h.memo)); h.score > 0 {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, compareHits)
	return out, ""
}

// ask embeds the text of a query unless that is done.
func (f finder) ask(ctx context.Context, q *query) error {
	if q.asked != nil {
		return nil
	}
	vectors, err := f.embed(ctx, []string{q.text})
	if err == nil {
		q.asked = vectors[0]
	}
	return err
}

func note(err error) string {
	return "searched by words only, the embedder failed: " + bank.Line(err.Error(), 200)
}

// learn embeds memories and keeps their vectors.
func (f finder) learn(ctx context.Context, list []hit) error {
	texts := make([]string, len(list))
	for i, h := range list {
		texts[i] = h.text()
	}
	vectors, err := f.embed(ctx, texts)
	if err != nil {
		return err
	}
	for i, h := range list {
		h.in.keep(h.memo, vectors[i])
	}
	return nil
}

func (f finder) embed(ctx context.Context, texts []string) ([][]float32, error) {
	out, err := f.peer.Embedder.Embed(ctx, texts)
	if err == nil && len(out) != len(texts) {
		err = fmt.Errorf("embed: %d vectors for %d texts", len(out), len(texts))
	}
	return out, err
}

// vector is that of a memory, nil if it is not known.
func (c *corpus) vector(m *memo) []float32 {
	c.vecMu.Lock()
	defer c.vecMu.Unlock()
	return c.vectors[m.id]
}

func (c *corpus) keep(m *memo, v []float32) {
	c.vecMu.Lock()
	defer c.vecMu.Unlock()
	if len(c.vectors) >= 2*maxEmbedded {
		clear(c.vectors) // most of them are of memories that were replaced
	}
	c.vectors[m.id] = v
}

// vectorBytes is what the vectors take, all being as long as the first.
func (c *corpus) vectorBytes() int {
	c.vecMu.Lock()
	defer c.vecMu.Unlock()
	for _, v := range c.vectors {
		return 4 * len(v) * len(c.vectors)
	}
	return 0
}
