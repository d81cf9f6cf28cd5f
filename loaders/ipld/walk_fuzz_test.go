package ipld

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ipfs/go-cid"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// spec is one block of a random DAG as it was made, for an oracle that knows no CIDs.
type spec struct {
	raw      bool
	inline   []byte
	size     int64
	sizes    []int64
	children []int
	cid      cid.Cid
}

// dagOf reads instructions: each makes a block that links only blocks made before it.
func dagOf(script []byte) ([]spec, memory) {
	var specs []spec
	held := memory{}
	next := func() int {
		if len(script) == 0 {
			return 0
		}
		b := script[0]
		script = script[1:]
		return int(b)
	}
	for len(script) > 0 && len(specs) < 40 {
		s := spec{raw: next()%2 == 0}
		s.inline = bytes.Repeat([]byte{byte(next())}, next()%50)
		block, codec := s.inline, uint64(cid.Raw)
		if !s.raw {
			s.size = int64(len(s.inline))
			var parts []part
			for range next() % 6 {
				if len(specs) == 0 {
					break
				}
				i := next() % len(specs)
				n := specs[i].size
				if lie := next(); lie > 240 {
					n += int64(lie) - 248
				}
				s.children, s.sizes, s.size = append(s.children, i), append(s.sizes, n), s.size+n
				parts = append(parts, part{cid: specs[i].cid})
			}
			switch lie := next(); {
			case lie > 240:
				s.size += int64(lie) - 248
			case lie > 230 && len(s.sizes) > 0:
				s.sizes = s.sizes[1:]
			}
			codec = cid.DagProtobuf
			var err error
			if block, err = encodePB(fileData(s.inline, s.size, s.sizes...), make([]string, len(parts)), parts); err != nil {
				panic(err)
			}
		} else {
			s.size = int64(len(s.inline))
		}
		s.cid = cidOf(codec, block)
		specs = append(specs, s)
		if next()%32 != 31 { // some are missing
			held[string(s.cid.Hash())] = verified{s.cid, block}
		}
	}
	return specs, held
}

// oracle unfolds a DAG in the plain way: its bytes, how many blocks were come to, how deep.
type oracle struct {
	specs   []spec
	held    memory
	visits  int
	deepest int
	missing bool
	lie     bool
}

func (o *oracle) read(i, depth int) []byte {
	s := o.specs[i]
	if o.visits++; o.visits > 400 {
		return nil
	}
	o.deepest = max(o.deepest, depth)
	if _, ok := o.held[string(s.cid.Hash())]; !ok {
		o.missing = true
		return nil
	}
	out := bytes.Clone(s.inline)
	if len(s.sizes) != len(s.children) {
		o.lie = true
		return out
	}
	for j, c := range s.children {
		part := o.read(c, depth+1)
		if int64(len(part)) != s.sizes[j] {
			o.lie = true
		}
		out = append(out, part...)
	}
	if int64(len(out)) != s.size {
		o.lie = true
	}
	return out
}

func FuzzWalkFile(f *testing.F) {
	f.Add([]byte{0, 1, 10, 0, 1, 2, 5, 2, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0, 1, 10, 0, 1, 2, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 5, 5, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0})
	f.Add([]byte{0, 1, 10, 31, 1, 2, 5, 2, 0, 245, 0, 0, 0, 0})
	f.Add(bytes.Repeat([]byte{1, 0, 0, 5, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 0, 0}, 12))
	f.Fuzz(func(t *testing.T, script []byte) {
		specs, held := dagOf(script)
		lim := Limits{Blocks: 200}.withDefaults()
		for i, s := range specs {
			o := &oracle{specs: specs, held: held}
			want := o.read(i, 0)
			for _, keep := range []bool{true, false} {
				w := newWalk(t.Context(), held, lim, 10_000)
				got, err := w.readFile(s.cid, 0, "file", 10_000, keep)
				if w.visits > lim.Blocks+1 {
					t.Fatalf("%d blocks were come to, the limit is %d", w.visits, lim.Blocks)
				}
				if err != nil && !errors.Is(err, loaders.ErrInvalid) {
					t.Fatal(err)
				}
				whole := err == nil && len(w.missing) == 0
				fits := !o.lie && o.visits <= lim.Blocks && o.deepest <= lim.Depth && len(want) <= 10_000
				switch {
				case o.missing && whole:
					t.Fatal("a file with a hole was read as whole")
				case o.missing:
				case whole != fits:
					t.Fatalf("keep %v: read as whole: %v (%v); it is: %v", keep, whole, err, fits)
				case whole && keep && !bytes.Equal(got, want):
					t.Fatalf("%d bytes, want %d", len(got), len(want))
				}
			}
		}
	})
}

// Any bytes under any codec: no panic, no work beyond the limits.
func FuzzReadPackage(f *testing.F) {
	l := newLoader(f, nil)
	wasm := module(100, 1)
	m := put(f, l, cid.Raw, wasm)
	f.Add(uint8(0), cborOf(f, fields(wasm, link(m), nil)))
	f.Add(uint8(1), jsonOf(f, fields(wasm, link(m), nil)))
	f.Add(uint8(2), wasm)
	for _, root := range []string{
		putPB(f, l, fileData(wasm, 100), nil, nil),
		putDir(f, l, map[string]string{"manifest.json": put(f, l, cid.Raw, jsonOf(f, fields(wasm, "m", nil))), "m": m}),
	} {
		block, err := l.store.Get(f.Context(), root)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(3), block)
	}
	f.Fuzz(func(t *testing.T, codec uint8, block []byte) {
		if len(block) > MaxBlock {
			return
		}
		c := cidOf([]uint64{cid.DagCBOR, cid.DagJSON, cid.Raw, cid.DagProtobuf}[codec%4], block)
		src := &cargo{base: l.store, held: map[string]verified{string(c.Hash()): {c, block}}}
		w := l.walk(t.Context(), src)
		p, err := l.load(w, c, probe(c.String()))
		if err != nil {
			if !errors.Is(err, loaders.ErrInvalid) && !errors.Is(err, loaders.ErrMissing) {
				t.Fatal(err)
			}
			return
		}
		if p.Manifest.Name != "probe" || int64(len(p.WASM)) != p.Manifest.WASMSize || p.SHA256() != p.Manifest.WASMSHA256 {
			t.Fatalf("loaded against its own word: %+v", p.Manifest)
		}
	})
}
