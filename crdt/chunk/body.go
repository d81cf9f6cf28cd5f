package chunk

import (
	"bytes"
	"crypto/sha256"

	"github.com/chaz-peer/chaz-peer/crdt"
)

const (
	chunkMagic  = "\x85\x6f\x4a\x83"
	chunkChange = 1 // chunk type: a change, not deflated
	actorLen    = 16
	headLen     = 4 + 4 + 1 // magic, checksum, chunk type
)

// body is a change as the wire has it: actors as indexes (0 is the change's own, then others),
// objects as operation ids.
type body struct {
	deps    []crdt.ChangeHash
	actor   crdt.ActorID
	seq     uint64
	startOp uint64
	time    int64
	others  []crdt.ActorID
	ops     []wireOp
}

// wireOp is one operation. A root operation has no object id.
type wireOp struct {
	root     bool
	objActor uint64
	objCtr   uint64
	key      string
	action   uint64
	valType  uint64
	value    string
	pred     []wirePred
}

type wirePred struct {
	actor uint64
	ctr   int64
}

// hashOf is the name of a chunk: the SHA-256 of everything after the checksum.
func hashOf(raw []byte) crdt.ChangeHash { return sha256.Sum256(raw[8:]) }

// seal frames the content of a change chunk.
func seal(content []byte) []byte {
	raw := make([]byte, 8, headLen+10+len(content))
	raw = append(raw, chunkChange)
	raw = appendUleb(raw, uint64(len(content)))
	raw = append(raw, content...)
	copy(raw, chunkMagic)
	sum := hashOf(raw)
	copy(raw[4:8], sum[:])
	return raw
}

// open checks the frame and returns the content and the hash.
func open(raw []byte) ([]byte, crdt.ChangeHash, error) {
	var hash crdt.ChangeHash
	if len(raw) > crdt.MaxChange {
		return nil, hash, crdt.Refuse(crdt.ReasonTooLarge, "%d bytes, at most %d", len(raw), crdt.MaxChange)
	}
	if len(raw) < headLen || string(raw[:4]) != chunkMagic {
		return nil, hash, malformed("not an Automerge chunk")
	}
	hash = hashOf(raw)
	if !bytes.Equal(hash[:4], raw[4:8]) {
		return nil, hash, malformed("checksum does not match")
	}
	if raw[8] != chunkChange {
		return nil, hash, malformed("chunk type %d is not a plain change", raw[8])
	}
	r := reader{b: raw[headLen:]}
	if n := r.uleb(); r.bad || n != uint64(len(r.b)) {
		return nil, hash, malformed("chunk length does not match")
	}
	return r.b, hash, nil
}

func malformed(format string, args ...any) error {
	return crdt.Refuse(crdt.ReasonMalformed, format, args...)
}

// parse reads the content of a change chunk. Canonical form is checked only as far as that is free;
// the caller compares with what encode writes.
func parse(content []byte) (*body, error) {
	r := reader{b: content}
	b := &body{}
	if err := b.readDeps(&r); err != nil {
		return nil, err
	}
	if n := r.uleb(); n != actorLen {
		return nil, malformed("actor of %d bytes", n)
	}
	copy(b.actor[:], r.take(actorLen))
	b.seq = r.uleb()
	b.startOp = r.uleb()
	b.time = r.sleb()
	if n := r.uleb(); n != 0 {
		return nil, malformed("has a message")
	}
	if err := b.readOthers(&r); err != nil {
		return nil, err
	}
	if r.bad {
		return nil, malformed("broken header")
	}
	if err := b.readColumns(&r); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *body) readDeps(r *reader) error {
	n := r.uleb()
	if n > crdt.MaxDeps {
		return crdt.Refuse(crdt.ReasonTooLarge, "%d dependencies, at most %d", n, crdt.MaxDeps)
	}
	list := r.take(n * uint64(len(crdt.ChangeHash{})))
	if r.bad {
		return malformed("broken dependencies")
	}
	b.deps = make([]crdt.ChangeHash, n)
	for i := range b.deps {
		list = list[copy(b.deps[i][:], list):]
		if i > 0 && bytes.Compare(b.deps[i-1][:], b.deps[i][:]) >= 0 {
			return malformed("dependencies not sorted")
		}
	}
	return nil
}

func (b *body) readOthers(r *reader) error {
	n := r.uleb()
	if n > uint64(len(r.b))/(1+actorLen) {
		return malformed("broken actor table")
	}
	b.others = make([]crdt.ActorID, n)
	for i := range b.others {
		if l := r.uleb(); l != actorLen {
			return malformed("actor of %d bytes", l)
		}
		a := &b.others[i]
		copy(a[:], r.take(actorLen))
		if *a == b.actor || i > 0 && bytes.Compare(b.others[i-1][:], a[:]) >= 0 {
			return malformed("actor table not sorted")
		}
	}
	return nil
}

// encode writes the chunk of a change, byte for byte as the core does.
func (b *body) encode() []byte {
	size := 64 + len(b.deps)*32 + len(b.others)*17
	for i := range b.ops {
		size += len(b.ops[i].key) + len(b.ops[i].value) + 8 + 8*len(b.ops[i].pred)
	}
	out := make([]byte, 0, size)
	out = appendUleb(out, uint64(len(b.deps)))
	for i := range b.deps {
		out = append(out, b.deps[i][:]...)
	}
	out = append(append(out, actorLen), b.actor[:]...)
	out = appendUleb(out, b.seq)
	out = appendUleb(out, b.startOp)
	out = appendSleb(out, b.time)
	out = append(out, 0) // no message
	out = appendUleb(out, uint64(len(b.others)))
	for i := range b.others {
		out = append(append(out, actorLen), b.others[i][:]...)
	}
	return seal(b.appendColumns(out))
}
