package chunk

import (
	"bytes"
	"errors"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// FuzzDecode: no input panics; what is refused is refused with a reason; what is accepted encodes to
// the same bytes and can be judged and absorbed. The input is tried as a chunk and as the content of
// a chunk with a right checksum, without which no fuzzer gets past the frame.
func FuzzDecode(f *testing.F) {
	h, a1, a2, b1, next := disputed(f)
	for _, c := range []*crdt.Change{a1, a2, b1, next, New().Genesis(doc, crdt.Agent)} {
		content, _, err := open(c.Raw)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(c.Raw)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, raw := range [][]byte{in, seal(in)} {
			c, err := New().Decode(h.kind, raw)
			if err != nil {
				var r *crdt.Refusal
				if c != nil || !errors.As(err, &r) || r.Reason == "" {
					t.Fatalf("refused as %v, %v", c, err)
				}
				continue
			}
			if got := raise(h.kind, c).encode(); !bytes.Equal(got, raw) {
				t.Fatalf("%x decodes to what is encoded as %x", raw, got)
			}
			again, _, _, _, _ := disputed(t)
			if again.gate.Check(c) == nil {
				again.gate.Absorb(c)
				if n, known := again.gate.graph.find(c.Hash); !known || again.gate.graph.nodes[n].hash != c.Hash {
					t.Fatal("absorbed, but not here")
				}
			}
		}
	})
}
