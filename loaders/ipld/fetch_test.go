package ipld

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

func probe(root string) extension.Ref { return extension.IPLDRef("probe", root) }

func TestFetchBringsAPackage(t *testing.T) {
	wasm := module(5<<20, 9)
	for name, make := range map[string]func(l *Loader) string{
		"node": func(l *Loader) string { return packNode(t, l, wasm).Root },
		"bare": func(l *Loader) string { return ours(t, l, wasm, ProfileV0) },
		"directory": func(l *Loader) string {
			p, err := pack(t, l, PackOptions{Profile: ProfileV1}, map[string][]byte{
				"manifest.json": jsonOf(t, fields(wasm, "m.wasm", nil)), "m.wasm": wasm, "README": []byte("not read"),
			})
			if err != nil {
				t.Fatal(err)
			}
			return p.Root
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newLoader(t, nil)
			root := make(a)
			doc := crdt.DocID{1}
			peer := &neighbour{of: a.Source(), doc: doc}
			b := newLoader(t, peer)
			_, err := b.Load(t.Context(), probe(root))
			refused(t, err, loaders.ErrMissing, root[:10])
			if peer.calls != 0 {
				t.Fatal("Load asked a peer")
			}
			err = b.Fetch(t.Context(), probe(root), loaders.From{Doc: crdt.DocID{2}})
			refused(t, err, loaders.ErrMissing, "no peer that was asked has it")
			var done, total int64
			from := loaders.From{Doc: doc, Progress: func(d, of int64) { done, total = d, of }}
			if err := b.Fetch(t.Context(), probe(root), from); err != nil {
				t.Fatal(err)
			}
			if done < int64(len(wasm)) || total < done || total > done+done/10 {
				t.Errorf("progress ended at %d of %d, the module has %d", done, total, len(wasm))
			}
			mustLoad(t, b, root, wasm)
			if n, want := count(t, b.store), count(t, a.store); n != want {
				t.Errorf("%d blocks came, there are %d", n, want)
			}
			asked := peer.asked
			if err := b.Fetch(t.Context(), probe(root), from); err != nil || peer.asked != asked {
				t.Errorf("a second Fetch: %v, asked for %d blocks", err, peer.asked-asked)
			}
		})
	}
}

// A peer's wrong bytes are its own fault: nothing of them is kept, and the content may still be had.
func TestFetchRefusesWrongBytes(t *testing.T) {
	a := newLoader(t, nil)
	wasm := module(3<<20, 9)
	p := packNode(t, a, wasm)
	for name, spoil := range map[string]func(id string, data []byte) []byte{
		"root": func(id string, data []byte) []byte {
			if id == p.Root {
				return append(bytes.Clone(data), 0)
			}
			return data
		},
		"a leaf": func(_ string, data []byte) []byte {
			if len(data) < 1<<20 {
				return data
			}
			data = bytes.Clone(data)
			data[5] ^= 1
			return data
		},
		"everything":        func(string, []byte) []byte { return []byte("no") },
		"with large blocks": func(string, []byte) []byte { return make([]byte, MaxBlock) },
		"with huge blocks":  func(string, []byte) []byte { return make([]byte, 40<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			peer := &neighbour{of: a.Source(), spoil: spoil}
			b := newLoader(t, peer)
			b.lim.WASM = 3 << 20 // so that little more may come than there is
			err := b.Fetch(t.Context(), probe(p.Root), loaders.From{})
			words := "do not match the hash"
			if name == "with huge blocks" {
				words = "the limit is 2097152"
			}
			refused(t, err, loaders.ErrMissing, words)
			if left, err := os.ReadDir(filepath.Join(b.store.dir, tempFolder)); err != nil || len(left) != 0 {
				t.Errorf("%d files left in tmp, %v", len(left), err)
			}
			if errors.Is(err, loaders.ErrInvalid) {
				t.Errorf("the content is called invalid: %v", err)
			}
			list, err := b.store.List()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				if _, err := b.store.Get(t.Context(), s.ID); err != nil {
					t.Errorf("a wrong block was kept: %v", err)
				}
			}
			peer.spoil = nil // another peer that is honest
			if err := b.Fetch(t.Context(), probe(p.Root), loaders.From{}); err != nil {
				t.Fatal(err)
			}
			mustLoad(t, b, p.Root, wasm)
		})
	}
}

func TestFetchOfInvalidContentKeepsNothing(t *testing.T) {
	a := newLoader(t, nil)
	wasm := module(1000, 1)
	leaf := put(t, a, cid.Raw, wasm)
	good := put(t, a, cid.DagCBOR, cborOf(t, fields(wasm, link(leaf), nil)))
	for name, root := range map[string]string{
		"wrong sha256": put(t, a, cid.DagCBOR, cborOf(t, fields(module(1000, 2), link(leaf), nil))),
		"other name":   put(t, a, cid.DagCBOR, cborOf(t, fields(wasm, link(leaf), map[string]any{"name": "x"}))),
		"sha1 child": put(t, a, cid.DagCBOR,
			cborOf(t, fields(wasm, link(plant(t, a, cid.Raw, multihash.SHA1, -1, wasm).String()), nil))),
		"size lie": putPB(t, a, fileData(nil, 999, 999), nil, []string{leaf}),
		"too many": putPB(t, a, fileData(nil, 0, make([]int64, 2000)...), nil, slices.Repeat([]string{leaf}, 2000)),
	} {
		t.Run(name, func(t *testing.T) {
			b := newLoader(t, sourceOfAll{a.store})
			refused(t, b.Fetch(t.Context(), probe(root), loaders.From{}), loaders.ErrInvalid, "")
			if n := count(t, b.store); n != 0 {
				t.Errorf("%d blocks were kept", n)
			}
			if left, err := os.ReadDir(filepath.Join(b.store.dir, tempFolder)); err != nil || len(left) != 0 {
				t.Errorf("%d files left in tmp, %v", len(left), err)
			}
			if err := b.Fetch(t.Context(), probe(good), loaders.From{}); err != nil {
				t.Errorf("control: %v", err)
			}
		})
	}
}

// sourceOfAll gives whatever block is asked for.
type sourceOfAll struct{ s *Store }

func (a sourceOfAll) Blocks(ctx context.Context, _ crdt.DocID, _ string, want []string, got func(string, []byte) error) error {
	for _, id := range want {
		if data, err := a.s.Get(ctx, id); err == nil {
			if err := got(id, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// What came before a peer went away is kept, and the next Fetch asks for the rest alone.
func TestFetchGoesOn(t *testing.T) {
	a := newLoader(t, nil)
	wasm := module(6<<20, 9)
	p := packNode(t, a, wasm)
	left := 4
	flaky := peerFunc(func(ctx context.Context, want []string, got func(string, []byte) error) error {
		for _, id := range want {
			if left == 0 {
				return io.ErrUnexpectedEOF
			}
			left--
			data, err := a.store.Get(ctx, id)
			if err != nil {
				return err
			}
			if err := got(id, data); err != nil {
				return err
			}
		}
		return nil
	})
	b := newLoader(t, flaky)
	refused(t, b.Fetch(t.Context(), probe(p.Root), loaders.From{}), loaders.ErrMissing, "unexpected EOF")
	if n := count(t, b.store); n != 4 {
		t.Fatalf("%d blocks were kept, 4 came", n)
	}
	left = 4
	if err := b.Fetch(t.Context(), probe(p.Root), loaders.From{}); err != nil {
		t.Fatalf("with the 4 that are left: %v", err)
	}
	mustLoad(t, b, p.Root, wasm)
}

type peerFunc func(ctx context.Context, want []string, got func(string, []byte) error) error

func (f peerFunc) Blocks(ctx context.Context, _ crdt.DocID, _ string, want []string, got func(string, []byte) error) error {
	return f(ctx, want, got)
}

func TestFetchRefusesWhatWasNotAskedFor(t *testing.T) {
	a := newLoader(t, nil)
	p := packNode(t, a, module(100, 9))
	smuggled := put(t, a, cid.Raw, []byte("smuggled"))
	b := newLoader(t, peerFunc(func(ctx context.Context, want []string, got func(string, []byte) error) error {
		data, err := a.store.Get(ctx, smuggled)
		if err != nil {
			return err
		}
		return got(smuggled, data)
	}))
	refused(t, b.Fetch(t.Context(), probe(p.Root), loaders.From{}), loaders.ErrMissing, "was not asked for")
	if n := count(t, b.store); n != 0 {
		t.Errorf("%d blocks were kept", n)
	}
}

func TestFetchMendsARottedBlock(t *testing.T) {
	a := newLoader(t, nil)
	wasm := module(3<<20, 9)
	p := packNode(t, a, wasm)
	b := newLoader(t, sourceOfAll{a.store})
	if err := b.Fetch(t.Context(), probe(p.Root), loaders.From{}); err != nil {
		t.Fatal(err)
	}
	ids, err := b.Closure(t.Context(), p.Root)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := parse(ids[len(ids)-1])
	if err != nil {
		t.Fatal(err)
	}
	rotted := module(1<<20, 77)
	if err := os.WriteFile(b.store.path(leaf), rotted, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = b.Load(t.Context(), probe(p.Root))
	refused(t, err, loaders.ErrMissing, short(leaf)+": the bytes do not match the hash on disk, the file was set aside")
	if err := os.WriteFile(b.store.path(leaf), rotted, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Fetch(t.Context(), probe(p.Root), loaders.From{}); err != nil {
		t.Fatal(err)
	}
	mustLoad(t, b, p.Root, wasm)
}

func TestFetchEndsWithItsTime(t *testing.T) {
	root := named(t, cid.Raw, multihash.SHA2_256, -1).String()
	synctest.Test(t, func(t *testing.T) {
		b := newLoader(t, peerFunc(func(ctx context.Context, _ []string, _ func(string, []byte) error) error {
			<-ctx.Done()
			return ctx.Err()
		}))
		start := time.Now()
		refused(t, b.Fetch(t.Context(), probe(root), loaders.From{}), loaders.ErrMissing, "the time for it is over")
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := b.Fetch(ctx, probe(root), loaders.From{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a Fetch that was cancelled: %v", err)
		}
	})
}

func TestIdentify(t *testing.T) {
	a := newLoader(t, nil)
	wasm := module(3<<20, 9)
	own := jsonOf(t, fields(nil, nil, map[string]any{"wasm_size": nil, "wasm_sha256": nil}))
	for name, c := range map[string]struct{ root, want string }{
		"node":              {packNode(t, a, wasm).Root, "probe"},
		"embedded manifest": {put(t, a, cid.Raw, withSection("chaz.manifest", string(own))), "probe"},
		"bare":              {ours(t, a, wasm, ProfileV1), ""},
	} {
		b := newLoader(t, sourceOfAll{a.store})
		m, err := b.Identify(t.Context(), c.root, loaders.From{})
		if err != nil || (m == nil) != (c.want == "") || m != nil && m.Name != c.want {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		if ids, err := b.Closure(t.Context(), c.root); err != nil || len(ids) != count(t, b.store) {
			t.Errorf("%s: %d blocks are here, %v", name, count(t, b.store), err)
		}
	}
	b := newLoader(t, sourceOfAll{a.store})
	bad := put(t, a, cid.DagCBOR, cborOf(t, fields(module(10, 1), link(packNode(t, a, wasm).Module), nil)))
	_, err := b.Identify(t.Context(), bad, loaders.From{})
	refused(t, err, loaders.ErrInvalid, "bytes")
	if n := count(t, b.store); n != 0 {
		t.Errorf("%d blocks of an invalid package were kept", n)
	}
}
