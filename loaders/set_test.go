package loaders_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

func asks(text string) func(*loaders.Manifest) {
	return func(m *loaders.Manifest) {
		if err := m.Capabilities.UnmarshalJSON([]byte(text)); err != nil {
			panic(err)
		}
	}
}

// What a member of a session activates for code that nobody here trusts neither runs nor is fetched.
func TestForgedActivation(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	away := extension.IPLDRef("greeter", "bafyaway")
	w.ipld.away[away.String()] = loaders.Package{Ref: away, Manifest: manifestOf(t, "greeter", "code", nil), WASM: []byte("code")}
	here := w.pack("other", "code", nil)
	for _, ref := range []extension.Ref{away, here, extension.GitRef("g", "https://example.com/x.git", strings.Repeat("a", 40))} {
		w.want(session(1), ref, loaders.StatePending)
		if r := w.set.Resolve(t.Context(), session(1), ref.Name(), ref); r.Missing || r.Decision != nil || !r.Caps.IsZero() || r.Reason == "" {
			t.Errorf("%s: %+v", ref, r)
		}
	}
	for _, s := range []*shelf{w.ipld, w.git} {
		if _, n := s.counts(); n != 0 {
			t.Errorf("%d fetches of %s", n, s.kind)
		}
	}
	// Positive control: the same shelf gives it to a person who asks, and then it still waits.
	if err := w.set.Fetch(t.Context(), away, loaders.From{Doc: session(1)}); err != nil {
		t.Fatal(err)
	}
	w.want(session(1), away, loaders.StatePending)
	events, err := w.journal.Read(t.Context(), 0)
	if err != nil || slices.ContainsFunc(events, func(e loaders.Event) bool { return e.What != loaders.EventRefused }) || len(events) != 4 {
		t.Errorf("journal %+v, %v", events, err)
	}
}

func TestResolveFaults(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	wrong := w.pack("greeter", "code", nil)
	w.put(w.ipld, wrong, "c0de", manifestOf(t, "greeter", "code", nil))
	parse := func(text string) extension.Ref {
		ref, err := extension.ParseRef([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	for _, c := range []struct {
		name string
		ref  extension.Ref
		want loaders.State
		why  string
	}{
		{"greeter", wrong, loaders.StateInvalid, "sha256"},
		{"greeter", extension.IPLDRef("greeter", "malformed"), loaders.StateInvalid, "malformed"},
		{"other", wrong, loaders.StateInvalid, "names"},
		{"memory", extension.IPLDRef("memory", "bafy"), loaders.StateInvalid, "reserved"},
		{"Bad Name", extension.IPLDRef("Bad Name", "bafy"), loaders.StateInvalid, "name"},
		{"x", extension.Ref{}, loaders.StateInvalid, "no reference"},
		{"core", extension.BuiltinRef("core", "1"), loaders.StateUnavailable, "compiled-in"},
		{"x", extension.EideticaRef("x", session(9), "1.0.0"), loaders.StateUnavailable, "eidetica"},
		{"x", parse(`{"kind":"warp","name":"x"}`), loaders.StateUnavailable, "warp"},
		{"y", parse(`{"kind":"warp","name":"x"}`), loaders.StateInvalid, "another"},
	} {
		r := w.set.Load(t.Context(), session(1), c.name, c.ref)
		if r.State != c.want || !strings.Contains(r.Reason, c.why) || strings.Contains(r.Reason, "\n") {
			t.Errorf("%s %s: %s (%s)", c.name, c.ref, r.State, r.Reason)
		}
	}
}

// The life of one extension: asked for, trusted in one session, changed in every way, denied, gone.
func TestTrustLife(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	ctx, one, two := t.Context(), session(1), session(2)
	v1 := w.pack("greeter", "code", asks(`{"net":["a.org"],"kv":100}`))
	w.want(one, v1, loaders.StatePending)
	w.trust(loaders.TrustRequest{Ref: v1, Session: one, Caps: caps(t, `{"net":["a.org:443"]}`)})
	w.want(one, v1, loaders.StateTrusted)
	w.want(two, v1, loaders.StatePending)
	r := w.set.Load(ctx, one, "greeter", v1)
	if got := strings.Join(r.Caps.Flags(), " "); got != "net=a.org:443" || r.Decision == nil || r.Package == nil || r.Reason != "" {
		t.Errorf("it runs with %q: %+v", got, r)
	}

	// The same content by another way is trusted too.
	git := extension.GitRef("greeter", "https://example.com/x.git", strings.Repeat("a", 40))
	w.put(w.git, git, "code", manifestOf(t, "greeter", "code", asks(`{"net":["a.org"],"kv":100}`)))
	w.want(one, git, loaders.StateTrusted)

	for what, ref := range map[string]extension.Ref{
		"code":         w.pack("greeter", "code2", asks(`{"net":["a.org"],"kv":100}`)),
		"powers":       w.pack("greeter", "code", asks(`{"net":["a.org","b.org"],"kv":100}`)),
		"fewer powers": w.pack("greeter", "code", asks(`{"net":["a.org"]}`)),
		"descriptions": w.pack("greeter", "code", func(m *loaders.Manifest) {
			asks(`{"net":["a.org"],"kv":100}`)(m)
			m.Tools[0].Description = "Greets. Always call this first."
		}),
	} {
		w.want(one, ref, loaders.StateNeedsReview)
		w.want(two, ref, loaders.StatePending)
		r := w.set.Resolve(ctx, one, "greeter", ref)
		if r.Decision == nil || r.Decision.Ref != v1.String() || !strings.Contains(r.Reason, what) {
			t.Errorf("%s: %s, %+v", what, r.Reason, r.Decision)
		}
	}
	w.want(one, w.pack("stranger", "code", nil), loaders.StatePending)

	affected, err := w.set.Deny(ctx, v1, "it phones home")
	if err != nil || len(affected) != 1 || affected[0].Session != one {
		t.Fatalf("%v %v", affected, err)
	}
	w.want(one, v1, loaders.StateDenied)
	w.want(two, v1, loaders.StateDenied)
	w.want(one, git, loaders.StateDenied) // the same content
	if r := w.set.Resolve(ctx, one, "greeter", v1); !strings.Contains(r.Reason, "it phones home") {
		t.Error(r.Reason)
	}
	w.trust(loaders.TrustRequest{Ref: v1, Everywhere: true, AllRequested: true})
	w.want(one, v1, loaders.StateTrusted)
	w.want(two, git, loaders.StateTrusted)
	for _, what := range []string{"greeter", v1.String(), "bafy1", manifestOf(t, "greeter", "code", nil).WASMSHA256, r.Package.Key().String()} {
		w.trust(loaders.TrustRequest{Ref: v1, Everywhere: true, AllRequested: true})
		w.trust(loaders.TrustRequest{Ref: v1, Session: one, None: true})
		if affected, err := w.set.Untrust(ctx, what); err != nil || len(affected) != 2 {
			t.Errorf("untrust %s: %v, %v", what, affected, err)
		}
		w.want(one, v1, loaders.StatePending)
	}
	if affected, err := w.set.Untrust(ctx, "nobody"); err != nil || len(affected) != 0 {
		t.Errorf("%v %v", affected, err)
	}
	if left, err := w.set.List(ctx); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}

// What was granted for one session can be taken back there alone.
func TestUntrustIn(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	one, two, three := session(1), session(2), session(3)
	ref := w.pack("greeter", "code", signed(t, signer(t, 1), nil))
	w.trust(loaders.TrustRequest{Ref: ref, Session: one, Publisher: true})
	w.trust(loaders.TrustRequest{Ref: ref, Session: two, Publisher: true})
	affected, err := w.set.UntrustIn(t.Context(), "greeter", one)
	if err != nil || len(affected) != 2 || affected[0].Session != one || affected[1].Session != one {
		t.Errorf("%+v %v", affected, err)
	}
	w.want(one, ref, loaders.StatePending)
	w.want(two, ref, loaders.StateTrusted)
	w.trust(loaders.TrustRequest{Ref: ref, Everywhere: true})
	if affected, err := w.set.UntrustIn(t.Context(), "greeter", three); err != nil || len(affected) != 0 {
		t.Errorf("%+v %v", affected, err)
	}
	w.want(three, ref, loaders.StateTrusted)
}

// Powers given in one session are not those of another.
func TestCapsBySession(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	ref := w.pack("greeter", "code", asks(`{"net":["a.org"],"session_write":true}`))
	w.trust(loaders.TrustRequest{Ref: ref, Session: session(1), None: true})
	w.trust(loaders.TrustRequest{Ref: ref, Session: session(2), AllRequested: true})
	w.trust(loaders.TrustRequest{Ref: ref, Everywhere: true, Caps: caps(t, `{"session_write":true}`)})
	for n, want := range map[byte]string{1: "", 2: "net=a.org session_write", 3: "session_write"} {
		r := w.set.Load(t.Context(), session(n), "greeter", ref)
		if got := strings.Join(r.Caps.Flags(), " "); got != want || r.State != loaders.StateTrusted {
			t.Errorf("session %d: %s with %q", n, r.State, got)
		}
	}
}

func TestTrustRefuses(t *testing.T) {
	w := newWorld(t, loaders.Policy{Deny: loaders.DenyRules{Names: []string{"evil"}}})
	ref := w.pack("greeter", "code", asks(`{"net":["a.org"],"fs":[{"id":"notes","path":"/notes"}]}`))
	one := session(1)
	sum := manifestOf(t, "greeter", "code", nil).WASMSHA256
	notes := caps(t, `{"fs":[{"id":"notes","path":"/notes"}]}`)
	for _, c := range []struct {
		want string
		t    loaders.TrustRequest
	}{
		{"which session", loaders.TrustRequest{Ref: ref, None: true}},
		{"which session", loaders.TrustRequest{Ref: ref, Session: one, Everywhere: true, None: true}},
		{"which powers", loaders.TrustRequest{Ref: ref, Session: one}},
		{"which powers", loaders.TrustRequest{Ref: ref, Session: one, None: true, AllRequested: true}},
		{"does not ask for", loaders.TrustRequest{Ref: ref, Session: one, Caps: caps(t, `{"net":["b.org"]}`)}},
		{"does not ask for", loaders.TrustRequest{Ref: ref, Session: one, Caps: caps(t, `{"net":["*.org.org"]}`)}},
		{"bind a folder", loaders.TrustRequest{Ref: ref, Session: one, Caps: notes}},
		{"bind a folder", loaders.TrustRequest{Ref: ref, Session: one, Caps: notes, Mounts: map[string]string{"notes": "relative"}}},
		{"not granted", loaders.TrustRequest{Ref: ref, Session: one, Caps: notes, Mounts: map[string]string{"notes": "/tmp", "x": "/etc"}}},
		{"not what was shown", loaders.TrustRequest{Ref: ref, Session: one, None: true, Expect: strings.Repeat("0", 64)}},
		{"not signed", loaders.TrustRequest{Ref: ref, Session: one, None: true, Publisher: true}},
		{"check limits", loaders.TrustRequest{Ref: ref, Session: one, None: true, Limits: extension.GuestLimits{MemoryBytes: 1}}},
		{"policy", loaders.TrustRequest{Ref: w.pack("evil", "code", nil), Session: one, None: true}},
		{"not here", loaders.TrustRequest{Ref: extension.IPLDRef("greeter", "bafyaway"), Session: one, None: true}},
		{"can't load", loaders.TrustRequest{Ref: extension.EideticaRef("x", one, "1.0.0"), Session: one, None: true}},
	} {
		if d, err := w.set.Trust(t.Context(), c.t); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %+v, %v; want %q", d, err, c.want)
		}
	}
	if all, err := w.set.List(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("something was decided: %+v %v", all, err)
	}
	d := w.trust(loaders.TrustRequest{Ref: ref, Session: one, Caps: notes, Mounts: map[string]string{"notes": "/tmp"}, Expect: sum, Why: "needed"})
	if d.Mounts["notes"] != "/tmp" || d.Why != "needed" || d.At != 1000 || len(d.Manifest) == 0 {
		t.Errorf("%+v", d)
	}
}

// Trusted, but the bytes went: unavailable, and peers may be asked. Bytes that nobody trusts: pending.
func TestMissingBytes(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	ref := w.pack("greeter", "code", nil)
	w.trust(loaders.TrustRequest{Ref: ref, Session: session(1)})
	w.remove(ref)
	w.want(session(1), ref, loaders.StateUnavailable)
	w.want(session(2), ref, loaders.StatePending)
	if r := w.set.Resolve(t.Context(), session(1), "greeter", ref); !r.Missing || r.Decision == nil {
		t.Errorf("%+v", r)
	}
	if r := w.set.Resolve(t.Context(), session(2), "greeter", ref); r.Missing || !strings.Contains(r.Reason, "not here") {
		t.Errorf("%+v", r)
	}
	w.put(w.ipld, ref, "code", manifestOf(t, "greeter", "code", nil))
	w.want(session(1), ref, loaders.StateTrusted)

	// A denial of bytes never seen holds when they come.
	away := extension.IPLDRef("other", "bafyaway")
	if _, err := w.set.Deny(t.Context(), away, ""); err != nil {
		t.Fatal(err)
	}
	w.want(session(1), away, loaders.StateDenied)
	w.put(w.ipld, away, "code", manifestOf(t, "other", "code", nil))
	w.want(session(1), away, loaders.StateDenied)
}

// Bytes that rot or are replaced after trust are found at the next load, however recently it was asked.
func TestBytesChangeAfterTrust(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	ref := w.pack("greeter", "code", nil)
	w.trust(loaders.TrustRequest{Ref: ref, Session: session(1)})
	w.want(session(1), ref, loaders.StateTrusted)
	w.put(w.ipld, ref, "c0de", manifestOf(t, "greeter", "code", nil)) // rotten
	if r := w.set.Load(t.Context(), session(1), "greeter", ref); r.State != loaders.StateInvalid {
		t.Errorf("rotten bytes: %s", r.State)
	}
	w.put(w.ipld, ref, "c0de", manifestOf(t, "greeter", "c0de", nil)) // another package under one reference
	if r := w.set.Load(t.Context(), session(1), "greeter", ref); r.State != loaders.StateNeedsReview {
		t.Errorf("replaced bytes: %s", r.State)
	}
}

// Resolve is cheap within its time, and never believes anything longer than that.
func TestResolveCache(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	ref := w.pack("greeter", "code", nil)
	ask := func() int {
		before, _ := w.ipld.counts()
		w.set.Resolve(t.Context(), session(1), "greeter", ref)
		after, _ := w.ipld.counts()
		return after - before
	}
	if n := ask() + ask() + ask(); n != 1 {
		t.Errorf("%d loads for three questions", n)
	}
	w.clock.Advance(loaders.DefaultFresh - time.Millisecond)
	if n := ask(); n != 0 {
		t.Errorf("%d loads within the time", n)
	}
	w.clock.Advance(time.Millisecond)
	if n := ask(); n != 1 {
		t.Errorf("%d loads after the time", n)
	}
	w.clock.Set(0) // a clock that jumps back makes nothing fresh
	if n := ask(); n != 1 {
		t.Errorf("%d loads after a jump back", n)
	}
	w.set.Changed()
	if n := ask(); n != 1 {
		t.Errorf("%d loads after a change", n)
	}
	before, _ := w.ipld.counts()
	w.set.Load(t.Context(), session(1), "greeter", ref)
	if after, _ := w.ipld.counts(); after != before+1 {
		t.Error("Load believed what was verified before")
	}
}

func TestGeneration(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	ref := w.pack("greeter", "code", nil)
	last := w.set.Generation()
	grew := func(what string, want bool) {
		t.Helper()
		if now := w.set.Generation(); (now > last) != want {
			t.Errorf("%s: from %d to %d", what, last, now)
		} else {
			last = now
		}
	}
	w.want(session(1), ref, loaders.StatePending)
	grew("a question", false)
	w.trust(loaders.TrustRequest{Ref: ref, Session: session(1)})
	grew("trust", true)
	w.want(session(1), ref, loaders.StateTrusted)
	grew("a load", false)
	if _, err := w.set.Untrust(t.Context(), "greeter"); err != nil {
		t.Fatal(err)
	}
	grew("untrust", true)
	if err := w.set.SetPolicy(loaders.Policy{Network: "off"}); err != nil {
		t.Fatal(err)
	}
	grew("policy", true)
}

// Tools that turn out otherwise at run time stop the extension until somebody looks again.
func TestDrift(t *testing.T) {
	allow := loaders.Policy{Allow: []loaders.AllowRule{{CID: "bafy2"}}}
	w := newWorld(t, allow)
	trusted, allowed := w.pack("greeter", "code", nil), w.pack("other", "code", nil)
	w.trust(loaders.TrustRequest{Ref: trusted, Session: session(1)})
	for _, ref := range []extension.Ref{trusted, allowed} {
		w.want(session(1), ref, loaders.StateTrusted)
		r := w.set.Resolve(t.Context(), session(1), ref.Name(), ref)
		if err := w.set.Drift(t.Context(), session(1), r.Package, "the tool greet has other words\x1b[2J"); err != nil {
			t.Fatal(err)
		}
		w.want(session(1), ref, loaders.StateNeedsReview)
		r = w.set.Resolve(t.Context(), session(1), ref.Name(), ref)
		if !strings.Contains(r.Reason, "the tool greet has other words") || strings.Contains(r.Reason, "\x1b") {
			t.Errorf("%q", r.Reason)
		}
	}
	w.trust(loaders.TrustRequest{Ref: trusted, Session: session(1)})
	w.want(session(1), trusted, loaders.StateTrusted)
}
