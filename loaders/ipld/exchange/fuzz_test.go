package exchange

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// tape is a stream whose other side says what is on it and hears everything.
type tape struct {
	io.Reader
	heard bytes.Buffer
}

func (t *tape) Write(p []byte) (int, error) { return t.heard.Write(p) }

func framed(v any) []byte {
	var out bytes.Buffer
	if err := writeFrame(&out, v); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func request(ids ...string) *Request {
	return &Request{Version: Version, Kind: GitObject, Op: Get, Root: "r", IDs: ids}
}

// one object, "a", and nothing else.
type one struct{}

func (one) Get(_ context.Context, _ crdt.DocID, _, id string) ([]byte, error) {
	if id != "a" {
		return nil, loaders.ErrMissing
	}
	return []byte("object"), nil
}

func (one) Has(_ context.Context, _ crdt.DocID, _, id string) (bool, error) { return id == "a", nil }

func TestFramesAreStrict(t *testing.T) {
	good, err := wire.enc.Marshal(request("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	var r Request
	if err := decode(good, &r); err != nil || r.check() != nil || len(r.IDs) != 2 {
		t.Fatalf("control: %v, %+v", err, r)
	}
	longer := bytes.Replace(good, []byte{0x86, 0x01}, []byte{0x86, 0x18, 0x01}, 1) // version 1 in two bytes
	for name, b := range map[string][]byte{
		"another form":   longer,
		"trailing bytes": append(bytes.Clone(good), 0),
		"cut off":        good[:len(good)-1],
		"a map":          {0xa0},
		"empty":          nil,
		"a longer list":  append([]byte{0x87}, append(bytes.Clone(good[1:]), 0)...),
		"endless list":   append(append([]byte{0x9f}, good[1:]...), 0xff),
		"huge list":      {0x86, 1, 2, 1, 0x40, 0x61, 'r', 0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		var r Request
		if err := decode(b, &r); err == nil {
			t.Errorf("%s: accepted as %+v", name, r)
		}
	}
}

func TestHugeFrameIsNotRead(t *testing.T) {
	s := &Server{Sources: map[Kind]Source{GitObject: one{}}}
	in := &tape{Reader: bytes.NewReader(binary.BigEndian.AppendUint32(nil, 1<<31))}
	if err := s.Serve(t.Context(), crdt.PeerID{}, in); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Serve: %v", err)
	}
	in = &tape{Reader: bytes.NewReader(binary.BigEndian.AppendUint32(nil, maxHeader+1))}
	if err := NewClient(in, Max{}).Get(t.Context(), *request("a"), nil); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Get: %v", err)
	}
}

// A peer that promises much and sends little must not make the asker allocate what it promised.
func TestPromisesCostNothing(t *testing.T) {
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			in := &tape{Reader: io.MultiReader(bytes.NewReader(framed(&Reply{Size: 1 << 30})), bytes.NewReader([]byte("little")))}
			c := NewClient(in, Max{Item: 1 << 30, Total: 1 << 30})
			if err := c.Get(b.Context(), *request("a"), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
				b.Fatal(err)
			}
		}
	})
	if n := got.AllocedBytesPerOp(); n > 8<<20 {
		t.Errorf("%d bytes were allocated for a promise", n)
	}
}

func TestRepliesOutOfPlace(t *testing.T) {
	for name, replies := range map[string][]Reply{
		"another index":        {{Index: 1}},
		"unknown status":       {{Status: 9}},
		"not here, with bytes": {{Status: NotHere, Size: 3}},
		"one too few":          {{Status: NotHere}},
	} {
		var stream []byte
		for _, r := range replies {
			stream = append(stream, framed(&r)...)
		}
		in := &tape{Reader: bytes.NewReader(stream)}
		if err := NewClient(in, Max{}).Get(t.Context(), *request("a", "b"), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	in := &tape{Reader: bytes.NewReader(append(framed(&Reply{Status: NotHere}), framed(&Reply{Index: 1, Status: NotHere})...))}
	if err := NewClient(in, Max{}).Get(t.Context(), *request("a", "b"), nil); err != nil {
		t.Errorf("control: %v", err)
	}
	in = &tape{Reader: bytes.NewReader(framed(&Reply{Size: 3}))}
	if _, err := NewClient(in, Max{}).Have(t.Context(), *request("a")); err == nil {
		t.Error("bytes for Have: no error")
	}
}

func FuzzServe(f *testing.F) {
	f.Add(framed(request("a", "b")))
	f.Add(append(framed(request("a")), framed(&Request{Version: 2, Kind: Block, Op: Have, Root: "x", IDs: []string{"y"}})...))
	f.Add([]byte{0, 0, 0, 1, 0x80})
	f.Fuzz(func(t *testing.T, heard []byte) {
		s := &Server{
			Allow:   func(_ context.Context, _ crdt.PeerID, _ crdt.DocID, root string) bool { return root == "r" },
			Sources: map[Kind]Source{GitObject: one{}},
		}
		in := &tape{Reader: bytes.NewReader(heard)}
		_ = s.Serve(t.Context(), crdt.PeerID{}, in)
		// Whatever was asked, what was said is whole replies with the one object that there is.
		for out := bytes.NewReader(in.heard.Bytes()); out.Len() > 0; {
			frame, err := readFrame(out, maxHeader)
			if err != nil {
				t.Fatal(err)
			}
			var r Reply
			if err := decode(frame, &r); err != nil {
				t.Fatal(err)
			}
			data := make([]byte, r.Size)
			if _, err := io.ReadFull(out, data); err != nil || r.Size > 0 && (r.Status != Here || string(data) != "object") {
				t.Fatalf("%+v %q, %v", r, data, err)
			}
		}
	})
}

func FuzzClient(f *testing.F) {
	f.Add(append(append(framed(&Reply{Size: 3}), "abc"...), framed(&Reply{Index: 1, Status: NotHere})...))
	f.Add(framed(&Reply{Status: Refused}))
	f.Add([]byte{0, 0, 0, 40})
	f.Fuzz(func(t *testing.T, said []byte) {
		c := NewClient(&tape{Reader: bytes.NewReader(said)}, Max{Item: 100, Total: 150})
		total, last := 0, -1
		_ = c.Get(t.Context(), *request("0", "1", "2"), func(id string, data []byte) error {
			n := int(id[0] - '0')
			if n <= last || len(data) > 100 {
				t.Fatalf("object %s of %d bytes after object %d", id, len(data), last)
			}
			last = n
			total += len(data)
			return nil
		})
		if total > 150 {
			t.Fatalf("%d bytes were taken, the limit is 150", total)
		}
		c = NewClient(&tape{Reader: bytes.NewReader(said)}, Max{})
		req := request("bafkreidigzl375wku7jvcpsqyd34ratjiuo7sz2w3xxvf53dyiprpuyp3i")
		req.Kind = Block
		_ = c.Get(t.Context(), *req, func(string, []byte) error {
			t.Fatal("a block passed whose bytes can't be here")
			return nil
		})
	})
}
