package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// contents looks after the large content of sessions: it brings here what is missing, tells the other
// peers what is here, and knows what they have. Safe for concurrent use.
type contents struct {
	n     *Node
	table *crdt.Table[bool] // sessions with large content, so that a start need not open all
	wake  chan struct{}     // capacity 1
	// budget is how many bytes of blocks the entries of others may bring here for one session.
	budget int64
	retry  time.Duration // the first pause before another try without a sign from outside

	mu       sync.Mutex
	whole    map[crdt.Content]int64 // bytes of blocks of content that is here
	invalid  map[crdt.Content]string
	sessions map[crdt.DocID]*copies
	dirty    map[crdt.DocID]bool
	busy     map[crdt.DocID]bool
}

// copies is what is known of the large content of one session at other peers. Guarded by contents.mu.
type copies struct {
	names map[string]bool // CIDs that the session names
	// has is what a peer said it has all of; told what it was asked about over its present connection,
	// which tells it that this peer has all of it.
	has, told map[crdt.PeerID]map[string]bool
	// vain is who was asked for content and did not give all of it.
	vain   map[crdt.Content]map[crdt.PeerID]bool
	beyond map[crdt.Content]bool // over the budget
	wasted int64                 // bytes that came for content that was then invalid
	warned bool
	delay  time.Duration
	timer  *time.Timer
}

func newContents(n *Node) *contents {
	return &contents{
		n: n, table: crdt.NewTable[bool](n.home.store, "content_sessions"), wake: make(chan struct{}, 1), budget: fetchBudget, retry: firstRetry,
		whole: map[crdt.Content]int64{}, invalid: map[crdt.Content]string{}, sessions: map[crdt.DocID]*copies{},
		dirty: map[crdt.DocID]bool{}, busy: map[crdt.DocID]bool{},
	}
}

// standing is how the large content of a session stands here.
type standing struct {
	here    []crdt.LargeContent // newest first
	missing []crdt.LargeContent // newest first
	invalid int
	stored  int64 // bytes of blocks that other peers' entries brought here, of content in parts too
}

func (s *standing) total() int { return len(s.here) + len(s.missing) }

// lookAt bounds how many contents of a session are looked for and fetched: its newest.
const lookAt = 8192

// look tells what of a list is here.
func (c *contents) look(ctx context.Context, list []crdt.LargeContent) (standing, error) {
	var s standing
	for i, x := range list {
		if i >= lookAt {
			s.missing = append(s.missing, list[i:]...)
			break
		}
		bytes, whole, err := c.judge(ctx, x.Content)
		switch {
		case errors.Is(err, loaders.ErrInvalid):
			s.invalid++
			continue
		case err != nil:
			return s, fmt.Errorf("look for large content: %w", err)
		case whole:
			s.here = append(s.here, x)
		default:
			s.missing = append(s.missing, x)
		}
		if x.Author != c.n.Self() {
			s.stored += bytes
		}
	}
	return s, nil
}

// judge returns how many bytes of blocks of x are here, and whether that is all. The error wraps
// [loaders.ErrInvalid] for content that can't be.
func (c *contents) judge(ctx context.Context, x crdt.Content) (bytes int64, whole bool, err error) {
	c.mu.Lock()
	bytes, whole = c.whole[x]
	reason := c.invalid[x]
	c.mu.Unlock()
	if reason != "" {
		return 0, false, fmt.Errorf("%s: %w", reason, loaders.ErrInvalid)
	}
	if whole {
		return bytes, true, nil
	}
	err = checkContent(x)
	if err == nil {
		b, err2 := c.n.loading.ipld.Blocks(ctx, x.CID, x.Size)
		bytes, whole, err = b.Here, len(b.Missing) == 0, err2
	}
	if err != nil {
		if errors.Is(err, loaders.ErrInvalid) {
			c.noteInvalid(x, err)
		}
		return 0, false, err
	}
	if whole {
		c.mu.Lock()
		c.whole[x] = bytes
		c.mu.Unlock()
	}
	return bytes, whole, nil
}

// standing is look for a session; of other documents it is empty.
func (c *contents) standing(ctx context.Context, id crdt.DocID) (standing, error) {
	list, err := c.listed(ctx, id, c.n.repo.View)
	if err != nil || len(list) == 0 {
		return standing{}, err
	}
	c.mu.Lock()
	if c.sessions[id] == nil {
		c.mark(id)
	}
	c.mu.Unlock()
	return c.look(ctx, list)
}

// listed returns the large content of a session, read in the given way.
func (c *contents) listed(ctx context.Context, id crdt.DocID, view func(context.Context, crdt.DocID, func(*crdt.View) error) error) (list []crdt.LargeContent, err error) {
	if sum, ok := c.n.repo.Summary(id); !ok || sum.Kind != crdt.Session || !sum.HasContent {
		return nil, nil
	}
	err = view(ctx, id, func(v *crdt.View) error {
		list = crdt.SessionView{View: v}.Log().Large()
		return nil
	})
	return list, err
}

func (c *contents) knownInvalid(x crdt.Content) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.invalid[x]
}

// noteInvalid remembers that content can't be, which no other bytes could change, and returns why.
func (c *contents) noteInvalid(x crdt.Content, err error) string {
	reason := "it can't be: " + err.Error()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.whole, x)
	c.invalid[x] = reason
	return reason
}

// lost notes that content which was here is not any more, as when a file rotted.
func (c *contents) lost(x crdt.Content) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, was := c.whole[x]; !was {
		return
	}
	delete(c.whole, x)
	for id, s := range c.sessions {
		if s.names[x.CID] {
			delete(s.vain, x)
			c.mark(id)
		}
	}
}

// storedOn counts the peers that have all of a document, this one included: its changes, and the large
// content that they name.
func (n *Node) storedOn(ctx context.Context, id crdt.DocID) (int, error) {
	holders, err := n.repo.Holders(ctx, id)
	if err != nil {
		return 0, err
	}
	s, err := n.contents.standing(ctx, id)
	if err != nil {
		return 0, err
	}
	count := 0
	if len(s.missing) == 0 {
		count++
	}
	for _, p := range holders {
		if lacks, _ := n.contents.lacks(id, p, &s); lacks == 0 {
			count++
		}
	}
	return count, nil
}

// lacks counts the content that a peer is not known to have all of, and reports whether it said so of
// each.
func (c *contents) lacks(id crdt.DocID, p crdt.PeerID, s *standing) (count int64, said bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var has, told map[string]bool
	if k := c.sessions[id]; k != nil {
		has, told = k.has[p], k.told[p]
	}
	said = true
	for _, list := range [][]crdt.LargeContent{s.here, s.missing} {
		for _, x := range list {
			if !has[x.CID] {
				count++
				said = said && told[x.CID]
			}
		}
	}
	return count, said
}

// summary is what is said of a session's large content; nil if there is none.
func (c *contents) summary(id crdt.DocID, s *standing) *control.Contents {
	if s.total()+s.invalid == 0 {
		return nil
	}
	out := &control.Contents{Count: s.total(), Missing: len(s.missing), Invalid: s.invalid}
	for _, list := range [][]crdt.LargeContent{s.here, s.missing} {
		for _, x := range list {
			out.Bytes += x.Size
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.sessions[id]
	switch {
	case len(s.missing) == 0:
	case c.n.getOnline() == nil:
		out.Reason = "without a daemon nothing is fetched"
	case k != nil && len(k.beyond) > 0:
		out.Reason = fmt.Sprintf("%d are beyond the 1 GiB, or the %d contents, that are fetched for one session", len(k.beyond), lookAt)
	default:
		out.Reason = "no connected peer has given all of it so far"
	}
	return out
}
