package ipld

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/loaders"
)

func TestContentRoundTrip(t *testing.T) {
	a := newLoader(t, nil)
	b := newLoader(t, sourceOfAll{a.store})
	kept := 0 // blocks at b
	for _, size := range []int{0, 1, 70_000, 1 << 20, 1<<20 + 1, 9<<20 + 5} {
		content := module(size, 3)[:size]
		id, n, err := a.PutBytes(t.Context(), bytes.NewReader(content))
		if err != nil || n != int64(size) {
			t.Fatalf("PutBytes of %d: %d, %v", size, n, err)
		}
		again, _, err := a.PutBytes(t.Context(), iotest.HalfReader(bytes.NewReader(content)))
		if err != nil || again != id {
			t.Errorf("%d bytes again: %s, %v; before %s", size, again, err, id)
		}
		if got, err := a.ReadBytes(t.Context(), id, int64(size)); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("ReadBytes of %d: %d, %v", size, len(got), err)
		}
		before, err := b.Blocks(t.Context(), id, n)
		if err != nil || len(before.All) != 1 || len(before.Missing) != 1 || before.Missing[0] != id || before.Here != 0 {
			t.Fatalf("Blocks before: %+v, %v", before, err)
		}
		for _, wrong := range []int64{n - 1, n + 1} {
			_, err = a.ReadBytes(t.Context(), id, wrong)
			refused(t, err, loaders.ErrInvalid, "a size of")
			_, err = a.Blocks(t.Context(), id, wrong)
			refused(t, err, loaders.ErrInvalid, "a size of")
			refused(t, b.FetchContent(t.Context(), id, wrong, loaders.From{}), loaders.ErrInvalid, "a size of")
			if left, _, err := b.store.Size(); err != nil || left != kept {
				t.Fatalf("%d blocks after a fetch under a wrong size, %v; want %d", left, err, kept)
			}
		}
		if err := b.FetchContent(t.Context(), id, n, loaders.From{}); err != nil {
			t.Fatal(err)
		}
		if kept, _, err = b.store.Size(); err != nil {
			t.Fatal(err)
		}
		here, err := a.Blocks(t.Context(), id, n)
		if err != nil || here.Here < n {
			t.Fatalf("Blocks: %+v, %v", here, err)
		}
		after, err := b.Blocks(t.Context(), id, n)
		if err != nil || len(after.Missing) != 0 || len(after.All) != len(here.All) || after.Here != here.Here {
			t.Fatalf("Blocks after: %+v, %v; want %+v", after, err, here)
		}
		if got, err := b.ReadBytes(t.Context(), id, int64(size)); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("ReadBytes at the other: %d, %v", len(got), err)
		}
	}
}

func TestContentBlocksInParts(t *testing.T) {
	l := newLoader(t, nil)
	id, _, err := l.PutBytes(t.Context(), bytes.NewReader(module(3<<20, 3)))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := l.Blocks(t.Context(), id, 3<<20)
	if err != nil || len(whole.All) != 4 {
		t.Fatalf("Blocks: %+v, %v", whole, err)
	}
	gone := whole.All[2]
	if err := l.store.Delete(gone); err != nil {
		t.Fatal(err)
	}
	again, err := l.Blocks(t.Context(), id, 3<<20)
	if err != nil || len(again.All) != 4 || len(again.Missing) != 1 || again.Missing[0] != gone || again.Here != whole.Here-1<<20 {
		t.Errorf("Blocks: %+v, %v", again, err)
	}
	_, err = l.ReadBytes(t.Context(), id, 3<<20)
	refused(t, err, loaders.ErrMissing, "not here")
}

func TestContentRefuses(t *testing.T) {
	l := newLoader(t, nil)
	l.lim.Content = 2 << 20
	if _, _, err := l.PutBytes(t.Context(), bytes.NewReader(make([]byte, 2<<20))); err != nil {
		t.Errorf("just within the limit: %v", err)
	}
	if _, _, err := l.PutBytes(t.Context(), bytes.NewReader(make([]byte, 2<<20+1))); err == nil {
		t.Error("above the limit: no error")
	}
	broken := errors.New("the reader broke")
	if _, _, err := l.PutBytes(t.Context(), io.MultiReader(bytes.NewReader(make([]byte, 1<<20+9)), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	for name, c := range map[string]struct{ id, words string }{
		"a node":      {put(t, l, cid.DagCBOR, []byte{0x80}), "the codec dag-cbor"},
		"a directory": {putDir(t, l, nil), "a directory where a file is due"},
		"sha1":        {named(t, cid.Raw, multihash.SHA1, -1).String(), "sha1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.ReadBytes(t.Context(), c.id, 100)
			refused(t, err, loaders.ErrInvalid, c.words)
			_, err = l.Blocks(t.Context(), c.id, 100)
			refused(t, err, loaders.ErrInvalid, c.words)
			refused(t, l.FetchContent(t.Context(), c.id, 100, loaders.From{}), loaders.ErrInvalid, c.words)
		})
	}
	id, _, err := l.PutBytes(t.Context(), bytes.NewReader([]byte("something")))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{-1, 2<<20 + 1} {
		_, err := l.ReadBytes(t.Context(), id, size)
		refused(t, err, loaders.ErrInvalid, "the limit is 2097152")
	}
}

func TestPropertyContentSurvives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(rt, "content")
		held := memory{}
		b := &builder{
			cut: cut{
				whole: rapid.IntRange(0, 40).Draw(rt, "whole"), chunk: rapid.IntRange(20, 200).Draw(rt, "chunk"),
				links: rapid.IntRange(4, 9).Draw(rt, "links"), rawish: rapid.Bool().Draw(rt, "raw"),
			},
			put: func(_ context.Context, v verified) error { held[string(v.cid.Hash())] = v; return nil },
		}
		root, err := b.file(t.Context(), bytes.NewReader(content), 3000)
		if err != nil {
			rt.Fatal(err)
		}
		w := newWalk(t.Context(), held, Limits{}.withDefaults(), 1<<20)
		got, err := w.readFile(root.cid, 0, "content", 3000, true)
		if err != nil || !bytes.Equal(got, content) || len(w.missing) > 0 {
			rt.Fatalf("%d bytes came back as %d: %v", len(content), len(got), err)
		}
		// Without one of its blocks it does not come back, and the walk names that block.
		gone := rapid.SampledFrom(w.order).Draw(rt, "gone")
		delete(held, string(gone.Hash()))
		w = newWalk(t.Context(), held, Limits{}.withDefaults(), 1<<20)
		if _, err := w.readFile(root.cid, 0, "content", 3000, true); err != nil && !errors.Is(err, errAbsent) {
			rt.Fatal(err)
		}
		if len(w.missing) != 1 || w.missing[0] != gone {
			rt.Fatalf("missing %v, want %v", w.missing, gone)
		}
	})
}
