package chunk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Mutators for the attack, exported to the external test package only. Each returns a chunk with a
// right checksum.

// Source is where mutators draw their choices from.
type Source interface{ IntN(n int) int }

// MutateBytes changes some bytes of the content.
func MutateBytes(rnd Source, raw []byte) []byte {
	content, _, err := open(raw)
	if err != nil {
		return nil
	}
	b := bytes.Clone(content)
	for range 1 + rnd.IntN(3) {
		i := rnd.IntN(len(b))
		switch rnd.IntN(5) {
		case 0:
			b[i] ^= 1 << rnd.IntN(8)
		case 1:
			b[i] = byte(rnd.IntN(256))
		case 2:
			b[i] += byte(rnd.IntN(5)) - 2
		case 3:
			b = slices.Insert(b, i, byte(rnd.IntN(256)))
		case 4:
			if len(b) > 2 {
				b = slices.Delete(b, i, i+1)
			}
		}
	}
	return seal(b)
}

// MutateOps changes some fields of the change and encodes it anew, so that it is canonical. known
// are hashes and actors that the document has.
func MutateOps(rnd Source, raw []byte, known []crdt.ChangeHash, actors []crdt.ActorID) []byte {
	content, _, err := open(raw)
	if err != nil {
		return nil
	}
	b, err := parse(content)
	if err != nil {
		return nil
	}
	for range 1 + rnd.IntN(2) {
		if rnd.IntN(3) == 0 {
			mutateHeader(rnd, b, known, actors)
		} else {
			mutateOp(rnd, b)
		}
	}
	return b.encode()
}

func mutateHeader(rnd Source, b *body, known []crdt.ChangeHash, actors []crdt.ActorID) {
	step := uint64(rnd.IntN(7) - 3)
	switch rnd.IntN(9) {
	case 0:
		b.startOp += step
	case 1:
		b.seq += step
	case 2:
		b.time = []int64{-1, 0, 1, maxTime, maxTime + 1, 1<<63 - 1, -1 << 63}[rnd.IntN(7)]
	case 3:
		b.actor = actors[rnd.IntN(len(actors))]
	case 4:
		if len(b.deps) > 0 {
			b.deps = slices.Delete(b.deps, 0, 1)
		}
	case 5:
		b.deps = append(b.deps, known[rnd.IntN(len(known))])
		slices.SortFunc(b.deps, compareHashes)
	case 6:
		b.others = append(b.others, actors[rnd.IntN(len(actors))])
		slices.SortFunc(b.others, func(x, y crdt.ActorID) int { return bytes.Compare(x[:], y[:]) })
	case 7:
		if len(b.others) > 0 {
			b.others = b.others[1:]
		}
	case 8:
		b.others = slices.Clone(b.others)
		slices.Reverse(b.others)
	}
}

func mutateOp(rnd Source, b *body) {
	i := rnd.IntN(len(b.ops))
	o := &b.ops[i]
	switch rnd.IntN(15) {
	case 0:
		o.objCtr += uint64(rnd.IntN(7) - 3)
	case 1:
		o.objActor = uint64(rnd.IntN(4))
	case 2:
		o.action = uint64(rnd.IntN(9))
	case 3:
		o.valType = uint64(rnd.IntN(16))
	case 4:
		o.pred = append(o.pred, wirePred{uint64(rnd.IntN(4)), int64(1 + rnd.IntN(40))})
	case 5, 6:
		if n := len(o.pred); n > 0 {
			o.pred[rnd.IntN(n)].ctr += int64(rnd.IntN(7) - 3)
		}
	case 7:
		if n := len(o.pred); n > 0 {
			o.pred[rnd.IntN(n)].actor = uint64(rnd.IntN(4))
		}
	case 8:
		o.pred = nil
	case 9:
		b.ops = append(b.ops, *o)
	case 10:
		o.root = true
	case 11:
		o.key = []string{"", "doc", "\xff", "name", "a/b", string(bytes.Repeat([]byte("k"), crdt.MaxKey+1))}[rnd.IntN(6)]
	case 12:
		o.value = []string{"", "{", "\xff", "null", `"\ud800"`, "[1e999]"}[rnd.IntN(6)]
	case 13:
		// A row of other bytes under the right hash: legal in a row store.
		o.value += " "
		sum := sha256.Sum256([]byte(o.value))
		o.key = hex.EncodeToString(sum[:])
	case 14:
		slices.Reverse(b.ops)
	}
}
