package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// neighbours are the loaders of other peers, asked one after the other. spoil changes what they send.
type neighbours struct {
	peers []*peer
	spoil func(id string, data []byte) (string, []byte)

	doc    crdt.DocID
	asked  []string
	blamed int
}

func (n *neighbours) Objects(ctx context.Context, doc crdt.DocID, root string, want []string, got func(string, []byte) error) error {
	n.doc = doc
	missing := 0
	for _, id := range want {
		n.asked = append(n.asked, id)
		if !n.ask(ctx, root, id, got) {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d objects did not come", missing, len(want))
	}
	return nil
}

func (n *neighbours) ask(ctx context.Context, root, id string, got func(string, []byte) error) bool {
	for _, p := range n.peers {
		data, err := p.Object(ctx, root, id)
		if err != nil {
			continue
		}
		name := id
		if n.spoil != nil {
			name, data = n.spoil(id, data)
		}
		if got(name, data) == nil {
			return true
		}
		n.blamed++
	}
	return false
}

// TestFromPeers: B has no network; it gets the proof from A, in the order of trust, and then from disk
// alone.
func TestFromPeers(t *testing.T) {
	r := newRepo(t)
	files := in("ext/foo", pkg(module(1)))
	files["bare.wasm"] = module(2)
	sha := r.push("main", files)
	url, _ := share(t, r)
	a := newPeer(t, nil)
	rf, bare := ref(url+"#path=ext/foo", sha), ref(url+"#wasm=bare.wasm", sha)
	must(t, a.Fetch(t.Context(), rf, outside()))

	n := &neighbours{peers: []*peer{newPeer(t, nil), a}}
	b := newPeer(t, func(c *Config) { c.Peers = n })
	var told int64
	doc := crdt.DocID{1}
	must(t, b.Fetch(t.Context(), rf, loaders.From{Doc: doc, Progress: func(done, _ int64) { told = done }}))
	pk := b.wantPackage(rf, module(1))
	if theirs := a.wantPackage(rf, module(1)); theirs.Key() != pk.Key() {
		t.Error("two peers have two keys")
	}
	proof, err := a.Proof(t.Context(), rf)
	must(t, err)
	if !slices.Equal(n.asked, proof) || n.doc != doc || told < int64(len(module(1))) {
		t.Errorf("asked %v of %v, told %d bytes; the proof is %v", n.asked, n.doc, told, proof)
	}
	if b.dials.Load() != 0 {
		t.Error("B used the network")
	}
	if _, ok := b.Origin(rf); ok {
		t.Error("B claims to have seen the repository")
	}
	// A has not the other file of that commit: nobody gives it, until B may look outside.
	wantError(t, b.Fetch(t.Context(), bare, loaders.From{Doc: doc}), loaders.ErrConsent, "no peer has it")
	must(t, b.Fetch(t.Context(), bare, outside()))
	// Now B serves both to C.
	c := newPeer(t, func(c *Config) { c.Peers = &neighbours{peers: []*peer{b}} })
	for _, rf := range []struct {
		fragment string
		wasm     []byte
	}{{"#path=ext/foo", module(1)}, {"#wasm=bare.wasm", module(2)}} {
		must(t, c.Fetch(t.Context(), ref(url+rf.fragment, sha), loaders.From{}))
		c.wantPackage(ref(url+rf.fragment, sha), rf.wasm)
	}
}

// TestWrongObjects are peers that send something else. The next peer helps.
func TestWrongObjects(t *testing.T) {
	r := newRepo(t)
	sha := r.push("main", pkg(module(1)))
	url, _ := share(t, r)
	a := newPeer(t, nil)
	rf := ref(url, sha)
	must(t, a.Fetch(t.Context(), rf, outside()))
	for name, spoil := range map[string]func(string, []byte) (string, []byte){
		"a flipped bit":  func(id string, d []byte) (string, []byte) { d[len(d)/2] ^= 4; return id, d },
		"nothing":        func(id string, _ []byte) (string, []byte) { return id, nil },
		"another object": func(id string, _ []byte) (string, []byte) { return id, encode(blobType, module(6)) },
		"another name":   func(id string, d []byte) (string, []byte) { return id[:39] + "f", d },
		"no header":      func(id string, d []byte) (string, []byte) { return id, d[8:] },
		"too much":       func(id string, _ []byte) (string, []byte) { return id, make([]byte, maxObject+maxHeader+1) },
	} {
		t.Run(name, func(t *testing.T) {
			n := &neighbours{peers: []*peer{a}, spoil: spoil}
			b := newPeer(t, func(c *Config) { c.Peers = n })
			wantError(t, b.Fetch(t.Context(), rf, loaders.From{}), loaders.ErrConsent, "no peer has it")
			if n.blamed != 1 || len(n.asked) != 1 {
				t.Errorf("asked for %d objects, %d refused; want 1 and 1", len(n.asked), n.blamed)
			}
			if _, err := b.Load(t.Context(), rf); !errors.Is(err, loaders.ErrMissing) {
				t.Errorf("load: %v", err)
			}
			once := true
			n.spoil = func(id string, d []byte) (string, []byte) {
				if once {
					once = false
					return spoil(id, d)
				}
				return id, d
			}
			n.peers = []*peer{a, a}
			must(t, b.Fetch(t.Context(), rf, loaders.From{}))
			b.wantPackage(rf, module(1))
		})
	}
}

// TestObjectServesProofsAlone asks for what is on disk beside the proofs.
func TestObjectServesProofsAlone(t *testing.T) {
	r := newRepo(t)
	a := r.push("a", pkg(module(1)))
	b := r.push("b", pkg(module(2)))
	url, _ := share(t, r)
	p := newPeer(t, nil)
	must(t, p.Fetch(t.Context(), ref(url, a), outside()))
	must(t, p.Fetch(t.Context(), ref(url, b), outside()))
	inA, err := p.Proof(t.Context(), ref(url, a))
	must(t, err)
	for _, id := range inA {
		raw, err := p.Object(t.Context(), a, id)
		must(t, err)
		if o, err := verify(id, raw); err != nil || o.id != id {
			t.Errorf("object %s: %v", id, err)
		}
	}
	for _, ask := range [][2]string{
		{b, inA[len(inA)-1]}, // of another commit
		{a, r.blob([]byte("words"))},
		{a, originsName},
		{a, "../" + b + "/" + b},
		{"..", a},
		{"", a},
		{a, ""},
		{strings.ToUpper(a), a},
		{a + "/../" + b, b},
	} {
		if _, err := p.Object(t.Context(), ask[0], ask[1]); !errors.Is(err, loaders.ErrMissing) {
			t.Errorf("object %q of %q: %v", ask[1], ask[0], err)
		}
	}
}

// silent peers never answer.
type silent struct{}

func (silent) Objects(ctx context.Context, _ crdt.DocID, _ string, _ []string, _ func(string, []byte) error) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestSilentPeers: they are waited for, but not for ever, and then the host is asked.
func TestSilentPeers(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	sha := r.push("main", pkg(module(1)))
	url, _ := share(t, r)
	p := newPeer(t, func(c *Config) { c.Peers = silent{}; c.Timeout = 300 * time.Millisecond })
	wantError(t, p.Fetch(t.Context(), ref(url, sha), loaders.From{}), loaders.ErrConsent, "no peer has it")
	p = newPeer(t, func(c *Config) { c.Peers = silent{}; c.Timeout = 5 * time.Second })
	must(t, p.Fetch(t.Context(), ref(url, sha), outside()))
	p.wantPackage(ref(url, sha), module(1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, p.Fetch(ctx, ref(url, strings.Repeat("a", 40)), outside()), context.Canceled, "")
}
