package git

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// TestAtTheSameTime fetches, loads, serves, removes and sweeps at once. What loads is whole.
func TestAtTheSameTime(t *testing.T) {
	r := newRepo(t)
	a, b := r.push("a", pkg(module(1))), r.push("b", pkg(module(2)))
	url, _ := share(t, r)
	p := newPeer(t, nil)
	refA, refB := ref(url, a), ref(url, b)
	must(t, p.Fetch(t.Context(), refA, outside()))
	var wg sync.WaitGroup
	repeat := func(f func() error) {
		wg.Go(func() {
			for range 20 {
				if err := f(); err != nil && !errors.Is(err, loaders.ErrMissing) {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		repeat(func() error { return p.Fetch(t.Context(), refB, outside()) })
		repeat(func() error {
			pk, err := p.Load(t.Context(), refB)
			if err == nil && !bytes.Equal(pk.WASM, module(2)) {
				t.Error("loaded something else")
			}
			return err
		})
	}
	repeat(func() error { _, err := p.Object(t.Context(), b, b); return err })
	repeat(func() error { return p.Remove(t.Context(), refB) })
	repeat(func() error { _, err := p.Sweep(t.Context(), refs(url, []string{a}), false); return err })
	wg.Wait()
	p.wantPackage(refA, module(1))
	must(t, p.Fetch(t.Context(), refB, outside()))
	p.wantPackage(refB, module(2))
}

// BenchmarkLoad verifies the proof of a module of 1.4 MB.
func BenchmarkLoad(b *testing.B) {
	r := newRepo(b)
	wasm := append(module(1), bytes.Repeat([]byte("code"), 350_000)...)
	sha := r.push("main", pkg(wasm))
	url, _ := share(b, r)
	p := newPeer(b, nil)
	must(b, p.Fetch(b.Context(), ref(url, sha), outside()))
	b.SetBytes(int64(len(wasm)))
	for b.Loop() {
		if _, err := p.Load(b.Context(), ref(url, sha)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFetch fetches it over loopback.
func BenchmarkFetch(b *testing.B) {
	r := newRepo(b)
	wasm := append(module(1), bytes.Repeat([]byte("code"), 350_000)...)
	sha := r.push("main", pkg(wasm))
	url, _ := share(b, r)
	p := newPeer(b, nil)
	b.SetBytes(int64(len(wasm)))
	for b.Loop() {
		must(b, p.Remove(b.Context(), ref(url, sha)))
		if err := p.Fetch(b.Context(), ref(url, sha), outside()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHistory indexes a pack of 100,000 commits and finds the first from the last.
func BenchmarkHistory(b *testing.B) {
	const n = 100_000
	var p packer
	var first, last string
	for i := range n {
		body := fmt.Sprintf("tree %040x\n", i)
		if last != "" {
			body += "parent " + last + "\n"
		}
		body += "author A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\nwords\n"
		p.add(typeCommit, len(body), nil, []byte(body))
		sum, err := hash(encode(commitType, []byte(body)))
		must(b, err)
		last = fmt.Sprintf("%x", sum)
		if first == "" {
			first = last
		}
	}
	data := p.bytes()
	for b.Loop() {
		pk, err := open(b, data, nil)
		must(b, err)
		if !reaches(plumbing.NewHash(last), plumbing.NewHash(first), map[plumbing.Hash]bool{}, pk.parents) {
			b.Fatal("not found")
		}
		pk.close()
	}
	b.ReportMetric(n, "commits/op")
}
