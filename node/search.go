package node

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// hitBytes bounds how much large content goes whole into one answer of a search.
const hitBytes = 8 << 20

// What an excerpt shows before and from the word that was found, in characters.
const (
	excerptBefore = 120
	excerptFrom   = 280
)

// sessionSearch finds entries whose sender and content hold all words, in any case, newest first.
func (n *Node) sessionSearch(ctx context.Context, p control.SessionSearchParams) (control.List[control.Hit], error) {
	words := strings.Fields(strings.ToLower(p.Query))
	if len(words) == 0 {
		return nil, usage("give a word to look for", "search: the query is empty")
	}
	if p.Limit <= 0 {
		p.Limit = 50
	}
	var ids []crdt.DocID
	if p.Session != "" {
		id, err := n.findSession(p.Session)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	} else {
		for _, c := range n.sessions() {
			if id, err := crdt.ParseDocID(c.id); err == nil {
				ids = append(ids, id)
			}
		}
	}
	q := &searcher{n: n, words: words, limit: p.Limit, whole: hitBytes}
	out := control.List[control.Hit]{}
	for _, id := range ids {
		hits, err := q.search(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, hits...)
	}
	return newestHits(out, p.Limit), nil
}

// searcher is one search.
type searcher struct {
	n     *Node
	words []string // in lower case
	limit int
	whole int64 // bytes of large content that may still go whole into the answer
}

// search finds entries of one session, newest first. Large content is read outside of the lock, one at a
// time.
func (q *searcher) search(ctx context.Context, id crdt.DocID) ([]control.Hit, error) {
	var out []control.Hit
	name, end := q.n.docNames.of(id.String()), -1
	for len(out) < q.limit && end != 0 {
		var page []crdt.Entry
		err := q.n.repo.View(ctx, id, func(v *crdt.View) error {
			s := crdt.SessionView{View: v}
			if end < 0 {
				end = s.Log().Len()
			}
			from := max(0, end-logPage)
			page, end = s.Entries(from, end-from), from
			return nil
		})
		if err != nil {
			return nil, err
		}
		for i := len(page) - 1; i >= 0 && len(out) < q.limit; i-- {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if h, ok := q.hit(ctx, page[i]); ok {
				h.Session, h.SessionName = id.String(), name
				out = append(out, h)
			}
		}
	}
	return out, nil
}

// hit looks for the words in one entry, in all of its content that is here.
func (q *searcher) hit(ctx context.Context, e crdt.Entry) (control.Hit, bool) {
	h := control.Hit{Entry: q.n.entryOut(ctx, e)}
	low := strings.ToLower(h.Content)
	text := strings.ToLower(h.Sender) + " "
	for _, w := range q.words {
		if !strings.Contains(low, w) && !strings.Contains(text, w) {
			return h, false
		}
	}
	if h.ContentCID == "" {
		return h, true
	}
	h.Excerpt = excerpt(h.Content, low, q.words)
	if size := int64(len(h.Content)); size <= q.whole {
		q.whole -= size
	} else {
		h.Content, h.ContentCut = e.Content, true
	}
	return h, true
}

// excerpt is the part of a text around the first of the words in it. low is the text in lower case, which
// has as many characters.
func excerpt(text, low string, words []string) string {
	at := -1
	for _, w := range words {
		if i := strings.Index(low, w); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	found := utf8.RuneCountInString(low[:max(at, 0)])
	from, to := max(0, found-excerptBefore), found+excerptFrom
	begin, end, n := 0, len(text), 0
	for i := range text {
		if n == from {
			begin = i
		}
		if n == to {
			end = i
			break
		}
		n++
	}
	out := strings.TrimSpace(text[begin:end])
	if begin > 0 {
		out = "…" + out
	}
	if end < len(text) {
		out += "…"
	}
	return out
}

func newestHits(hits control.List[control.Hit], limit int) control.List[control.Hit] {
	slices.SortStableFunc(hits, func(a, b control.Hit) int {
		switch {
		case a.Timestamp > b.Timestamp:
			return -1
		case a.Timestamp < b.Timestamp:
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return hits[:min(limit, len(hits))]
}
