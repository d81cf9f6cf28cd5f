package loaders_test

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// content is one package in the model of what was decided.
type content struct {
	name   string
	ref    extension.Ref
	pkg    loaders.Package
	asked  extension.GuestCaps
	here   bool
	denied bool
	grants map[crdt.DocID]extension.GuestCaps // the zero id: everywhere
}

func (c *content) grant(s crdt.DocID) (extension.GuestCaps, bool) {
	g, ok := c.grants[s]
	if !ok {
		g, ok = c.grants[crdt.DocID{}]
	}
	return g, ok
}

// expect is the rule of trust once more, in other words.
func expect(all []*content, c *content, s crdt.DocID, p loaders.Policy) (loaders.State, extension.GuestCaps) {
	none := extension.GuestCaps{}
	granted, ok := c.grant(s)
	switch {
	case len(p.Deny.Names) > 0 && p.Deny.Names[0] == c.name, c.denied:
		return loaders.StateDenied, none
	case !c.here && ok:
		return loaders.StateUnavailable, none
	case c.here && len(p.Deny.SHA256) > 0 && p.Deny.SHA256[0] == c.pkg.Manifest.WASMSHA256:
		return loaders.StateDenied, none
	case c.here && ok:
		caps := c.asked.Intersect(granted)
		if p.MaxCaps != nil {
			caps = caps.Intersect(*p.MaxCaps)
		}
		return loaders.StateTrusted, caps
	}
	for _, o := range all {
		if _, ok := o.grant(s); ok && o.name == c.name {
			return loaders.StateNeedsReview, none
		}
	}
	return loaders.StatePending, none
}

// After any sequence of decisions, changes of policy and of bytes, what runs is what somebody here said
// yes to, with no more than what was asked, granted and allowed, and nothing was fetched.
func TestTrustModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, loaders.Policy{})
		var all []*content
		for i, name := range []string{"a", "a", "a", "b"} {
			asked := anyOf(rt, fmt.Sprintf("asked %d", i))
			code := fmt.Sprintf("code %d", i)
			m := manifestOf(t, name, code, func(m *loaders.Manifest) { m.Capabilities = asked })
			ref := extension.IPLDRef(name, fmt.Sprintf("bafy%d", i))
			c := &content{name: name, ref: ref, asked: asked, here: true, grants: map[crdt.DocID]extension.GuestCaps{}}
			c.pkg = loaders.Package{Ref: ref, Manifest: m, WASM: []byte(code)}
			w.put(w.ipld, ref, code, m)
			all = append(all, c)
		}
		var p loaders.Policy
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			step(rt, w, all, &p)
			for _, c := range all {
				for _, s := range []crdt.DocID{session(1), session(2)} {
					want, caps := expect(all, c, s, p)
					r := w.set.Load(t.Context(), s, c.name, c.ref)
					if r.State != want || !r.Caps.Subset(caps) || !caps.Subset(r.Caps) {
						rt.Fatalf("%s in %s: %s with %v (%s), want %s with %v", c.ref, s.Short(), r.State, r.Caps.Flags(), r.Reason, want, caps.Flags())
					}
				}
			}
		}
		if _, fetches := w.ipld.counts(); fetches != 0 {
			rt.Fatalf("%d fetches", fetches)
		}
	})
}

func anyOf(t *rapid.T, label string) extension.GuestCaps {
	return extension.GuestCaps{
		Net:          rapid.SampledFrom([][]string{nil, {"a.org"}, {"*.x.org"}, {"a.x.org", "a.org"}}).Draw(t, label),
		KV:           rapid.SampledFrom([]int64{0, 1, 2}).Draw(t, label+" kv"),
		SessionWrite: rapid.Bool().Draw(t, label+" write"),
	}
}

func step(t *rapid.T, w *world, all []*content, p *loaders.Policy) {
	c := rapid.SampledFrom(all).Draw(t, "content")
	ctx := w.t.Context()
	switch what := rapid.SampledFrom([]string{"trust", "trust", "deny", "untrust", "policy", "bytes"}).Draw(t, "what"); what {
	case "trust":
		where := rapid.SampledFrom([]crdt.DocID{{}, session(1), session(2)}).Draw(t, "where")
		req := loaders.TrustRequest{Ref: c.ref, Session: where, Everywhere: where.IsZero()}
		req.Caps = c.asked.Intersect(anyOf(t, "granted"))
		req.None = req.Caps.IsZero()
		before, _ := expect([]*content{}, c, where, *p)
		_, err := w.set.Trust(ctx, req)
		if can := c.here && (before != loaders.StateDenied || c.denied && !policyDenies(c, *p)); can != (err == nil) {
			t.Fatalf("trust %s (%s): %v", c.ref, before, err)
		} else if can {
			c.grants[where], c.denied = req.Caps, false
		}
	case "deny":
		if _, err := w.set.Deny(ctx, c.ref, "no"); err != nil {
			t.Fatal(err)
		}
		c.denied, c.grants = true, map[crdt.DocID]extension.GuestCaps{}
	case "untrust":
		affected, err := w.set.Untrust(ctx, c.ref.Version())
		if err != nil || len(affected) != len(c.grants) {
			t.Fatalf("untrust: %v, %v", affected, err)
		}
		c.grants = map[crdt.DocID]extension.GuestCaps{}
	case "policy":
		*p = loaders.Policy{}
		switch rapid.IntRange(0, 3).Draw(t, "rule") {
		case 1:
			p.Deny.Names = []string{c.name}
		case 2:
			p.Deny.SHA256 = []string{c.pkg.Manifest.WASMSHA256}
		case 3:
			most := anyOf(t, "most")
			p.MaxCaps = &most
		}
		w.policy(*p)
	case "bytes":
		if c.here = !c.here; c.here {
			w.put(w.ipld, c.ref, string(c.pkg.WASM), c.pkg.Manifest)
			w.set.Changed()
		} else {
			w.remove(c.ref)
		}
	}
}

func policyDenies(c *content, p loaders.Policy) bool {
	return len(p.Deny.Names) > 0 && p.Deny.Names[0] == c.name || len(p.Deny.SHA256) > 0 && p.Deny.SHA256[0] == c.pkg.Manifest.WASMSHA256
}

// Many ask and decide at the same time; afterwards an untrust leaves nothing trusted.
func TestSetConcurrent(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	by := signer(t, 1)
	first := w.pack("greeter", "code", signed(t, by, nil))
	second := w.pack("greeter", "code2", signed(t, by, nil))
	ctx := t.Context()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := session(byte(i%2 + 1))
			for range 30 {
				if _, err := w.set.Trust(ctx, loaders.TrustRequest{Ref: first, Session: s, Publisher: true}); err != nil {
					t.Error(err)
				}
				w.set.Resolve(ctx, s, "greeter", second)
				w.set.Load(ctx, s, "greeter", first)
				if _, err := w.set.Untrust(ctx, "greeter"); err != nil {
					t.Error(err)
				}
				if err := w.set.SetPolicy(loaders.Policy{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := w.set.Untrust(ctx, "greeter"); err != nil {
		t.Fatal(err)
	}
	w.want(session(1), first, loaders.StatePending)
	w.want(session(2), second, loaders.StatePending)
}
