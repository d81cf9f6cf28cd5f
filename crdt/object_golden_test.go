package crdt

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"testing"
)

var updateGolden = flag.Bool("update", false, "write the files in testdata anew")

// TestObjectBytesAreFrozen compares one object of each kind, and what is computed from them, with
// the bytes on record. A difference is a break of the format: peers would no longer understand each
// other.
func TestObjectBytesAreFrozen(t *testing.T) {
	var b bytes.Buffer
	objs := sampleObjects()
	for _, o := range objs {
		fmt.Fprintf(&b, "%s %s\n%s\n", o.Kind, o.ID, hex.EncodeToString(o.Raw))
	}
	a := Resolve(objs[0].Doc, objs)
	digest := a.Digest()
	fmt.Fprintf(&b, "digest %x\n", digest)
	golden(t, "testdata/access/objects.txt", b.Bytes())
}

func TestTicketTextIsFrozen(t *testing.T) {
	var b bytes.Buffer
	ticket, pair := sampleTicket(), samplePairTicket()
	fmt.Fprintf(&b, "%s\n%s\n", ticket, pair)
	fmt.Fprintf(&b, "secret hash %x\n", ticket.Secret.Hash())
	fmt.Fprintf(&b, "pair words %s\n", PairWords(testIdentity(0).PeerID(), testIdentity(1).PeerID(), pair.Secret))
	golden(t, "testdata/access/tickets.txt", b.Bytes())
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *updateGolden {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got\n%s", path, got)
	}
}
