package crdt

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
)

// document is one loaded document: what its owner, whoever holds the slot's lock, knows of it.
type document struct {
	id    DocID
	gate  Gate
	view  *View
	log   []logEntry           // everything stored, by position
	seqs  map[ActorID][]uint32 // positions of an actor's changes, by sequence number - 1
	bytes int64                // of all change chunks

	valid   map[ChangeHash]bool // nil: everything is valid
	refused map[ChangeHash]RefusedChange
	barred  map[ActorID]bool // actors of readers: what they write is refused, not waited with

	core     CoreDoc   // nil until something needs it
	own      *ownActor // the actor this peer writes under; nil until read
	segments []segment
	cached   cachedSegment
	tail     tail
}

// maxBarred bounds what is remembered of readers that try to write; beyond it their changes wait.
const maxBarred = 256

// bar remembers the actors that readers declare. Their objects are not kept.
func (d *document) bar(a *Access, objs []*Object) {
	for _, o := range objs {
		if id, ok := a.powerless(o); ok && len(d.barred) < maxBarred {
			if d.barred == nil {
				d.barred = map[ActorID]bool{}
			}
			d.barred[id] = true
		}
	}
}

// tail holds the newest changes: what a peer that follows live asks for next. A document that was
// just opened has none.
type tail struct {
	first uint64 // position of the first
	list  []SignedChange
	size  int
}

// The tail of a document is at most this long.
const (
	tailChanges = 64
	tailBytes   = 64 << 10
)

func (t *tail) add(pos uint64, c SignedChange) {
	if pos != t.first+uint64(len(t.list)) {
		*t = tail{first: pos}
	}
	t.list, t.size = append(t.list, c), t.size+len(c.Raw)
	for len(t.list) > tailChanges || t.size > tailBytes {
		t.size -= len(t.list[0].Raw)
		t.list[0] = SignedChange{}
		t.first, t.list = t.first+1, t.list[1:]
	}
}

// logEntry is what memory keeps of a stored change.
type logEntry struct {
	hash   ChangeHash
	actor  ActorID
	seq    uint32
	signed bool
}

func (d *document) close() {
	if d.core != nil {
		d.core.Close()
		d.core = nil
	}
}

// size estimates the memory of the document: the core holds about twice the bytes of the chunks,
// views and gate are counted.
func (d *document) size() int64 {
	n := int64(d.gate.Size()) + int64(len(d.log))*80 + d.bytes + int64(d.tail.size)
	if d.core != nil {
		n += 3 * d.bytes
	}
	return n + 4096
}

func compareHash(a, b ChangeHash) int { return bytes.Compare(a[:], b[:]) }

// load returns the document, building it when it is not in memory. The caller holds the slot's
// write lock.
func (r *Repo) load(ctx context.Context, s *slot) (*document, error) {
	if s.doc != nil {
		return s.doc, nil
	}
	if err := r.refresh(ctx, s); err != nil {
		return nil, err
	}
	access, err := r.access(ctx, s)
	if err != nil {
		return nil, err
	}
	d, err := r.build(ctx, s, access)
	if err != nil {
		return nil, fmt.Errorf("open document %s: %w", s.id, err)
	}
	s.doc = d
	s.size.Store(d.size())
	return d, nil
}

// refresh reads the head again, and forgets the access log, after a commit of unknown outcome.
func (r *Repo) refresh(ctx context.Context, s *slot) error {
	if !s.stale {
		return nil
	}
	b, err := r.cfg.Store.Get(ctx, docKey(keyHead, s.id))
	if err != nil {
		return fmt.Errorf("open document %s: %w", s.id.Short(), err)
	}
	h, err := decodeHead(b)
	if err != nil {
		return fmt.Errorf("open document %s: %w", s.id.Short(), err)
	}
	before := s.getHead()
	s.setHead(h)
	s.setAccess(nil)
	s.stale = false
	if h != before {
		r.feeds.tell(s.id)
	}
	return nil
}

// build makes a document from its stored changes and the filter that its access log implies. It is
// the only way a document comes into memory: at first use, after a failed write, and when a
// revocation moves what is valid.
func (r *Repo) build(ctx context.Context, s *slot, access *Access) (*document, error) {
	d := &document{
		id: s.id, gate: r.cfg.Codec.NewGate(s.id, s.kind), view: newView(s.id, s.kind, access, r.cfg.Indexes),
		seqs: map[ActorID][]uint32{},
	}
	d.view.apply(r.cfg.Codec.Genesis(s.id, s.kind))
	var err error
	if d.refused, err = r.readRefused(ctx, s.id); err != nil {
		return nil, err
	}
	if d.segments, err = r.readSegments(ctx, s.id); err != nil {
		return nil, err
	}
	var kept []*Change // decoded changes, when validity has to be computed first
	filter := access.HasCuts()
	err = r.records(ctx, d, 0, func(pos uint64, c SignedChange) error {
		ch, err := r.cfg.Codec.Decode(s.kind, c.Raw)
		if err == nil {
			err = d.gate.Check(ch)
		}
		if err != nil {
			return fmt.Errorf("stored change %d: %w", pos, err)
		}
		d.gate.Absorb(ch)
		d.absorbed(ch, len(c.Sig) > 0)
		if filter {
			kept = append(kept, ch)
		} else {
			d.view.apply(ch)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if filter {
		d.valid = validHashes(access, kept)
		for _, ch := range kept {
			if d.valid[ch.Hash] {
				d.view.apply(ch)
			}
		}
	}
	return d, nil
}

// absorbed notes a stored change that the gate has absorbed.
func (d *document) absorbed(c *Change, signed bool) {
	d.seqs[c.Actor] = append(d.seqs[c.Actor], uint32(len(d.log)))
	d.log = append(d.log, logEntry{c.Hash, c.Actor, uint32(c.Seq), signed})
	d.bytes += int64(len(c.Raw))
	d.view.vector[c.Actor] = Tip{c.Seq, c.Hash}
}

// hashAt returns the hash of an actor's change with that sequence number.
func (d *document) hashAt(a ActorID, seq uint64) (ChangeHash, bool) {
	pos := d.seqs[a]
	if seq == 0 || seq > uint64(len(pos)) {
		return ChangeHash{}, false
	}
	return d.log[pos[seq-1]].hash, true
}

// validHashes runs the pure validity rule over decoded changes in causal order.
func validHashes(access *Access, changes []*Change) map[ChangeHash]bool {
	in := make([]ValidityChange, len(changes))
	for i, c := range changes {
		in[i] = ValidityChange{Hash: c.Hash, Actor: c.Actor, Seq: c.Seq, Deps: c.Deps}
	}
	return access.ValidSet(in)
}

// needCore returns the document in the core, building it on first need.
func (r *Repo) needCore(ctx context.Context, d *document) (CoreDoc, error) {
	if d.core != nil {
		return d.core, nil
	}
	core, err := r.buildCore(ctx, d, uint64(len(d.log)))
	if err != nil {
		return nil, err
	}
	if got := core.Heads(); !slices.Equal(got, d.view.heads) {
		core.Close()
		return nil, fmt.Errorf("build document %s: the core shows heads %v, the view %v", d.id.Short(), got, d.view.heads)
	}
	d.core = core
	return core, nil
}

// buildCore builds the valid changes below a position in the core.
func (r *Repo) buildCore(ctx context.Context, d *document, below uint64) (CoreDoc, error) {
	var scanErr error
	chunks := func(yield func(ChangeHash, []byte) bool) {
		scanErr = r.records(ctx, d, 0, func(pos uint64, c SignedChange) error {
			if pos >= below {
				return errStopScan
			}
			h := d.log[pos].hash
			if d.valid == nil || d.valid[h] {
				if !yield(h, c.Raw) {
					return errStopScan
				}
			}
			return nil
		})
	}
	core, err := r.cfg.Core.Build(r.cfg.Codec.Genesis(d.id, d.view.kind), iter.Seq2[ChangeHash, []byte](chunks))
	if err == nil && scanErr != nil && scanErr != errStopScan {
		core.Close()
		err = scanErr
	}
	if err != nil {
		return nil, fmt.Errorf("build document %s: %w", d.id.Short(), err)
	}
	return core, nil
}
