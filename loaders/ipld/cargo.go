package ipld

import (
	"fmt"
	"sync"

	"github.com/ipfs/go-cid"
)

// cargo is the store with the blocks on top that came from peers and are not in their places yet. A walk
// reads from it while nothing comes; it is locked all the same.
type cargo struct {
	base     *Store
	stage    *stage
	progress func(done, total int64)

	mu    sync.Mutex
	held  map[string]verified // by multihash
	want  map[string]cid.Cid  // by text
	quota int64               // of bytes
	came  int                 // blocks
	bytes int64               // of them
	total int64               // bytes that are known to be due, about
	ended bool
	// tooMuch is set when the quota was passed: the content is to blame, not a peer. mistake is what a
	// peer did wrong last.
	tooMuch, mistake error
}

func (c *cargo) get(id cid.Cid) ([]byte, error) {
	if b, ok := c.find(id); ok {
		return b.data, nil
	}
	return c.base.get(id)
}

func (c *cargo) stat(id cid.Cid) (int64, bool, error) {
	if b, ok := c.find(id); ok {
		return int64(len(b.data)), true, nil
	}
	return c.base.stat(id)
}

func (c *cargo) find(id cid.Cid) (verified, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.held[string(id.Hash())]
	return b, ok
}

// expect sets what take lets in.
func (c *cargo) expect(w *walk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want = make(map[string]cid.Cid, len(w.missing))
	for _, m := range w.missing {
		c.want[m.String()] = m
	}
	c.quota = w.quota
	c.total = max(c.total, w.content)
}

// take is given to the peers. It refuses a block that was not asked for or came already, one that is not
// what its id says, and what is too much.
func (c *cargo) take(id string, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	want, ok := c.want[id]
	if !ok || c.ended {
		c.mistake = fmt.Errorf("block %.80q: it was not asked for", id)
		return c.mistake
	}
	b := verified{want, data}
	tooMuch := c.bytes+int64(len(data)) > c.quota
	var m *move
	if !tooMuch && len(data) <= MaxBlock {
		m = c.stage.add(b) // it is written while it is hashed
	}
	if err := verify(want, data); err != nil {
		if m != nil {
			m.wrong = true
		}
		c.mistake = fmt.Errorf("block %s: %w", short(want), err)
		return c.mistake
	}
	if tooMuch {
		c.tooMuch = invalid("more than %d bytes of blocks", c.quota)
		return c.tooMuch
	}
	delete(c.want, id)
	c.came++
	c.bytes += int64(len(data))
	c.held[string(want.Hash())] = b
	if c.progress != nil {
		c.progress(c.bytes, max(c.total, c.bytes))
	}
	return nil
}

func (c *cargo) full() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tooMuch
}

func (c *cargo) wrong() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mistake
}

func (c *cargo) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.came
}

// end is the last call: keep moves what came into its places, else it is dropped.
func (c *cargo) end(keep bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if keep {
		return c.stage.commit()
	}
	return c.stage.drop()
}
