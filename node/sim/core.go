package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// lightCore stands in for the Automerge core where a run is about everything else: it knows which
// changes are there and what the heads are.
type lightCore struct{}

type lightDoc struct {
	known map[crdt.ChangeHash]bool // false: something depends on it
}

var errMissing = errors.New("a dependency is not there")

// Build implements [crdt.Core].
func (lightCore) Build(genesis *crdt.Change, chunks iter.Seq2[crdt.ChangeHash, []byte]) (crdt.CoreDoc, error) {
	d := &lightDoc{known: map[crdt.ChangeHash]bool{genesis.Hash: true}}
	return d, d.ApplyPage(chunks)
}

// Apply implements [crdt.CoreDoc].
func (d *lightDoc) Apply(hash crdt.ChangeHash, raw []byte) error {
	if _, there := d.known[hash]; there {
		return nil
	}
	deps := chunkDeps(raw)
	for _, dep := range deps {
		if _, there := d.known[dep]; !there {
			return fmt.Errorf("apply change %s: %w", hash.String()[:12], errMissing)
		}
	}
	for _, dep := range deps {
		d.known[dep] = false
	}
	d.known[hash] = true
	return nil
}

// ApplyPage implements [crdt.CoreDoc].
func (d *lightDoc) ApplyPage(chunks iter.Seq2[crdt.ChangeHash, []byte]) error {
	for hash, raw := range chunks {
		if err := d.Apply(hash, raw); err != nil {
			return err
		}
	}
	return nil
}

// Heads implements [crdt.CoreDoc].
func (d *lightDoc) Heads() []crdt.ChangeHash {
	heads := slices.SortedFunc(maps.Keys(d.known), func(a, b crdt.ChangeHash) int { return slices.Compare(a[:], b[:]) })
	return slices.DeleteFunc(heads, func(h crdt.ChangeHash) bool { return !d.known[h] })
}

// Save implements [crdt.CoreDoc]; there is no file.
func (d *lightDoc) Save() []byte { return nil }

// Close implements [crdt.CoreDoc].
func (d *lightDoc) Close() {}

// chunkDeps reads the dependencies of a change chunk that the gate has accepted: magic and checksum
// (8 bytes), type (1), length, count, hashes.
func chunkDeps(raw []byte) []crdt.ChangeHash {
	if len(raw) < 9 {
		return nil
	}
	_, used := binary.Uvarint(raw[9:])
	b := raw[9+max(used, 0):]
	n, used := binary.Uvarint(b)
	b = b[max(used, 0):]
	var deps []crdt.ChangeHash
	for ; n > 0 && len(b) >= len(crdt.ChangeHash{}); n, b = n-1, b[len(crdt.ChangeHash{}):] {
		deps = append(deps, crdt.ChangeHash(b))
	}
	return deps
}

// fileHeads reads the heads that a saved Automerge file names: after magic, checksum, type 0 and
// length stand the actors, each behind its length, then the heads.
func fileHeads(file []byte) ([]crdt.ChangeHash, error) {
	bad := errors.New("not an Automerge document chunk")
	if len(file) < 9 || file[8] != 0 {
		return nil, bad
	}
	b := file[9:]
	number := func() int {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)) {
			b = nil
			return -1
		}
		b = b[used:]
		return int(n)
	}
	number()
	for range number() {
		if n := number(); n < 0 || n > len(b) {
			return nil, bad
		} else {
			b = b[n:]
		}
	}
	n := number()
	if n < 0 || n*len(crdt.ChangeHash{}) > len(b) {
		return nil, bad
	}
	heads := make([]crdt.ChangeHash, n)
	for i := range heads {
		heads[i] = crdt.ChangeHash(b[32*i:])
	}
	slices.SortFunc(heads, func(a, b crdt.ChangeHash) int { return slices.Compare(a[:], b[:]) })
	return heads, nil
}
