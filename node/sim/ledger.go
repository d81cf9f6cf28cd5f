package sim

import (
	"crypto/ed25519"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
)

// ledger is what the lab knows and no peer does: who really wrote what, and what he had seen.
type ledger struct {
	changes map[crdt.ChangeHash]authored
	rows    map[rowName][]crdt.RowID    // of the activation logs, as far as writers stamp them by the rules
	saw     map[crdt.RowID][]crdt.RowID // of a row: those of its name that its writer had
	docOf   map[crdt.ActorID]crdt.DocID // where an actor writes
	actorOf map[crdt.ChangeHash]crdt.ActorID
	decoded map[string]*crdt.Change // by the bytes of the chunk
	proofs  map[proof]bool
}

type authored struct {
	peer  int
	rogue bool // without the right to
}

// proof is a signature that was checked.
type proof struct {
	hash crdt.ChangeHash
	key  crdt.PeerID
	sig  [ed25519.SignatureSize]byte
}

type rowName struct {
	doc  crdt.DocID
	name string
}

func newLedger() *ledger {
	return &ledger{
		changes: map[crdt.ChangeHash]authored{}, rows: map[rowName][]crdt.RowID{}, saw: map[crdt.RowID][]crdt.RowID{},
		decoded: map[string]*crdt.Change{}, proofs: map[proof]bool{},
		docOf: map[crdt.ActorID]crdt.DocID{}, actorOf: map[crdt.ChangeHash]crdt.ActorID{},
	}
}

// scribe is the codec of one peer; it notes in the ledger what that peer writes. Only a peer's own
// changes are encoded through its codec.
type scribe struct {
	crdt.Codec
	note func(crdt.DocID, *crdt.Change)
}

type scribeGate struct {
	crdt.Gate
	doc  crdt.DocID
	note func(crdt.DocID, *crdt.Change)
}

// NewGate implements [crdt.Codec].
func (s scribe) NewGate(id crdt.DocID, kind crdt.Kind) crdt.Gate {
	return scribeGate{s.Codec.NewGate(id, kind), id, s.note}
}

// Next implements [crdt.Gate].
func (g scribeGate) Next(actor crdt.ActorID, time int64, deps []crdt.ChangeHash, edits []crdt.Edit) (*crdt.Change, error) {
	c, err := g.Gate.Next(actor, time, deps, edits)
	if err == nil && c != nil {
		g.note(g.doc, c)
	}
	return c, err
}

// wrote notes a change that a peer made.
func (l *ledger) wrote(p *peer, doc crdt.DocID, c *crdt.Change) {
	l.changes[c.Hash] = authored{peer: p.n, rogue: p.rogue}
	l.docOf[c.Actor], l.actorOf[c.Hash] = doc, c.Actor
}

// seenRows lists the rows of a name that a view holds.
func (l *ledger) seenRows(v *crdt.View, store, name string) []crdt.RowID {
	var out []crdt.RowID
	for _, id := range l.rows[rowName{v.ID(), name}] {
		if _, here := v.Row(store, id); here {
			out = append(out, id)
		}
	}
	return out
}

// switched notes a row that was written after its writer had seen others. Two peers may write the same
// bytes: then the row stands for both.
func (l *ledger) switched(doc crdt.DocID, name string, id crdt.RowID, seen []crdt.RowID) {
	k := rowName{doc, name}
	if _, twice := l.saw[id]; !twice {
		l.rows[k] = append(l.rows[k], id)
	}
	l.saw[id] = append(l.saw[id], seen...)
}

// read decodes a stored change; members hold the same ones, so each is decoded once.
func (l *ledger) read(d *doc, sc crdt.SignedChange) (*crdt.Change, error) {
	if c, ok := l.decoded[string(sc.Raw)]; ok {
		return c, nil
	}
	c, err := chunk.New().Decode(d.kind, sc.Raw)
	if err == nil {
		l.decoded[string(sc.Raw)] = c
	}
	return c, err
}

// signed reports whether a signature on a change is that of a key.
func (l *ledger) signed(d *doc, c *crdt.Change, sig []byte, key crdt.PeerID) bool {
	if len(sig) != ed25519.SignatureSize {
		return false
	}
	k := proof{c.Hash, key, [ed25519.SignatureSize]byte(sig)}
	good, known := l.proofs[k]
	if !known {
		good = ed25519.Verify(key.Key(), crdt.ChangeMessage(d.id, c.Actor, c.Seq, c.Hash), sig)
		l.proofs[k] = good
	}
	return good
}
