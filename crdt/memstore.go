package crdt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
)

// MaxStoreKey is the longest key, in bytes, that a [Store] takes.
const MaxStoreKey = 4096

// What the failure function of [NewFailingMemStore] is asked about.
const (
	OpGet    = "get"    // before a Get: its error is returned
	OpScan   = "scan"   // before a Scan: its error is returned
	OpAppend = "append" // before a batch is stored: its error is returned, nothing is stored
	OpAck    = "ack"    // after a batch is stored: its error is returned, the batch is there
)

var errMemClosed = errors.New("the store is closed")

// MemStore is a [Store] in memory. A batch counts as durable from the moment it is visible, so
// [MemStore.Clone] is at any time what a process that dies now would find when it starts again.
//
// Keys and values live in an immutable tree that each Append replaces: reading, scanning and
// cloning never wait, a scan sees one state and its function may call the store. Get costs
// O(log n), a write O(log n) small allocations, Clone O(1).
type MemStore struct {
	fail func(op string) error

	mu     sync.Mutex
	root   *memNode
	closed bool
}

// NewMemStore returns an empty store.
func NewMemStore() *MemStore { return &MemStore{} }

// NewFailingMemStore returns an empty store that asks fail before (OpGet, OpScan, OpAppend) and
// after (OpAck) its work and returns the error it gets. fail must be safe for concurrent use and
// may not call the store.
func NewFailingMemStore(fail func(op string) error) *MemStore { return &MemStore{fail: fail} }

// Clone returns an open store with what this one holds now, and the same failure function. Neither
// sees later writes of the other; a closed store can be cloned. It stands for a crash (keep the
// clone, drop the original), a restart, and a restored copy of the disk.
func (m *MemStore) Clone() *MemStore {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &MemStore{fail: m.fail, root: m.root}
}

// Get implements [Store].
func (m *MemStore) Get(ctx context.Context, key []byte) ([]byte, error) {
	root, err := m.begin(ctx, OpGet)
	if err != nil {
		return nil, fmt.Errorf("get %x: %w", key, err)
	}
	for n := root; n != nil; {
		switch c := bytes.Compare(key, n.key); {
		case c < 0:
			n = n.left
		case c > 0:
			n = n.right
		default:
			return append([]byte{}, n.value...), nil
		}
	}
	return nil, ErrNotFound
}

// Scan implements [Store]. It sees the store as it was when Scan was called.
func (m *MemStore) Scan(ctx context.Context, prefix, from []byte, fn func(key, value []byte) error) error {
	root, err := m.begin(ctx, OpScan)
	if err != nil {
		return fmt.Errorf("scan %x: %w", prefix, err)
	}
	start := prefix
	if len(from) > len(prefix) && bytes.Compare(from, prefix) > 0 {
		start = from
	}
	_, err = root.walk(start, func(n *memNode) (bool, error) {
		if !bytes.HasPrefix(n.key, prefix) {
			return false, nil
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		// Copies: nobody may reach the tree through the slices.
		return true, fn(bytes.Clone(n.key), append([]byte{}, n.value...))
	})
	return err
}

// Append implements [Store].
func (m *MemStore) Append(ctx context.Context, b *Batch) error {
	for _, w := range b.Writes {
		if len(w.Key) > MaxStoreKey {
			return fmt.Errorf("append: a key has %d bytes, the limit is %d", len(w.Key), MaxStoreKey)
		}
	}
	if _, err := m.begin(ctx, OpAppend); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	m.mu.Lock()
	root := m.root
	for _, w := range b.Writes {
		root = root.without(w.Key)
		if w.Value != nil {
			root = root.with(newMemNode(w.Key, w.Value))
		}
	}
	m.root = root
	m.mu.Unlock()
	if err := m.ask(OpAck); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return nil
}

// Close implements [Store]. What was stored stays and can be had by [MemStore.Clone].
func (m *MemStore) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errMemClosed
	}
	m.closed = true
	return nil
}

func (m *MemStore) ask(op string) error {
	if m.fail == nil {
		return nil
	}
	return m.fail(op)
}

func (m *MemStore) begin(ctx context.Context, op string) (*memNode, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := m.ask(op); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errMemClosed
	}
	return m.root, nil
}

// memNode is a node of an immutable treap: a search tree by key and a heap by rank. The rank is a
// hash of the key, so the shape depends on the keys alone and equal runs stay equal.
type memNode struct {
	key, value  []byte
	rank        uint64
	left, right *memNode
}

func newMemNode(key, value []byte) *memNode {
	h := fnv.New64a()
	h.Write(key)
	// FNV spreads its last byte badly over the high bits; the multiply-xor step repairs that.
	r := h.Sum64()
	r ^= r >> 31
	r *= 0x9e3779b97f4a7c15
	r ^= r >> 29
	return &memNode{key: append([]byte{}, key...), value: append([]byte{}, value...), rank: r}
}

// with adds a node whose key is not in the tree.
func (n *memNode) with(add *memNode) *memNode {
	if n == nil || add.rank > n.rank {
		add.left, add.right = n.split(add.key)
		return add
	}
	c := *n
	if bytes.Compare(add.key, n.key) < 0 {
		c.left = n.left.with(add)
	} else {
		c.right = n.right.with(add)
	}
	return &c
}

// split divides the tree into the keys below and above key, which is not in it.
func (n *memNode) split(key []byte) (below, above *memNode) {
	if n == nil {
		return nil, nil
	}
	c := *n
	if bytes.Compare(n.key, key) < 0 {
		c.right, above = n.right.split(key)
		return &c, above
	}
	below, c.left = n.left.split(key)
	return below, &c
}

// without removes a key; a tree that does not have it is returned as it is.
func (n *memNode) without(key []byte) *memNode {
	if n == nil {
		return nil
	}
	switch c := bytes.Compare(key, n.key); {
	case c == 0:
		return joinMem(n.left, n.right)
	case c < 0:
		if l := n.left.without(key); l != n.left {
			d := *n
			d.left = l
			return &d
		}
	default:
		if r := n.right.without(key); r != n.right {
			d := *n
			d.right = r
			return &d
		}
	}
	return n
}

// joinMem joins two trees; every key of l is below every key of r.
func joinMem(l, r *memNode) *memNode {
	switch {
	case l == nil:
		return r
	case r == nil:
		return l
	case l.rank > r.rank:
		c := *l
		c.right = joinMem(l.right, r)
		return &c
	}
	c := *r
	c.left = joinMem(l, r.left)
	return &c
}

// walk visits the nodes from start on in key order until fn says stop or fails.
func (n *memNode) walk(start []byte, fn func(*memNode) (bool, error)) (more bool, err error) {
	if n == nil {
		return true, nil
	}
	if bytes.Compare(n.key, start) < 0 {
		return n.right.walk(start, fn)
	}
	if more, err = n.left.walk(start, fn); !more || err != nil {
		return more, err
	}
	if more, err = fn(n); !more || err != nil {
		return more, err
	}
	return n.right.walk(start, fn)
}
