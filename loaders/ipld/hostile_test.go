package ipld

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"runtime"
	"slices"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

func b64(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

// putPB keeps a dag-pb node with any data and links.
func putPB(t testing.TB, l *Loader, inner []byte, names, ids []string) string {
	t.Helper()
	parts := make([]part, len(ids))
	for i, id := range ids {
		c, err := cid.Decode(id)
		if err != nil {
			t.Fatal(err)
		}
		parts[i] = part{cid: c}
	}
	if names == nil {
		names = make([]string, len(ids))
	}
	block, err := encodePB(inner, names, parts)
	if err != nil {
		t.Fatal(err)
	}
	return put(t, l, cid.DagProtobuf, block)
}

func putDir(t testing.TB, l *Loader, entries map[string]string) string {
	t.Helper()
	names := slices.Sorted(maps.Keys(entries))
	ids := make([]string, len(names))
	for i, n := range names {
		ids[i] = entries[n]
	}
	return putPB(t, l, dirData(), names, ids)
}

// fileData is UnixFS data of a file that declares what it is told to.
func fileData(inline []byte, size int64, sizes ...int64) []byte {
	out := []byte{0x08, 2}
	if inline != nil {
		out = protowire.AppendBytes(protowire.AppendTag(out, 2, protowire.BytesType), inline)
	}
	out = protowire.AppendVarint(protowire.AppendTag(out, 3, protowire.VarintType), uint64(size))
	for _, s := range sizes {
		out = protowire.AppendVarint(protowire.AppendTag(out, 4, protowire.VarintType), uint64(s))
	}
	return out
}

func TestFileThatLiesAboutItsSize(t *testing.T) {
	l := newLoader(t, nil)
	wasm := module(1000, 1)
	a, b := put(t, l, cid.Raw, wasm[:600]), put(t, l, cid.Raw, wasm[600:])
	two := []string{a, b}
	inner := func(size int64, sizes ...int64) string { return putPB(t, l, fileData(nil, size, sizes...), nil, two) }
	for name, root := range map[string]string{
		"a plain tree":    inner(1000, 600, 400),
		"inline and part": putPB(t, l, fileData(wasm[:600], 1000, 400), nil, []string{b}),
		"two levels":      putPB(t, l, fileData(nil, 1000, 1000), nil, []string{inner(1000, 600, 400)}),
		"inline alone":    putPB(t, l, fileData(wasm, 1000), nil, nil),
	} {
		t.Run(name, func(t *testing.T) { mustLoad(t, l, root, wasm) })
	}
	for name, c := range map[string]struct{ root, words string }{
		"file too small":      {inner(999, 600, 400), "999 bytes is declared, but it is 1000"},
		"file too large":      {inner(1001, 600, 400), "1001 bytes is declared, but it is 1000"},
		"parts swapped":       {inner(1000, 400, 600), "400 bytes is declared, but it is 600"},
		"part too large":      {inner(1001, 601, 400), "601 bytes is declared, but it is 600"},
		"part of nothing":     {inner(600, 600, 0), "0 bytes is declared, but it is 400"},
		"negative part":       {inner(1000, 600, -400), "is said to have"},
		"overflow":            {inner(1000, 1<<62, 1<<62), "is said to have"},
		"a size too few":      {inner(600, 600), "2 links but 1 sizes"},
		"a size too many":     {inner(1000, 600, 400, 0), "2 links but 3 sizes"},
		"inline too large":    {putPB(t, l, fileData(wasm, 1001), nil, nil), "1001 bytes is declared, but it is 1000"},
		"lie below":           {putPB(t, l, fileData(nil, 1000, 1000), nil, []string{inner(1200, 600, 600)}), "1000 bytes is declared, but it is 1200"},
		"huge":                {inner(1<<40, 1<<39, 1<<39), "is said to have"},
		"a raw leaf of 3 MiB": {inner(3<<20, 3<<20-400, 400), "a block of 3145328 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.Load(t.Context(), extension.IPLDRef("probe", c.root))
			refused(t, err, loaders.ErrInvalid, c.words)
			_, err = l.Closure(t.Context(), c.root)
			refused(t, err, loaders.ErrInvalid, c.words)
			// As content of the size that its root declares.
			block, err := l.store.Get(t.Context(), c.root)
			if err != nil {
				t.Fatal(err)
			}
			n, err := decodePB(block, "root")
			if err != nil {
				t.Fatal(err)
			}
			_, err = l.ReadBytes(t.Context(), c.root, n.size)
			if name != "huge" && name != "overflow" {
				refused(t, err, loaders.ErrInvalid, c.words)
			} else {
				refused(t, err, loaders.ErrInvalid, "the limit is")
			}
		})
	}
}

func TestForbiddenHashBelowAGoodRoot(t *testing.T) {
	l := newLoader(t, nil)
	wasm := module(90, 1)
	tree := func(leaf string) string { return putPB(t, l, fileData(nil, 90, 90), nil, []string{leaf}) }
	mustLoad(t, l, tree(put(t, l, cid.Raw, wasm)), wasm)
	for name, c := range map[string]struct {
		leaf  cid.Cid
		words string
	}{
		"identity":  {plant(t, l, cid.Raw, multihash.IDENTITY, -1, wasm), "link 0: the hash identity is not allowed"},
		"sha1":      {plant(t, l, cid.Raw, multihash.SHA1, -1, wasm), "link 0: the hash sha1 is not allowed"},
		"md5":       {plant(t, l, cid.Raw, multihash.MD5, -1, wasm), "link 0: the hash md5 is not allowed"},
		"truncated": {plant(t, l, cid.Raw, multihash.SHA2_256, 16, wasm), "link 0: the sha2-256 digest is cut to 16 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, root := range []string{
				tree(c.leaf.String()),
				putPB(t, l, fileData(nil, 90, 90), nil, []string{tree(c.leaf.String())}),
				putDir(t, l, map[string]string{"manifest.json": c.leaf.String()}),
			} {
				_, err := l.Load(t.Context(), extension.IPLDRef("probe", root))
				refused(t, err, loaders.ErrInvalid, c.words)
			}
		})
	}
	for _, hash := range []uint64{multihash.SHA2_512, multihash.BLAKE3} {
		mustLoad(t, l, tree(plant(t, l, cid.Raw, hash, -1, wasm).String()), wasm)
	}
}

// DAG bombs: what a small number of blocks unfolds to must stop at a limit, soon.
func TestDAGBombs(t *testing.T) {
	l := newLoader(t, nil)
	repeat := func(id string, n int) []string { return slices.Repeat([]string{id}, n) }
	sizes := func(s int64, n int) []int64 { return slices.Repeat([]int64{s}, n) }
	// node has n times the same child of size bytes.
	node := func(child string, size int64, n int) string {
		return putPB(t, l, fileData(nil, size*int64(n), sizes(size, n)...), nil, repeat(child, n))
	}
	empty := putPB(t, l, fileData(nil, 0), nil, nil)
	laugh := func(leaf string, size int64, fan, levels int) string {
		for range levels {
			leaf, size = node(leaf, size, fan), size*int64(fan)
		}
		return leaf
	}
	wasm := module(1000, 1)
	leaf := put(t, l, cid.Raw, wasm)
	for name, c := range map[string]struct{ root, words string }{
		"the same block for ever":   {laugh(leaf, 1000, 10, 4), "more than 1024 blocks"},
		"nothing, many times":       {laugh(empty, 0, 10, 4), "more than 1024 blocks"},
		"wide":                      {laugh(leaf, 1000, 5000, 1), "more than 1024 blocks"},
		"wide and empty":            {laugh(empty, 0, 30000, 1), "more than 1024 blocks"},
		"deep":                      {laugh(leaf, 1000, 1, 5), "5 links below the root"},
		"deep and empty":            {laugh(empty, 0, 1, 100), "5 links below the root"},
		"too many bytes":            {laugh(put(t, l, cid.Raw, module(1<<20, 2)), 1<<20, 17, 1), "more than 16777216 bytes"},
		"a directory that is a DAG": {putDir(t, l, map[string]string{"manifest.json": laugh(leaf, 1000, 100, 2)}), "manifest: "},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := l.Load(t.Context(), extension.IPLDRef("probe", c.root))
			runtime.ReadMemStats(&after)
			refused(t, err, loaders.ErrInvalid, c.words)
			if got := after.TotalAlloc - before.TotalAlloc; got > 128<<20 {
				t.Errorf("%d MiB were allocated on the way", got>>20)
			}
		})
	}
	// What is just within the limits loads.
	big := slices.Concat(slices.Repeat([][]byte{module(1<<20, 2)}, 15)...)
	if p := mustLoad(t, l, laugh(put(t, l, cid.Raw, module(1<<20, 2)), 1<<20, 15, 1), big); p.Manifest.WASMSize != 15<<20 {
		t.Error("a module of 15 MiB")
	}
	mustLoad(t, l, laugh(leaf, 1000, 1, 4), wasm)
}
