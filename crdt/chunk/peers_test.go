package chunk_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
)

var testDoc = crdt.DocID{1, 2, 3}

// peer is one writer: a gate and the changes it has, in the order they came.
type peer struct {
	t     testing.TB
	kind  crdt.Kind
	actor crdt.ActorID
	gate  crdt.Gate
	log   []*crdt.Change
	have  map[crdt.ChangeHash]bool
	heads []crdt.ChangeHash
	rows  map[string]bool // rows added to stores that do not remember them
	time  int64
}

func newPeer(t testing.TB, kind crdt.Kind, n byte) *peer {
	codec := chunk.New()
	genesis := codec.Genesis(testDoc, kind)
	return &peer{
		t: t, kind: kind, actor: crdt.ActorID{n, 0x5a}, gate: codec.NewGate(testDoc, kind),
		have: map[crdt.ChangeHash]bool{}, heads: []crdt.ChangeHash{genesis.Hash},
		rows: map[string]bool{}, time: 1000,
	}
}

// take runs a change through Decode and Check, as one from the wire, and absorbs it.
func (p *peer) take(raw []byte) *crdt.Change {
	p.t.Helper()
	c, err := chunk.New().Decode(p.kind, raw)
	if err != nil {
		p.t.Fatalf("honest change refused: %v\n%x", err, raw)
	}
	if p.have[c.Hash] {
		return c
	}
	if err := p.gate.Check(c); err != nil {
		p.t.Fatalf("honest change refused: %v\n%+v", err, c)
	}
	p.absorb(c)
	return c
}

func (p *peer) absorb(c *crdt.Change) {
	p.gate.Absorb(c)
	p.have[c.Hash] = true
	p.log = append(p.log, c)
	p.heads = slices.DeleteFunc(p.heads, func(h crdt.ChangeHash) bool { return slices.Contains(c.Deps, h) })
	p.heads = append(p.heads, c.Hash)
	slices.SortFunc(p.heads, func(a, b crdt.ChangeHash) int { return slices.Compare(a[:], b[:]) })
	for _, op := range c.Ops {
		if s, _ := p.kind.Store(op.Store); s.Rows && !s.Deletable {
			p.rows[op.Store+op.Key] = true
		}
	}
}

// pull takes at most n of the other's changes that are missing here and have all they need.
func (p *peer) pull(from *peer, n int) []*crdt.Change {
	var got []*crdt.Change
	for _, c := range from.log {
		if n == 0 {
			break
		}
		if !p.have[c.Hash] {
			got = append(got, p.take(c.Raw))
			n--
		}
	}
	return got
}

// write makes a change of the edits on what the peer has; nil when they change nothing.
func (p *peer) write(edits []crdt.Edit) *crdt.Change {
	p.t.Helper()
	p.time++
	c, err := p.gate.Next(p.actor, p.time, p.heads, edits)
	if err != nil {
		p.t.Fatalf("next: %v", err)
	}
	if c == nil {
		return nil
	}
	if got := p.take(c.Raw); !sameChange(got, c) {
		p.t.Fatalf("decoded\n%+v\nwant\n%+v", got, c)
	}
	return c
}

func sameChange(a, b *crdt.Change) bool {
	return reflect.DeepEqual(a, b)
}

// source is where test data draws its choices from.
type source interface{ IntN(n int) int }

func randomEdits(rnd source, p *peer) []crdt.Edit {
	stores := p.kind.Stores()
	seen := map[string]bool{}
	var edits []crdt.Edit
	for range 1 + rnd.IntN(4) {
		s := stores[rnd.IntN(len(stores))]
		e := crdt.Edit{Store: s.Name, Delete: rnd.IntN(4) == 0}
		if s.Rows {
			e.Value = rowText(rnd)
			e.Key = crdt.RowIDOf(e.Value).String()
			if e.Delete && !s.Deletable || p.rows[s.Name+e.Key] {
				continue
			}
		} else {
			e.Key = recordKeys[rnd.IntN(len(recordKeys))]
			e.Value = recordText(rnd, p)
		}
		if e.Delete {
			e.Value = ""
		}
		if !seen[e.Store+e.Key] {
			seen[e.Store+e.Key] = true
			edits = append(edits, e)
		}
	}
	return edits
}

var recordKeys = []string{"name", "a/b", "ключ", "k\x00z", " ", "<&>"}

// rowText draws from few texts, so that peers add and delete the same rows.
func rowText(rnd source) string {
	if rnd.IntN(4) == 0 {
		return fmt.Sprintf(`{"n":%d,"s":"é\u0000 %d"}`, rnd.IntN(1<<30), rnd.IntN(1<<30))
	}
	return fmt.Sprintf(`{"row":%d}`, rnd.IntN(12))
}

// recordText is never the value a key has: the core leaves such a write out.
func recordText(rnd source, p *peer) string {
	pad := make([]byte, rnd.IntN(3)*rnd.IntN(200))
	for i := range pad {
		pad[i] = 'x'
	}
	return fmt.Sprintf(`["%x",%d,"%s"]`, p.actor[:1], len(p.log), pad)
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0xc4a2)) }
