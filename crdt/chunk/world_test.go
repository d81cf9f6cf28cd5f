package chunk_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/automerge/automerge-go"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
)

// world is a small document that several peers have written, and what each of them would write
// next. Equal seeds give equal worlds.
type world struct {
	t     testing.TB
	seed  uint64
	kind  crdt.Kind
	all   *peer // has everything
	peers []*peer
	next  [][]byte
	saved []byte
}

func newWorld(t testing.TB, seed uint64) *world {
	rnd := newRand(seed)
	w := &world{t: t, seed: seed, kind: kinds[rnd.IntN(len(kinds))]}
	w.all = newPeer(t, w.kind, 0xff)
	for i := range 2 + rnd.IntN(3) {
		w.peers = append(w.peers, newPeer(t, w.kind, byte(0x11*(i+1))))
	}
	for range 6 + rnd.IntN(25) {
		p := w.peers[rnd.IntN(len(w.peers))]
		if rnd.IntN(3) == 0 {
			p.pull(w.all, 1+rnd.IntN(8))
		}
		if c := p.write(randomEdits(rnd, p)); c != nil {
			w.all.take(c.Raw)
		}
	}
	for len(w.next) < 4 {
		if raw := w.stranger(rnd); raw != nil {
			w.next = append(w.next, raw)
		}
	}
	return w
}

// snapshot is the document in the core, saved.
func (w *world) snapshot() []byte {
	if w.saved == nil {
		c := newCore(w.t, crdt.ActorID{9}, w.genesis().Raw)
		for _, ch := range w.all.log {
			c.load(ch.Raw)
		}
		w.saved = c.doc.Save()
	}
	return w.saved
}

func (w *world) genesis() *crdt.Change { return chunk.New().Genesis(testDoc, w.kind) }

// prefix is a random part of the document that lacks nothing that it depends on.
func (w *world) prefix(rnd source) *peer {
	p := newPeer(w.t, w.kind, 0)
	genesis := w.genesis().Hash
	for _, c := range w.all.log {
		missing := slices.ContainsFunc(c.Deps, func(h crdt.ChangeHash) bool { return !p.have[h] && h != genesis })
		if !missing && rnd.IntN(5) != 0 {
			p.take(c.Raw)
		}
	}
	return p
}

// stranger is a legal next change of one of the actors who had seen a random part of the document.
func (w *world) stranger(rnd *rand.Rand) []byte {
	author := w.peers[rnd.IntN(len(w.peers))]
	p := w.prefix(rnd)
	p.actor = author.actor
	for _, c := range author.log { // its own changes and what they need
		p.take(c.Raw)
	}
	edits := randomEdits(rnd, p)
	c, err := p.gate.Next(p.actor, rnd.Int64N(1<<33), p.heads, edits)
	if err != nil {
		w.t.Fatalf("next: %v", err)
	}
	if c == nil {
		return nil
	}
	return c.Raw
}

func (w *world) mutant(id int) []byte {
	rnd := rand.New(rand.NewPCG(w.seed, uint64(id)+1))
	base := w.next[rnd.IntN(len(w.next))]
	var raw []byte
	switch n := rnd.IntN(16); {
	case n < 7:
		raw = chunk.MutateBytes(rnd, base)
	case n < 14:
		raw = chunk.MutateOps(rnd, base, w.hashes(), w.actors())
	default:
		return w.stranger(rnd)
	}
	if bytes.Equal(raw, base) {
		return nil
	}
	return raw
}

func (w *world) hashes() []crdt.ChangeHash {
	out := []crdt.ChangeHash{w.genesis().Hash}
	for _, c := range w.all.log {
		out = append(out, c.Hash)
	}
	return out
}

func (w *world) actors() []crdt.ActorID {
	out := []crdt.ActorID{{}, {0x77}}
	for _, p := range w.peers {
		out = append(out, p.actor)
	}
	return out
}

// apply gives a chunk to the core and looks at the document afterwards.
func (w *world) apply(raw []byte) string {
	doc, err := automerge.Load(w.snapshot())
	if err != nil {
		w.t.Fatal(err)
	}
	_ = doc.LoadIncremental(raw) // its result means nothing
	if _, err := doc.Change(automerge.ChangeHash(sha256.Sum256(raw[8:]))); err != nil {
		return outcomeIgnored
	}
	_ = doc.Root().GoString() // reads everything
	if !w.takesOthers(doc, raw) {
		return outcomePoisoned
	}
	loaded, err := automerge.Load(doc.Save())
	if err != nil || fmt.Sprint(loaded.Heads()) != fmt.Sprint(doc.Heads()) {
		return outcomePoisoned
	}
	_ = loaded.Root().GoString()
	return outcomeKept
}

// takesOthers reports whether the document still takes what the other actors write next.
func (w *world) takesOthers(doc *automerge.Doc, raw []byte) bool {
	for _, other := range w.next {
		if bytes.Equal(author(raw), author(other)) {
			continue
		}
		_ = doc.LoadIncremental(other)
		if _, err := doc.Change(automerge.ChangeHash(sha256.Sum256(other[8:]))); err != nil {
			return false
		}
		return true
	}
	return true
}

// author cuts the actor out of a chunk of the usual size: it follows the dependencies.
func author(raw []byte) []byte {
	at := 9
	for raw[at] >= 0x80 {
		at++
	}
	at += 2 + 32*int(raw[at+1]) + 1
	return raw[min(at, len(raw)):min(at+16, len(raw))]
}
