package docsync

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// memHost is a small real host: documents in memory whose access objects and changes are CBOR made
// up here. It keeps the rules that the protocol relies on: changes in causal order, an actor needs
// its object, refused changes are remembered, everything is grow-only.
type memHost struct {
	mu               sync.Mutex
	self             crdt.PeerID
	name             string
	pages            *Pages
	docs             map[crdt.DocID]*memDoc
	feeds            map[*memFeed]bool
	accept           map[crdt.PeerID]bool   // offers of these peers are adopted
	secret           map[string]crdt.Role   // redeemed here
	asked            []Request              // that wait for a human
	picky            func(c memChange) bool // changes refused here
	fail             map[crdt.DocID]error   // works of these documents fail
	told             []string               // notices
	acks             map[crdt.DocID]map[crdt.PeerID]crdt.Vector
	limit            int // bytes of a page; 0: as asked
	applied, accused int
}

type memDoc struct {
	id      crdt.DocID
	objs    map[crdt.ObjectID]memObject
	log     []memChange
	vector  crdt.Vector
	refused map[crdt.ChangeHash]crdt.Reason
}

// memObject: kinds are genesis (owner), member (grants a role), revoke, actor, public, unknown.
type memObject struct {
	_     struct{} `cbor:",toarray"`
	Kind  string
	Doc   crdt.DocID
	Peer  crdt.PeerID
	Role  uint8
	Actor crdt.ActorID
	Nonce uint64
}

type memChange struct {
	_     struct{} `cbor:",toarray"`
	Actor crdt.ActorID
	Seq   uint64
	Deps  []crdt.ChangeHash
	Text  []byte

	raw, sig []byte
	hash     crdt.ChangeHash
}

func (o memObject) raw() []byte {
	b, err := wire.enc.Marshal(o)
	if err != nil {
		panic(err)
	}
	return b
}

func (o memObject) id() crdt.ObjectID { return sha256.Sum256(o.raw()) }

func newMemHost(self byte, pages *Pages) *memHost {
	return &memHost{
		self: crdt.PeerID{self}, pages: pages, docs: map[crdt.DocID]*memDoc{}, feeds: map[*memFeed]bool{},
		accept: map[crdt.PeerID]bool{}, secret: map[string]crdt.Role{}, fail: map[crdt.DocID]error{},
		acks: map[crdt.DocID]map[crdt.PeerID]crdt.Vector{}, picky: func(memChange) bool { return false },
	}
}

// create makes a document owned by this host.
func (h *memHost) create(nonce uint64) crdt.DocID {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := memObject{Kind: "genesis", Peer: h.self, Nonce: nonce}
	id := crdt.DocID(g.id())
	h.docs[id] = newMemDoc(id, g)
	h.changed(id)
	return id
}

func newMemDoc(id crdt.DocID, objs ...memObject) *memDoc {
	d := &memDoc{id: id, objs: map[crdt.ObjectID]memObject{}, vector: crdt.Vector{}, refused: map[crdt.ChangeHash]crdt.Reason{}}
	for _, o := range objs {
		d.objs[o.id()] = o
	}
	return d
}

func (h *memHost) object(id crdt.DocID, o memObject) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.Doc = id
	h.docs[id].objs[o.id()] = o
	h.changed(id)
}

func (h *memHost) grant(id crdt.DocID, to crdt.PeerID, role crdt.Role) {
	h.object(id, memObject{Kind: "member", Peer: to, Role: uint8(role)})
}

// actorOf is the actor of a host in a document.
func (h *memHost) actorOf(id crdt.DocID) crdt.ActorID {
	return crdt.NewActorID(id, h.self, crdt.ObjectID{}, [16]byte{})
}

// write makes one local change.
func (h *memHost) write(id crdt.DocID, text []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d, a := h.docs[id], h.actorOf(id)
	o := memObject{Kind: "actor", Doc: id, Peer: h.self, Actor: a}
	d.objs[o.id()] = o
	c := memChange{Actor: a, Seq: d.vector[a].Seq + 1, Deps: d.heads(), Text: text}
	c.finish(true)
	d.add(c)
	h.changed(id)
}

func (c *memChange) finish(sign bool) {
	raw, err := wire.enc.Marshal(*c)
	if err != nil {
		panic(err)
	}
	c.raw, c.hash = raw, sha256.Sum256(raw)
	if sign {
		c.sig = memSign(c.Actor, c.Seq, c.hash)
	}
}

func memSign(a crdt.ActorID, seq uint64, hash crdt.ChangeHash) []byte {
	one := sha256.Sum256(binary.BigEndian.AppendUint64(append(a[:], hash[:]...), seq))
	return append(one[:], one[:]...)
}

func (d *memDoc) heads() (out []crdt.ChangeHash) {
	heads := map[crdt.ChangeHash]bool{}
	for _, c := range d.log {
		for _, dep := range c.Deps {
			delete(heads, dep)
		}
		heads[c.hash] = true
	}
	return slices.SortedFunc(maps.Keys(heads), func(a, b crdt.ChangeHash) int { return bytes.Compare(a[:], b[:]) })
}

func (d *memDoc) add(c memChange) {
	d.log = append(d.log, c)
	d.vector[c.Actor] = crdt.Tip{Seq: c.Seq, Hash: c.hash}
}

func (d *memDoc) has(hash crdt.ChangeHash) bool {
	return slices.ContainsFunc(d.log, func(c memChange) bool { return c.hash == hash })
}

func (d *memDoc) hashAt(a crdt.ActorID, seq uint64) crdt.ChangeHash {
	for _, c := range d.log {
		if c.Actor == a && c.Seq == seq {
			return c.hash
		}
	}
	return crdt.ChangeHash{}
}

func (d *memDoc) ids() []crdt.ObjectID {
	return slices.SortedFunc(maps.Keys(d.objs), func(a, b crdt.ObjectID) int { return bytes.Compare(a[:], b[:]) })
}

func (d *memDoc) access() [32]byte {
	s := sha256.New()
	for _, id := range d.ids() {
		s.Write(id[:])
	}
	return [32]byte(s.Sum(nil))
}

// roles: the named role and the one that counts for reading.
func (d *memDoc) roles(p crdt.PeerID) (named, reads crdt.Role) {
	revoked := false
	for _, o := range d.objs {
		switch {
		case o.Kind == "genesis" && o.Peer == p:
			named = crdt.Owner
		case o.Kind == "member" && o.Peer == p:
			named = max(named, crdt.Role(o.Role))
		case o.Kind == "revoke" && o.Peer == p:
			revoked = true
		case o.Kind == "public":
			reads = crdt.Read
		}
	}
	if revoked {
		named = crdt.NoRole
	}
	return named, max(named, reads)
}

func (d *memDoc) unknown() bool {
	for _, o := range d.objs {
		if o.Kind == "unknown" {
			return true
		}
	}
	return false
}

func (h *memHost) info(peer crdt.PeerID, id crdt.DocID) DocInfo {
	d := h.docs[id]
	if d == nil {
		return DocInfo{Doc: id, Gone: true}
	}
	named, reads := d.roles(peer)
	return DocInfo{Doc: id, Kind: crdt.Session, Vector: d.vector.Digest(), Access: d.access(), Peer: reads, Named: named >= crdt.Read}
}

// changed tells the feeds. The caller holds mu.
func (h *memHost) changed(id crdt.DocID) {
	for f := range h.feeds {
		f.tell(id)
	}
}

func (h *memHost) vector(id crdt.DocID) crdt.Vector {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d := h.docs[id]; d != nil {
		return d.vector.Clone()
	}
	return nil
}

func (h *memHost) accessOf(id crdt.DocID) [32]byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d := h.docs[id]; d != nil {
		return d.access()
	}
	return [32]byte{}
}

// Describe implements [Host].
func (h *memHost) Describe(_ context.Context, peer crdt.PeerID, ids []crdt.DocID) ([]DocInfo, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ids == nil {
		ids = slices.Collect(maps.Keys(h.docs))
	}
	slices.SortFunc(ids, func(a, b crdt.DocID) int { return bytes.Compare(a[:], b[:]) })
	out := []DocInfo{}
	for _, id := range ids {
		out = append(out, h.info(peer, id))
	}
	return out, nil
}

// Notify implements [Host].
func (h *memHost) Notify(_ crdt.PeerID, n Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch n := n.(type) {
	case StatusChanged:
		h.told = append(h.told, "status "+string(n.Status.State))
	case JoinChanged:
		h.told = append(h.told, "join "+string(n.State))
	}
}

// memFeed is a feed that can be read without waiting, too.
type memFeed struct {
	host    *memHost
	mu      sync.Mutex
	pending map[crdt.DocID]bool
	wake    chan struct{}
	closed  chan struct{}
	once    sync.Once
}

// Watch implements [Host].
func (h *memHost) Watch() Feed { return h.watch() }

func (h *memHost) watch() *memFeed {
	f := &memFeed{host: h, pending: map[crdt.DocID]bool{}, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.feeds[f] = true
	return f
}

func (f *memFeed) tell(id crdt.DocID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending[id] = true
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *memFeed) take() []crdt.DocID {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.SortedFunc(maps.Keys(f.pending), func(a, b crdt.DocID) int { return bytes.Compare(a[:], b[:]) })
	clear(f.pending)
	return out
}

func (f *memFeed) Next(ctx context.Context) ([]crdt.DocID, error) {
	for {
		if ids := f.take(); len(ids) > 0 {
			return ids, nil
		}
		select {
		case <-f.wake:
		case <-f.closed:
			return nil, errors.New("feed closed")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *memFeed) Close() {
	f.once.Do(func() {
		close(f.closed)
		f.host.mu.Lock()
		delete(f.host.feeds, f)
		f.host.mu.Unlock()
	})
}

var errTest = errors.New("failed by the test")
