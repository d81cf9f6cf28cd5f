package crdt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// Errors of a [Repo] that callers branch on.
var (
	ErrUnknownDoc = errors.New("no such document here")
	ErrNoRight    = errors.New("no right to do this in the document")
)

// Config is what a [Repo] is made of. Store, Identity, Clock, Codec, Core and Rand are required.
type Config struct {
	Store    Store
	Identity *Identity
	Clock    Clock
	Codec    Codec
	Core     Core
	Rand     io.Reader // nonces and epochs
	Indexes  []IndexSpec
	// MemoryBudget bounds the bytes (estimated) of documents that nobody uses at the moment; least
	// recently used ones are dropped first. 0 means 256 MiB.
	MemoryBudget int64
	// HomeEpoch tells lives of this home apart. A peer writes under a new actor as soon as it
	// differs from the one its last actor was made in: after an unclean stop, a restore, a repair,
	// a copy of the directory.
	HomeEpoch [16]byte
	// Owners lists further peers (this person's other devices) that own every new document.
	Owners func() []PeerID
	// IgnoreRole lets this peer write without the right, for tests of what others then do.
	IgnoreRole bool
}

// Repo is this peer's set of documents. One goroutine at a time changes a document; different
// documents do not wait for each other. Methods are safe for concurrent use. Callbacks given to
// View, Update and Create must not call back into the Repo for the same document.
type Repo struct {
	cfg   Config
	feeds feedSet

	mu    sync.Mutex
	slots map[DocID]*slot
	hot   map[*slot]struct{} // those in use or in memory, and maybe some that were
	tick  atomic.Uint64      // orders uses for eviction
}

// slot is the place of one document, loaded or not.
type slot struct {
	id   DocID
	kind Kind

	mu    sync.RWMutex // guards doc and its content
	doc   *document    // nil when not loaded
	stale bool         // head and access log must be read again
	size  atomic.Int64 // of doc, estimated; 0 when not loaded
	used  atomic.Uint64
	refs  atomic.Int32

	meta   sync.Mutex // guards head and access
	head   docHead
	access *Access // resolved on first need
}

// Summary says where a document stands without loading it.
type Summary struct {
	ID     DocID
	Kind   Kind
	Vector [32]byte // [Vector.Digest] of everything verified and stored
	Access [32]byte // digest of the access set
	// HasContent is false for a document known by its access log only: a join that has not
	// brought its first change yet.
	HasContent bool
}

// NewRepo reads the catalogue of documents from the store. The store stays the caller's to close.
func NewRepo(ctx context.Context, cfg Config) (*Repo, error) {
	if cfg.MemoryBudget == 0 {
		cfg.MemoryBudget = 256 << 20
	}
	r := &Repo{cfg: cfg, slots: map[DocID]*slot{}, hot: map[*slot]struct{}{}}
	err := cfg.Store.Scan(ctx, []byte{keyHead}, nil, func(k, v []byte) error {
		id := DocID(k[1:])
		h, err := decodeHead(v)
		if err != nil {
			return fmt.Errorf("document %s: %w", id, err)
		}
		r.slots[id] = &slot{id: id, kind: h.kind, head: h}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("open documents: %w", err)
	}
	return r, nil
}

// Close ends all feeds, notes what was applied, and frees every loaded document. No other method
// may be running.
func (r *Repo) Close() error {
	r.feeds.closeAll()
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, s := range r.slots {
		s.mu.Lock()
		errs = append(errs, r.settle(context.Background(), s))
		s.unload()
		s.mu.Unlock()
	}
	return errors.Join(errs...)
}

// settle writes down that all of a loaded document is in the core, so that the next open need not
// doubt its last changes. The caller holds the slot's lock.
func (r *Repo) settle(ctx context.Context, s *slot) error {
	h := s.getHead()
	if s.doc == nil || h.applied == h.next {
		return nil
	}
	h.applied = h.next
	var b Batch
	b.Put(docKey(keyHead, s.id), h.encode())
	if err := r.cfg.Store.Append(ctx, &b); err != nil {
		return fmt.Errorf("settle document %s: %w", s.id, err)
	}
	s.setHead(h)
	return nil
}

// Self is this peer.
func (r *Repo) Self() PeerID { return r.cfg.Identity.PeerID() }

// Identity is this peer's key.
func (r *Repo) Identity() *Identity { return r.cfg.Identity }

// List returns the summaries of all documents, in no order.
func (r *Repo) List() []Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Summary, 0, len(r.slots))
	for _, s := range r.slots {
		out = append(out, s.summary())
	}
	return out
}

// Summary returns the summary of one document.
func (r *Repo) Summary(id DocID) (Summary, bool) {
	s := r.slot(id)
	if s == nil {
		return Summary{}, false
	}
	return s.summary(), true
}

func (s *slot) summary() Summary {
	h := s.getHead()
	return Summary{ID: s.id, Kind: s.kind, Vector: h.vector, Access: h.access, HasContent: h.next > 0}
}

func (s *slot) getHead() docHead {
	s.meta.Lock()
	defer s.meta.Unlock()
	return s.head
}

func (s *slot) setHead(h docHead) {
	s.meta.Lock()
	s.head = h
	s.meta.Unlock()
}

func (r *Repo) slot(id DocID) *slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.slots[id]
}

// View runs fn on the document's state. Views of one document run side by side; an Update waits
// for them. Errors: ErrUnknownDoc, what loading fails with, and fn's own.
func (r *Repo) View(ctx context.Context, id DocID, fn func(*View) error) error {
	s, err := r.use(id)
	if err != nil {
		return err
	}
	defer r.release(s)
	for {
		s.mu.RLock()
		if d := s.doc; d != nil {
			defer s.mu.RUnlock()
			return fn(d.view)
		}
		s.mu.RUnlock()
		s.mu.Lock()
		_, err := r.load(ctx, s)
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// Peek is View for a sweep over many documents: one that had to be opened for it is closed again, so
// that asking them all does not bring them all into memory.
func (r *Repo) Peek(ctx context.Context, id DocID, fn func(*View) error) error {
	s, err := r.use(id)
	if err != nil {
		return err
	}
	defer r.release(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doc == nil {
		defer s.unload()
	}
	d, err := r.load(ctx, s)
	if err != nil {
		return err
	}
	return fn(d.view)
}

// with runs fn on the loaded document under its write lock. When fn fails with errStale the memory
// of the document can't be trusted any more: it is dropped, to be rebuilt from the store.
func (r *Repo) with(ctx context.Context, id DocID, fn func(*slot, *document) error) error {
	s, err := r.use(id)
	if err != nil {
		return err
	}
	defer r.release(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := r.load(ctx, s)
	if err != nil {
		return err
	}
	err = fn(s, d)
	if errors.Is(err, errStale) {
		s.unload()
		s.stale = true
		// What became durable all the same is to be known and told at once; if the store can't be
		// read now the next load tries again.
		_ = r.refresh(context.WithoutCancel(ctx), s)
	} else if s.doc != nil {
		s.size.Store(d.size())
	}
	return err
}

// errStale marks an error after which memory and store may differ: a commit that failed may still
// have become durable, and the gate may have absorbed what was not stored.
var errStale = errors.New("the document in memory may differ from its store")

type staleError struct{ error }

func (e staleError) Unwrap() error        { return e.error }
func (e staleError) Is(target error) bool { return target == errStale }

func stale(err error) error { return staleError{err} }

func (r *Repo) use(id DocID) (*slot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.slots[id]
	if s == nil {
		return nil, fmt.Errorf("open document %s: %w", id, ErrUnknownDoc)
	}
	r.hot[s] = struct{}{}
	s.refs.Add(1)
	s.used.Store(r.tick.Add(1))
	return s, nil
}

func (r *Repo) release(s *slot) {
	if s.refs.Add(-1) == 0 {
		r.evict()
	}
}

// evict drops idle documents, least recently used first, until the rest fits the budget. It costs as
// much as there are documents in memory, not as many as there are.
func (r *Repo) evict() {
	for {
		r.mu.Lock()
		var total int64
		var oldest *slot
		for s := range r.hot {
			n := s.size.Load()
			total += n
			if n == 0 && s.refs.Load() == 0 {
				delete(r.hot, s)
			}
			if n > 0 && s.refs.Load() == 0 && (oldest == nil || s.used.Load() < oldest.used.Load()) {
				oldest = s
			}
		}
		r.mu.Unlock()
		if total <= r.cfg.MemoryBudget || oldest == nil || !oldest.mu.TryLock() {
			return
		}
		if oldest.refs.Load() == 0 {
			oldest.unload()
		}
		oldest.mu.Unlock()
	}
}

func (s *slot) unload() {
	if s.doc != nil {
		s.doc.close()
		s.doc = nil
	}
	s.size.Store(0)
}

// Loaded is the number of documents in memory.
func (r *Repo) Loaded() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.slots {
		if s.size.Load() > 0 {
			n++
		}
	}
	return n
}

// Has reports whether the document is kept here.
func (r *Repo) Has(id DocID) bool { return r.slot(id) != nil }
