package docsync

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func newTestPages(t testing.TB) *Pages {
	t.Helper()
	p, err := NewPages()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestPageRoundTrip(t *testing.T) {
	p := newTestPages(t)
	rapid.Check(t, func(t *rapid.T) {
		var page []crdt.SignedChange
		n := rapid.IntRange(1, 20).Draw(t, "changes")
		for i := range n {
			c := crdt.SignedChange{Raw: rapid.SliceOfN(rapid.Byte(), 1, 400).Draw(t, "raw")}
			if i == n-1 || rapid.Bool().Draw(t, "signed") {
				c.Sig = bytes.Repeat([]byte{byte(i)}, 64)
			}
			page = append(page, c)
		}
		b, err := p.Encode(page)
		if err != nil {
			t.Fatal(err)
		}
		back, err := p.Decode(b)
		if err != nil || !reflect.DeepEqual(back, page) {
			t.Fatalf("came back as %v: %v", back, err)
		}
	})
}

func TestPageLimits(t *testing.T) {
	p := newTestPages(t)
	sig := make([]byte, 64)
	full := make([]byte, crdt.MaxChange)
	for i := range full {
		full[i] = byte(i * i >> 3)
	}
	b, err := p.Encode([]crdt.SignedChange{{Raw: full, Sig: sig}})
	if err != nil {
		t.Fatalf("a page with the largest change: %v", err)
	}
	if _, err := p.Decode(b); err != nil {
		t.Fatalf("a page with the largest change: %v", err)
	}
	if _, err := Encode(&Changes{Page: b}); err != nil {
		t.Fatalf("a frame with the largest change: %v", err)
	}
	pack := func(v any) []byte {
		raw, err := wire.enc.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return p.enc.EncodeAll(raw, nil)
	}
	bomb, err := zstd.NewWriter(nil, zstd.WithWindowSize(8<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer bomb.Close()
	cases := map[string][]byte{
		"nothing":          {},
		"rubbish":          []byte("rubbish"),
		"a bomb":           bomb.EncodeAll(make([]byte, 64<<20), nil),
		"a large window":   bomb.EncodeAll(bytes.Repeat([]byte("abcdefg"), 80_000), nil),
		"no changes":       pack([]pageEntry{}),
		"unsigned end":     pack([]pageEntry{{Raw: []byte{1}}}),
		"short signature":  pack([]pageEntry{{Raw: []byte{1}, Sig: []byte{1}}}),
		"an empty change":  pack([]pageEntry{{Sig: sig}}),
		"an oversize one":  pack([]pageEntry{{Raw: append(full, 1), Sig: sig}}),
		"not a page":       pack("hello"),
		"not canonical":    p.enc.EncodeAll([]byte{0x9f, 0xff}, nil),
		"cut off":          b[:len(b)/2],
		"too many changes": pack(make([]pageEntry, MaxPageChanges+1)),
	}
	for name, data := range cases {
		var proto *ProtocolError
		if _, err := p.Decode(data); !errors.As(err, &proto) || proto.Cause != CausePage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzPage(f *testing.F) {
	p := newTestPages(f)
	b, err := p.Encode([]crdt.SignedChange{{Raw: []byte("change"), Sig: make([]byte, 64)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		page, err := p.Decode(data)
		if err != nil {
			return
		}
		again, err := p.Encode(page)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := p.Decode(again); err != nil || !reflect.DeepEqual(back, page) {
			t.Fatalf("came back as %v: %v", back, err)
		}
	})
}
