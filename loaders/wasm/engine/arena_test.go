package engine

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestArena: whatever is done to it, blocks that live keep their bytes and never overlap.
func TestArena(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := arena{limit: 4096}
		a.reset()
		live := map[uint64][]byte{}
		check := func() {
			total := int64(0)
			for at, want := range live {
				got, ok := a.block(at)
				if !ok || !bytes.Equal(got, want) || a.length(at) != uint64(len(want)) {
					t.Fatalf("block %d is %x, want %x", at, got, want)
				}
				total += int64(len(want))
			}
			if total > a.limit {
				t.Fatalf("%d bytes live, the limit is %d", total, a.limit)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"put", "put", "free", "reset"}).Draw(t, "step") {
			case "put":
				b := rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "bytes")
				if at, ok := a.put(b); ok {
					if _, twice := live[at]; twice || at == 0 {
						t.Fatalf("offset %d twice", at)
					}
					live[at] = b
				} else if len(live) == 0 && len(b) < 3000 {
					t.Fatal("an empty arena is full")
				}
			case "free":
				at := rapid.Uint64Range(0, 4500).Draw(t, "at")
				for k := range live { // more often one that is there
					at = k
					break
				}
				a.free(at)
				a.free(at)
				delete(live, at)
			case "reset":
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					a.reset()
					clear(live)
				}
			}
			check()
		}
		at, n := rapid.Uint64().Draw(t, "wild"), rapid.Uint64().Draw(t, "size")
		if b, ok := a.bytes(at, n); ok && uint64(len(b)) != n {
			t.Fatal("another size")
		}
		a.loadU64(at)
		a.storeU64(at, n)
		check2(t, &a, live)
	})
}

// check2 is for after a wild store: lengths still hold.
func check2(t *rapid.T, a *arena, live map[uint64][]byte) {
	for at, want := range live {
		if a.length(at) != uint64(len(want)) {
			t.Fatalf("block %d has another length", at)
		}
	}
}

func TestVars(t *testing.T) {
	v := vars{limit: 100}
	if !v.set("a", []byte("0123456789"), true) || !v.set("a", make([]byte, 60), true) || v.set("b", make([]byte, 10), true) {
		t.Error("the limit of 100 bytes: a name, its bytes, 32 more each")
	}
	if !v.set("a", nil, false) || !v.set("b", make([]byte, 60), true) || len(v.get("a")) != 0 || len(v.get("b")) != 60 {
		t.Error("a variable that was forgotten still takes room")
	}
	if v.set("c", nil, true) || v.size != 93 {
		t.Errorf("%d bytes", v.size)
	}
}

func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"plain", "a\n\x1b[31m", "\xff\xfe", "\u202egnp", "tab\t", "é日本", strings.Repeat("x", 50), "\u2028\ufffd"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 40
		s := printable(b, limit)
		if !utf8.ValidString(s) || len(s) > limit+len(`\U0010ffff`)+len("…") {
			t.Errorf("%q", s)
		}
		for _, r := range s {
			if r != '\t' && !unicode.IsPrint(r) {
				t.Errorf("%q has %U", s, r)
			}
		}
		if utf8.Valid(b) && len(b) <= limit && strings.IndexFunc(string(b), func(r rune) bool { return !unicode.IsPrint(r) }) < 0 && s != string(b) {
			t.Errorf("%q was changed to %q", b, s)
		}
	})
}

func FuzzSeal(f *testing.F) {
	s, err := newSeal(testKey)
	if err != nil {
		f.Fatal(err)
	}
	good := s.wrap("name", sealed{file: "f", metered: []byte("module"), native: []byte("code")})
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte(sealMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		// Each run of the target seals the same with another nonce.
		if c, err := s.open("name", b); err == nil && (c.file != "f" || string(c.metered) != "module" || string(c.native) != "code") {
			t.Errorf("%x is taken for %+v", b, c)
		}
	})
}
