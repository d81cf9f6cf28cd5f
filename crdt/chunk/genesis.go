package chunk

import (
	"strconv"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// genesisActor writes the genesis change and nothing else.
var genesisActor = crdt.ActorID{}

// Genesis computes the genesis change of a document: sequence number 1, first operation 1, time 0,
// no dependencies; one operation for each store, in the order of the kind, that makes its map, then
// one that sets meta/doc to the JSON text of the id. Only the last one is in Ops, because a
// [crdt.Op] can't say "make a map"; its operation id is (number of stores + 1, actor 0). Decode
// never accepts a genesis change: each peer computes it.
func (Codec) Genesis(id crdt.DocID, kind crdt.Kind) *crdt.Change {
	value := strconv.Quote(id.String()) // base32 needs no JSON escapes
	b := &body{actor: genesisActor, seq: 1, startOp: 1}
	meta := uint64(0)
	for i, s := range kind.Stores() {
		b.ops = append(b.ops, wireOp{root: true, key: s.Name, action: actMakeMap, valType: valNull})
		if s.Name == crdt.MetaStore {
			meta = uint64(i + 1)
		}
	}
	b.ops = append(b.ops, wireOp{
		objCtr: meta, key: crdt.MetaDocKey, action: actSet, valType: valText, value: value,
	})
	raw := b.encode()
	return &crdt.Change{
		Hash: hashOf(raw), Actor: genesisActor, Seq: 1, StartOp: 1, Raw: raw,
		Ops: []crdt.Op{{Store: crdt.MetaStore, Key: crdt.MetaDocKey, Value: value}},
	}
}

// NewGate implements [crdt.Codec].
func (c Codec) NewGate(id crdt.DocID, kind crdt.Kind) crdt.Gate {
	return newGate(c.Genesis(id, kind), kind)
}
