package docsync

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func counting[T [16]byte | [32]byte](first byte) (out T) {
	for i := range len(out) {
		out[i] = first + byte(i)
	}
	return out
}

// goldenFrames is one frame of each type: the examples of docs/wire.md.
func goldenFrames() []Frame {
	tip := VectorEntry{Actor: crdt.ActorID(counting[[16]byte](0x10)), Seq: 300, Hash: crdt.ChangeHash(counting[[32]byte](0x40))}
	no := RefusedEntry{Hash: crdt.ChangeHash(counting[[32]byte](0x80)), Reason: "no_right"}
	tag := Tag(counting[[16]byte](0xa0))
	return []Frame{
		&Hello{Min: 1, Max: 1, Clock: 1_700_000_000_000, Nonce: counting[[16]byte](0), Features: []string{"x"}, Agent: "chaz-peer/0.1.0"},
		&Ping{ID: 1, Clock: 1_700_000_000_000},
		&Pong{ID: 1, Clock: -1},
		&Announce{Entries: []AnnounceEntry{{Tag: tag, Vector: counting[[32]byte](0), Access: counting[[32]byte](0x20)}}},
		&Unknown{Tags: []Tag{tag}},
		&Offer{Doc: crdt.DocID(counting[[32]byte](0)), Kind: "session", Objects: [][]byte{{0xde, 0xad}}},
		&Open{Chan: 24, Tag: tag, Objects: [][]byte{{0xde, 0xad}}, Secret: []byte{1, 2}, Role: "write", Note: "it is me"},
		&Opened{Chan: 24},
		&Refused{Chan: 24, Code: CodeNotServed},
		&Access{Chan: 24, IDs: []crdt.ObjectID{counting[[32]byte](0)}},
		&Objects{Chan: 24, Objects: [][]byte{{0xde, 0xad}}},
		&Have{Chan: 24, Vector: []VectorEntry{tip}, Refused: []RefusedEntry{no}},
		&Changes{Chan: 24, Page: []byte{0x28, 0xb5, 0x2f, 0xfd}, Marks: []Mark{{Actor: tip.Actor, Seq: tip.Seq}}, More: true},
		&Ack{Chan: 24, Vector: []VectorEntry{tip}},
		&Proof{Chan: 24, Actor: tip.Actor, Seq: tip.Seq, Hash: tip.Hash, Sig: bytes.Repeat([]byte{0x55}, 64)},
		&Close{Chan: 24, Code: CodeDone},
		&Error{Code: CodeProtocol, Text: "gap: a change at 4 of an actor that stands at 2 here"},
	}
}

// TestGoldenFrames: the bytes of the protocol never change.
func TestGoldenFrames(t *testing.T) {
	var out strings.Builder
	for _, f := range goldenFrames() {
		b, err := Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s %s\n", strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", f), "*docsync.")), hex.EncodeToString(b))
	}
	tag := MakeTag(crdt.DocID(counting[[32]byte](0)), counting[[16]byte](1), counting[[16]byte](2))
	fmt.Fprintf(&out, "tag %x\n", tag[:])
	const path = "testdata/golden/frames.txt"
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the encoding differs from %s:\n%s", path, out.String())
	}
}
