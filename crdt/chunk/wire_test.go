package chunk

import (
	"bytes"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func TestNumbersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u, s := rapid.Uint64().Draw(t, "u"), rapid.Int64().Draw(t, "s")
		r := reader{b: appendSleb(appendUleb(nil, u), s)}
		if gu, gs := r.uleb(), r.sleb(); gu != u || gs != s || r.bad || len(r.b) != 0 {
			t.Fatalf("%d %d became %d %d, bad %v", u, s, gu, gs, r.bad)
		}
	})
}

// TestNumbersHaveOneForm: whatever is read is what would be written.
func TestNumbersHaveOneForm(t *testing.T) {
	good := 0
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x3f, 0x40, 0x7f, 0x80, 0x81, 0xbf, 0xc0, 0xff}), 0, 12).Draw(t, "in")
		if r := (reader{b: in}); true {
			if v := r.uleb(); !r.bad {
				good++
				if got := append(appendUleb(nil, v), r.b...); !bytes.Equal(got, in) {
					t.Fatalf("unsigned %x is read as %d, which is written %x", in, v, got)
				}
			}
		}
		if r := (reader{b: in}); true {
			if v := r.sleb(); !r.bad {
				good++
				if got := append(appendSleb(nil, v), r.b...); !bytes.Equal(got, in) {
					t.Fatalf("signed %x is read as %d, which is written %x", in, v, got)
				}
			}
		}
	})
	if good == 0 {
		t.Error("nothing was read")
	}
}

func TestColumnsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Uint64Range(0, 3), 0, 40).Draw(t, "values")
		w := runWriter[uint64]{put: appendUleb}
		for _, v := range want {
			w.add(v)
		}
		var got []uint64
		for r := newRuns(w.bytes()); !r.done(); {
			got = append(got, r.next())
			if r.bad {
				t.Fatal("broken")
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v became %v", want, got)
		}
	})
}

// TestChangesRoundTrip: a change of any edits decodes to itself, and is judged well.
func TestChangesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]crdt.Kind{crdt.Session, crdt.Agent, crdt.Package}).Draw(t, "kind")
		h := New()
		g := h.NewGate(doc, kind)
		heads := []crdt.ChangeHash{h.Genesis(doc, kind).Hash}
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			edits := rapid.SliceOfNDistinct(rapid.Custom(drawEdit(kind)), 0, 30, func(e crdt.Edit) string { return e.Store + "\x00" + e.Key }).Draw(t, "edits")
			actor := crdt.ActorID{rapid.SampledFrom([]byte{1, 2}).Draw(t, "actor")}
			c, err := g.Next(actor, rapid.Int64Range(0, maxTime).Draw(t, "time"), heads, edits)
			if err != nil {
				t.Fatal(err)
			}
			if c == nil {
				continue
			}
			got, err := h.Decode(kind, c.Raw)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(raise(kind, got).encode(), c.Raw) || got.Hash != c.Hash || len(got.Ops) != len(c.Ops) {
				t.Fatalf("%+v became %+v", c, got)
			}
			if err := g.Check(got); err != nil {
				t.Fatal(err)
			}
			g.Absorb(got)
			heads = []crdt.ChangeHash{got.Hash}
		}
	})
}

func drawEdit(kind crdt.Kind) func(*rapid.T) crdt.Edit {
	return func(t *rapid.T) crdt.Edit {
		s := rapid.SampledFrom(kind.Stores()).Draw(t, "store")
		value, err := crdt.Canonical(rapid.String().Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		e := crdt.Edit{Store: s.Name, Value: value}
		if s.Rows {
			e.Key = crdt.RowIDOf(value).String()
			e.Delete = s.Deletable && rapid.Bool().Draw(t, "delete")
			return e
		}
		e.Key = rapid.StringN(1, 8, crdt.MaxKey).Filter(func(k string) bool { return k != crdt.MetaDocKey }).Draw(t, "key")
		e.Delete = rapid.Bool().Draw(t, "delete")
		return e
	}
}

// TestBombs: columns that claim more than they hold cost no memory.
func TestBombs(t *testing.T) {
	h, _, _, _, next := disputed(t)
	content, _, err := open(next.Raw)
	if err != nil {
		t.Fatal(err)
	}
	header := content[:1+32*int(content[0])+17+3+1+1+2*17]
	run := func(n int64, tail ...byte) []byte { return append(appendSleb(nil, n), tail...) }
	const many = crdt.MaxOps
	// One key over and over, and one operation that replaces a great many of one actor.
	base := [len(columnIDs)][]byte{
		run(many, 1), run(many, 8), run(many, 1, 'k'), appendUleb(nil, many), run(many, actSet),
		run(many, valText), nil, run(many, 0), nil, nil,
	}
	replacing := [len(columnIDs)][]byte{
		run(1, 1), run(1, 8), run(1, 1, 'k'), appendUleb(nil, 1), run(1, actSet),
		run(1, valText), nil, append(run(1), appendUleb(nil, many)...), run(many, 1), run(many, 1),
	}
	bombs := map[string][len(columnIDs)][]byte{"replacing": replacing}
	for i := range base {
		for name, n := range map[string]int64{"millions": 1 << 40, "most": 1<<63 - 1, "least": -1 << 63} {
			b := base
			b[i] = run(n, 1, 1)
			bombs[name+" in column "+string(rune('0'+i))] = b
		}
	}
	bombs["base"] = base
	for name, data := range bombs {
		raw := seal(joinColumns(bytes.Clone(header), &data))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := h.judge(raw)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: passed", name)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<10 {
			t.Errorf("%s: %d bytes of input took %d bytes of memory", name, len(raw), used)
		}
	}
}

// TestOneFormOnly changes every byte of a chunk's content: what is still accepted is what our encoder
// writes for it, so no two chunks say the same.
func TestOneFormOnly(t *testing.T) {
	h, _, _, _, next := disputed(t)
	content, _, err := open(next.Raw)
	if err != nil {
		t.Fatal(err)
	}
	accepted, refused := 0, 0
	for i := range content {
		for bit := range 8 {
			b := bytes.Clone(content)
			b[i] ^= 1 << bit
			raw := seal(b)
			c, err := New().Decode(h.kind, raw)
			if err != nil {
				refused++
				continue
			}
			accepted++
			if got := raise(h.kind, c).encode(); !bytes.Equal(got, raw) {
				t.Errorf("byte %d: %x decodes to what is encoded as %x", i, raw, got)
			}
		}
	}
	if accepted == 0 || refused == 0 {
		t.Errorf("%d accepted, %d refused: the test did not meet what it is for", accepted, refused)
	}
}
