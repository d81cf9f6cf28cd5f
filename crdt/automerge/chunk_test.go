package automerge

import (
	"crypto/sha256"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// FuzzCheckChunk: no bytes panic, and what passes is one chunk whose hash is right.
func FuzzCheckChunk(f *testing.F) {
	a := newAuthor(f, crdt.Session, 1)
	for _, c := range a.rows(2) {
		f.Add(c.raw)
	}
	f.Add(a.genesis.Raw)
	f.Add(a.doc.Save())
	f.Add([]byte(chunkMagic + "\x00\x00\x00\x00\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var hash crdt.ChangeHash
		if len(raw) > chunkHashed {
			hash = sha256.Sum256(raw[chunkHashed:])
			// Seal it, so that the parts behind the checksum are reached.
			raw = append([]byte(chunkMagic+string(hash[:4])), raw[chunkHashed:]...)
		}
		deps, err := checkChunk(hash, raw)
		if err == nil && len(deps)*len(hash) > len(raw) {
			t.Fatalf("%d dependencies in %d bytes", len(deps), len(raw))
		}
		hash[0] ^= 1
		if _, err := checkChunk(hash, raw); err == nil {
			t.Fatal("a wrong hash passed")
		}
	})
}
