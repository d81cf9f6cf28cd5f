package ipld

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
)

func TestKeep(t *testing.T) {
	l := newLoader(t, nil)
	shared := module(3<<20, 1)
	p := packNode(t, l, shared)
	bare := ours(t, l, shared, ProfileV1) // the module of p, under its own name
	row, _, err := l.PutBytes(t.Context(), bytes.NewReader(module(2<<20, 2)))
	if err != nil {
		t.Fatal(err)
	}
	lone := packNode(t, l, module(100, 3))
	all := count(t, l.store)

	keep := func(opt KeepOptions, roots ...string) Swept {
		t.Helper()
		s, err := l.Keep(t.Context(), roots, opt)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := keep(KeepOptions{}, p.Root, bare, row, lone.Root); len(s.Blocks) != 0 || s.Kept != all || len(s.Broken) != 0 {
		t.Errorf("with every root: %+v", s)
	}
	// Without lone: its manifest and its module.
	s := keep(KeepOptions{}, bare, row, p.Root)
	if len(s.Blocks) != 2 || s.Bytes != lone.Bytes || s.Kept != all-2 {
		t.Errorf("without one: %+v", s)
	}
	if n := count(t, l.store); n != all {
		t.Fatalf("a dry run deleted: %d blocks of %d", n, all)
	}
	old := time.Now().Add(-time.Hour)
	if s := keep(KeepOptions{Delete: true, Before: old}, bare, row, p.Root); len(s.Blocks) != 0 || count(t, l.store) != all {
		t.Errorf("all of it is new: %+v", s)
	}
	if s := keep(KeepOptions{Delete: true}, bare, row, p.Root); len(s.Blocks) != 2 {
		t.Errorf("deleted: %+v", s)
	}
	mustLoad(t, l, p.Root, shared)
	// The module stays while one of its two names is kept.
	if s := keep(KeepOptions{Delete: true}, bare, row); len(s.Blocks) != 1 || s.Blocks[0].ID != rawID(cid.MustParse(p.Root)) {
		t.Errorf("deleted: %+v", s)
	}
	mustLoad(t, l, bare, shared)
	if got, err := l.ReadBytes(t.Context(), row, 2<<20); err != nil || len(got) != 2<<20 {
		t.Errorf("a row: %d, %v", len(got), err)
	}
	if s := keep(KeepOptions{Delete: true}); s.Kept != 0 || count(t, l.store) != 0 {
		t.Errorf("without roots: %+v", s)
	}
}

func TestKeepOfBrokenRoots(t *testing.T) {
	l := newLoader(t, nil)
	wasm := module(3<<20, 1)
	p := packNode(t, l, wasm)
	leaf := put(t, l, cid.Raw, []byte("a leaf"))
	lie := putPB(t, l, fileData(nil, 99, 99), nil, []string{leaf})
	ids, err := l.Closure(t.Context(), p.Root)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.store.Delete(ids[2]); err != nil {
		t.Fatal(err)
	}
	s, err := l.Keep(t.Context(), []string{p.Root, lie, "no CID"}, KeepOptions{Delete: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Broken) != 2 || s.Broken[lie] == "" || s.Broken["no CID"] == "" {
		t.Errorf("broken: %v", s.Broken)
	}
	if s.Kept != len(ids)-1+2 || len(s.Blocks) != 0 {
		t.Errorf("kept %d, swept %v; a package with a hole keeps the rest", s.Kept, s.Blocks)
	}
}

// A block that is put again is as new, so that a package that shares it is not swept while it is made.
func TestPutAgainRenewsABlock(t *testing.T) {
	l := newLoader(t, nil)
	wasm := module(100, 1)
	id := put(t, l, cid.Raw, wasm)
	past := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(l.store.path(cid.MustParse(id)), past, past); err != nil {
		t.Fatal(err)
	}
	opt := KeepOptions{Before: past.Add(time.Hour)}
	if s, err := l.Keep(t.Context(), nil, opt); err != nil || len(s.Blocks) != 1 {
		t.Errorf("an old block: %+v, %v", s, err)
	}
	put(t, l, cid.Raw, wasm)
	if s, err := l.Keep(t.Context(), nil, opt); err != nil || len(s.Blocks) != 0 {
		t.Errorf("put again: %+v, %v", s, err)
	}
}
