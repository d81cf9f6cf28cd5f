package ipld

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	blocks "github.com/ipfs/go-block-format"
	"github.com/ipfs/go-cid"
	car "github.com/ipld/go-car/v2"
	carstorage "github.com/ipld/go-car/v2/storage"
	"github.com/multiformats/go-multihash"

	"github.com/chaz-peer/chaz-peer/loaders"
)

func exported(t testing.TB, l *Loader, root string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := l.Export(t.Context(), root, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestCARCarriesAPackage(t *testing.T) {
	wasm := module(5<<20, 6)
	for name, make := range map[string]func(l *Loader) string{
		"node":     func(l *Loader) string { return packNode(t, l, wasm).Root },
		"bare":     func(l *Loader) string { return ours(t, l, wasm, ProfilePlain) },
		"old bare": func(l *Loader) string { return ours(t, l, wasm, ProfileV0) },
		"directory": func(l *Loader) string {
			return putDir(t, l, map[string]string{
				"manifest.json": put(t, l, cid.Raw, jsonOf(t, fields(wasm, "m.wasm", nil))),
				"m.wasm":        ours(t, l, wasm, ProfileV1),
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newLoader(t, nil)
			root := make(a)
			file := exported(t, a, root)
			if !bytes.Equal(file, exported(t, a, root)) {
				t.Error("two exports differ")
			}
			b := newLoader(t, nil)
			in, err := b.Import(t.Context(), iotest.HalfReader(bytes.NewReader(file)))
			if err != nil {
				t.Fatal(err)
			}
			ids, err := a.Closure(t.Context(), root)
			if err != nil {
				t.Fatal(err)
			}
			if in.Root != root || in.Blocks != len(ids) || in.Unread != 0 {
				t.Errorf("Import: %+v; want %d blocks of %s", in, len(ids), root)
			}
			mustLoad(t, b, root, wasm)
			if !bytes.Equal(file, exported(t, b, root)) {
				t.Error("the copy exports other bytes")
			}
			sameOrder(t, file, ids)
		})
	}
}

// sameOrder reads a file with the CAR library of others.
func sameOrder(t *testing.T, file []byte, want []string) {
	t.Helper()
	r, err := car.NewBlockReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if r.Version != 1 || len(r.Roots) != 1 || r.Roots[0].String() != want[0] {
		t.Errorf("header: version %d, roots %v", r.Version, r.Roots)
	}
	var got []string
	for {
		b, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b.Cid().String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("blocks %v, want %v", got, want)
	}
}

// carOf writes blocks with the CAR library of others.
func carOf(t testing.TB, l *Loader, roots, ids []string) []byte {
	t.Helper()
	var out bytes.Buffer
	var rs []cid.Cid
	for _, r := range roots {
		rs = append(rs, cid.MustParse(r))
	}
	w, err := carstorage.NewWritable(&out, rs, car.WriteAsCarV1(true), car.AllowDuplicatePuts(true))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		c := cid.MustParse(id)
		data, err := readBlock(l.store.path(c))
		if err != nil {
			t.Fatal(err)
		}
		b, err := blocks.NewBlockWithCid(data, c)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Put(t.Context(), string(b.Cid().Bytes()), b.RawData()); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestImportOfForeignCAR(t *testing.T) {
	a := newLoader(t, nil)
	wasm := module(3<<20, 6)
	other := put(t, a, cid.Raw, []byte("a file that no load reads"))
	m := ours(t, a, wasm, ProfileV1)
	manifest := put(t, a, cid.Raw, jsonOf(t, fields(wasm, "m.wasm", nil)))
	root := putDir(t, a, map[string]string{"manifest.json": manifest, "m.wasm": m, "README": other})
	ids, err := a.Closure(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	ids = append(ids, other)
	slices.Reverse(ids) // any order is as good as ours
	b := newLoader(t, nil)
	in, err := b.Import(t.Context(), bytes.NewReader(carOf(t, a, []string{root}, ids)))
	if err != nil {
		t.Fatal(err)
	}
	if in.Unread != 1 || in.Root != root || in.Manifest == nil || in.Manifest.Name != "probe" {
		t.Errorf("Import: %+v", in)
	}
	if here, err := b.store.Has(other); err != nil || here {
		t.Errorf("a block that no load reads was kept (%v)", err)
	}
	mustLoad(t, b, root, wasm)
}

// refusedImport checks that a file is refused whole, and that the same loader takes a good one.
func refusedImport(t *testing.T, file, good []byte, words string) {
	t.Helper()
	b := newLoader(t, nil)
	_, err := b.Import(t.Context(), bytes.NewReader(file))
	refused(t, err, loaders.ErrInvalid, words)
	if n := count(t, b.store); n != 0 {
		t.Errorf("%d blocks were kept", n)
	}
	if _, err := b.Import(t.Context(), bytes.NewReader(good)); err != nil {
		t.Errorf("control: %v", err)
	}
}

type badCAR struct {
	file  []byte
	words string
}

func TestImportRefusesFiles(t *testing.T) {
	a := newLoader(t, nil)
	p := packNode(t, a, module(3<<20, 6))
	good := exported(t, a, p.Root)
	flipped := bytes.Clone(good)
	flipped[len(good)-1] ^= 1
	head := func(v any) []byte {
		b := cborOf(t, v)
		return append(binary.AppendUvarint(nil, uint64(len(b))), b...)
	}
	section := func(n uint64) []byte { return binary.AppendUvarint(bytes.Clone(good), n) }
	for name, c := range map[string]badCAR{
		"nothing":              {nil, "empty file"},
		"no CAR":               {[]byte("hello, this is no CAR"), "header"},
		"a changed byte":       {flipped, "do not match the hash"},
		"cut in a section":     {good[:len(good)-5], "ends in the middle"},
		"cut in a length":      {append(bytes.Clone(good), 0x80), "ends in the middle"},
		"empty section":        {section(0), "a length of 0 bytes"},
		"huge section":         {section(1 << 30), "a length of 1073741824 bytes"},
		"endless length":       {append(bytes.Clone(good), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "a length that is too long"},
		"long form of length":  {append(bytes.Clone(good), 0x85, 0x00), "shortest form"},
		"huge header":          {binary.AppendUvarint(nil, 64<<10+1), "header: a length"},
		"version 2":            {head(map[string]any{"version": 2, "roots": []any{link(p.Root)}}), "version that is not 1"},
		"pragma of version 2":  {unhex(t, "0aa16776657273696f6e02"), "version that is not 1"},
		"more in the header":   {head(map[string]any{"version": 1, "roots": []any{link(p.Root)}, "x": 1}), "fields besides"},
		"a root that is text":  {head(map[string]any{"version": 1, "roots": []any{p.Root}}), "the root is no link"},
		"header not canonical": {append([]byte{0x11}, unhex(t, "a2 67 76657273696f6e 01 65 726f6f7473 80")...), "not canonical"},
	} {
		t.Run(name, func(t *testing.T) { refusedImport(t, c.file, good, c.words) })
	}
}

func TestImportRefusesBlocks(t *testing.T) {
	a := newLoader(t, nil)
	wasm := module(3<<20, 6)
	p := packNode(t, a, wasm)
	ids, err := a.Closure(t.Context(), p.Root)
	if err != nil {
		t.Fatal(err)
	}
	good := exported(t, a, p.Root)
	stray := put(t, a, cid.Raw, []byte("smuggled"))
	sha1 := plant(t, a, cid.Raw, multihash.SHA1, -1, []byte("weak")).String()
	roots := []string{p.Root}
	badName := put(t, a, cid.DagCBOR, cborOf(t, fields(wasm, link(p.Module), map[string]any{"name": "fs"})))
	badSum := put(t, a, cid.DagCBOR, cborOf(t, fields(module(10, 1), link(p.Module), nil)))
	for name, c := range map[string]badCAR{
		"no root":               {carOf(t, a, nil, ids), "root"},
		"two roots":             {carOf(t, a, []string{p.Root, stray}, append(slices.Clone(ids), stray)), "2 roots"},
		"unreachable block":     {carOf(t, a, roots, append(slices.Clone(ids), stray)), "not reachable from the root"},
		"unreachable first":     {carOf(t, a, roots, append([]string{stray}, ids...)), "not reachable from the root"},
		"a block missing":       {carOf(t, a, roots, ids[:len(ids)-1]), "1 blocks of the package are not in the file"},
		"the root missing":      {carOf(t, a, roots, ids[1:]), "not reachable from the root"},
		"a root alone":          {carOf(t, a, roots, nil), "not in the file"},
		"a block twice":         {carOf(t, a, roots, append(slices.Clone(ids), ids[1])), "stands twice"},
		"a weak hash":           {carOf(t, a, roots, append(slices.Clone(ids), sha1)), "hash sha1 is not allowed"},
		"a root of a weak hash": {carOf(t, a, []string{sha1}, []string{sha1}), "hash sha1 is not allowed"},
		"a name of ours":        {carOf(t, a, []string{badName}, append([]string{badName}, ids[1:]...)), "reserved"},
		"wrong sha256":          {carOf(t, a, []string{badSum}, append([]string{badSum}, ids[1:]...)), "bytes"},
	} {
		t.Run(name, func(t *testing.T) { refusedImport(t, c.file, good, c.words) })
	}
}

func TestImportStopsAtItsLimits(t *testing.T) {
	a := newLoader(t, nil)
	wasm := module(3<<20, 6)
	p := packNode(t, a, wasm)
	good := exported(t, a, p.Root)
	b := newLoader(t, nil)

	// Blocks without end: the reader must stop, not the file.
	bomb := io.MultiReader(bytes.NewReader(good), &endless{})
	_, err := b.Import(t.Context(), bomb)
	refused(t, err, loaders.ErrInvalid, "more than 1024 blocks")

	b.lim.CAR = int64(len(good)) - 1
	_, err = b.Import(t.Context(), bytes.NewReader(good))
	refused(t, err, loaders.ErrInvalid, "more than")
	b.lim.CAR++
	if _, err := b.Import(t.Context(), bytes.NewReader(good)); err != nil {
		t.Errorf("control: %v", err)
	}

	broken := errors.New("the disk broke")
	_, err = newLoader(t, nil).Import(t.Context(), io.MultiReader(bytes.NewReader(good[:1000]), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || errors.Is(err, loaders.ErrInvalid) {
		t.Errorf("a reader that fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = b.Import(ctx, bytes.NewReader(good)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// endless is sections of small valid blocks.
type endless struct {
	n    uint64
	rest []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		e.n++
		data := binary.BigEndian.AppendUint64(nil, e.n)
		body := append(cidOf(cid.Raw, data).Bytes(), data...)
		e.rest = append(binary.AppendUvarint(nil, uint64(len(body))), body...)
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestExportRefuses(t *testing.T) {
	l := newLoader(t, nil)
	var out bytes.Buffer
	p := packNode(t, l, module(3<<20, 6))
	ids, err := l.Closure(t.Context(), p.Root)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.store.Delete(ids[3]); err != nil {
		t.Fatal(err)
	}
	refused(t, l.Export(t.Context(), p.Root, &out), loaders.ErrMissing, "not here")
	refused(t, l.Export(t.Context(), put(t, l, cid.DagCBOR, []byte{0x80}), &out), loaders.ErrInvalid, "manifest")
	refused(t, l.Export(t.Context(), "nonsense", &out), loaders.ErrInvalid, "CID")
	if out.Len() > 0 {
		t.Errorf("%d bytes were written before the refusal", out.Len())
	}
}

func FuzzImport(f *testing.F) {
	a := newLoader(f, nil)
	f.Add(exported(f, a, packNode(f, a, module(100, 1)).Root))
	f.Add(exported(f, a, put(f, a, cid.Raw, module(20, 1))))
	f.Add(exported(f, a, putPB(f, a, fileData(module(20, 1), 20), nil, nil)))
	l := newLoader(f, nil)
	f.Fuzz(func(t *testing.T, file []byte) {
		before := count(t, l.store)
		in, err := l.Import(t.Context(), bytes.NewReader(file))
		if err != nil {
			if n := count(t, l.store); n != before {
				t.Fatalf("%d blocks were kept of a file that was refused", n-before)
			}
			return
		}
		again, err := l.Import(t.Context(), bytes.NewReader(exported(t, l, in.Root)))
		if err != nil || again.Root != in.Root || again.Blocks != in.Blocks {
			t.Fatalf("exported again: %+v, %v; before %+v", again, err, in)
		}
	})
}
