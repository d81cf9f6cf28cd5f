package loaders_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

func (w *world) policy(p loaders.Policy) {
	w.t.Helper()
	if err := w.set.SetPolicy(p); err != nil {
		w.t.Fatal(err)
	}
}

// A policy that becomes stricter bites what was trusted before, at the next question and the next load.
func TestPolicyTightened(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	one := session(1)
	ref := w.pack("greeter", "code", func(m *loaders.Manifest) {
		asks(`{"net":["a.org","b.org"],"session_write":true,"kv":100}`)(m)
		m.Limits = extension.GuestLimits{MemoryBytes: 64 << 20}
	})
	git := extension.GitRef("greeter", "https://code.org/x.git", strings.Repeat("a", 40))
	w.put(w.git, git, "code", manifestOf(t, "greeter", "code", func(m *loaders.Manifest) {
		asks(`{"net":["a.org","b.org"],"session_write":true,"kv":100}`)(m)
		m.Limits = extension.GuestLimits{MemoryBytes: 64 << 20}
	}))
	sum := manifestOf(t, "greeter", "code", nil).WASMSHA256
	w.trust(loaders.TrustRequest{Ref: ref, Session: one, AllRequested: true})
	only := caps(t, `{"net":["a.org"],"kv":50}`)
	for _, c := range []struct {
		policy loaders.Policy
		ref    extension.Ref
		want   loaders.State
		caps   string
	}{
		{loaders.Policy{}, ref, loaders.StateTrusted, "net=a.org net=b.org session_write kv=100"},
		{loaders.Policy{}, git, loaders.StateTrusted, "net=a.org net=b.org session_write kv=100"},
		{loaders.Policy{MaxCaps: &only}, ref, loaders.StateTrusted, "net=a.org kv=50"},
		{loaders.Policy{MaxCaps: &extension.GuestCaps{}}, ref, loaders.StateTrusted, ""},
		{loaders.Policy{Forbid: []string{"net"}}, ref, loaders.StateTrusted, "session_write kv=100"},
		{loaders.Policy{Deny: loaders.DenyRules{Names: []string{"greeter"}}}, ref, loaders.StateDenied, ""},
		{loaders.Policy{Deny: loaders.DenyRules{Refs: []string{"bafy1"}}}, ref, loaders.StateDenied, ""},
		{loaders.Policy{Deny: loaders.DenyRules{Refs: []string{ref.String()}}}, ref, loaders.StateDenied, ""},
		{loaders.Policy{Deny: loaders.DenyRules{SHA256: []string{sum}}}, ref, loaders.StateDenied, ""},
		{loaders.Policy{Deny: loaders.DenyRules{SHA256: []string{sum}}}, git, loaders.StateDenied, ""},
		{loaders.Policy{AllowUnsigned: "never"}, ref, loaders.StateDenied, ""},
		{loaders.Policy{AllowUnsigned: "ask"}, ref, loaders.StateTrusted, "net=a.org net=b.org session_write kv=100"},
		{loaders.Policy{AllowGitHosts: []string{"other.org"}}, git, loaders.StateDenied, ""},
		{loaders.Policy{AllowGitHosts: []string{"code.org"}}, git, loaders.StateTrusted, "net=a.org net=b.org session_write kv=100"},
	} {
		w.policy(c.policy)
		r := w.set.Resolve(t.Context(), one, "greeter", c.ref)
		if got := strings.Join(r.Caps.Flags(), " "); r.State != c.want || got != c.caps || r.State != loaders.StateTrusted && r.Reason == "" {
			t.Errorf("%+v: %s (%s) with %q, want %s with %q", c.policy, r.State, r.Reason, got, c.want, c.caps)
		}
		w.want(one, c.ref, c.want)
	}
	w.policy(loaders.Policy{MaxLimits: extension.GuestLimits{MemoryBytes: 1 << 20, OutputBytes: 5}})
	r := w.set.Load(t.Context(), one, "greeter", ref)
	if want := (extension.GuestLimits{MemoryBytes: 1 << 20, OutputBytes: 5}); r.Limits != want {
		t.Errorf("limits %+v", r.Limits)
	}
}

// A ceiling above this peer's default leaves the default alone; it is no request for more.
func TestCeilingIsNoRequest(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	set, err := loaders.New(loaders.Config{
		Loaders: []loaders.Loader{w.ipld}, Decisions: w.decisions, Journal: w.journal, Clock: w.clock,
		Defaults: extension.GuestLimits{MemoryBytes: 64 << 20, OutputBytes: 1 << 20},
		Policy:   loaders.Policy{MaxLimits: extension.GuestLimits{MemoryBytes: 256 << 20, OutputBytes: 1 << 10}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ref := w.pack("greeter", "code", nil)
	w.trust(loaders.TrustRequest{Ref: ref, Session: session(1)})
	r := set.Load(t.Context(), session(1), "greeter", ref)
	if want := (extension.GuestLimits{OutputBytes: 1 << 10}); r.Limits != want || r.State != loaders.StateTrusted {
		t.Errorf("%s %+v", r.State, r.Limits)
	}
}

func TestPolicyAllows(t *testing.T) {
	by, other := signer(t, 1), signer(t, 2)
	all := caps(t, `{"net":["*.org.example"],"kv":50}`)
	want := asks(`{"net":["a.org.example"],"kv":100}`)
	w := newWorld(t, loaders.Policy{})
	mine, theirs, plain := w.pack("mine", "1", signed(t, by, want)), w.pack("theirs", "2", signed(t, other, want)), w.pack("plain", "3", want)
	claimed := w.pack("claimed", "4", func(m *loaders.Manifest) { // says a publisher, has no signature
		want(m)
		m.Publisher = &loaders.Publisher{Key: by.PeerID().String()}
	})
	away := extension.IPLDRef("away", "bafyaway")
	for _, c := range []struct {
		rule    loaders.AllowRule
		trusted extension.Ref
	}{
		{loaders.AllowRule{Publisher: by.PeerID().String(), Caps: all}, mine},
		{loaders.AllowRule{SHA256: manifestOf(t, "plain", "3", nil).WASMSHA256, Caps: all}, plain},
		{loaders.AllowRule{CID: theirs.Version(), Caps: all}, theirs},
	} {
		w.policy(loaders.Policy{Allow: []loaders.AllowRule{c.rule}})
		for _, ref := range []extension.Ref{mine, theirs, plain, claimed} {
			if !ref.Equal(c.trusted) {
				w.want(session(1), ref, loaders.StatePending)
				continue
			}
			w.want(session(1), ref, loaders.StateTrusted)
			r := w.set.Resolve(t.Context(), session(1), ref.Name(), ref)
			if got := strings.Join(r.Caps.Flags(), " "); got != "net=a.org.example kv=50" {
				t.Errorf("it runs with %q", got)
			}
		}
		c.rule.Name = "somebody-else"
		w.policy(loaders.Policy{Allow: []loaders.AllowRule{c.rule}})
		w.want(session(1), c.trusted, loaders.StatePending)
	}
	w.policy(loaders.Policy{Allow: []loaders.AllowRule{{CID: "bafyaway"}}})
	if r := w.set.Resolve(t.Context(), session(1), "away", away); r.State != loaders.StateUnavailable || !r.Missing {
		t.Errorf("%+v", r)
	}
	// A person's no is stronger than the policy's yes.
	w.policy(loaders.Policy{Allow: []loaders.AllowRule{{CID: mine.Version()}}})
	if _, err := w.set.Deny(t.Context(), mine, ""); err != nil {
		t.Fatal(err)
	}
	w.want(session(1), mine, loaders.StateDenied)
	w.policy(loaders.Policy{Deny: loaders.DenyRules{Publishers: []string{other.PeerID().String()}}})
	w.want(session(1), theirs, loaders.StateDenied)
}

// Upgrades of a trusted publisher run by themselves while they ask for nothing more.
func TestPublisherRule(t *testing.T) {
	by, other := signer(t, 1), signer(t, 2)
	w := newWorld(t, loaders.Policy{})
	one, two := session(1), session(2)
	powers := asks(`{"net":["a.org","b.org"]}`)
	v1 := w.pack("greeter", "1", signed(t, by, powers))
	w.trust(loaders.TrustRequest{Ref: v1, Session: one, Caps: caps(t, `{"net":["a.org"]}`), Publisher: true})

	for what, ref := range map[string]extension.Ref{
		"more powers than granted": w.pack("greeter", "2", signed(t, by, powers)),
		"another publisher":        w.pack("greeter", "3", signed(t, other, asks(`{"net":["a.org"]}`))),
		"no signature": w.pack("greeter", "4", func(m *loaders.Manifest) {
			m.Publisher = &loaders.Publisher{Key: by.PeerID().String()}
		}),
		"a wider scope":   w.pack("greeter", "5", signed(t, by, func(m *loaders.Manifest) { m.Scopes = []extension.Scope{extension.Global} })),
		"another hook":    w.pack("greeter", "6", signed(t, by, func(m *loaders.Manifest) { m.Hooks = []extension.HookKind{extension.HookAgentEnd} })),
		"it provides":     w.pack("greeter", "7", signed(t, by, func(m *loaders.Manifest) { m.Provides = []string{"memory"} })),
		"it is enforcing": w.pack("greeter", "8", signed(t, by, func(m *loaders.Manifest) { m.Enforcing = true })),
	} {
		w.want(one, ref, loaders.StateNeedsReview)
		if t.Failed() {
			t.Fatal(what)
		}
	}
	w.want(one, w.pack("stranger", "9", signed(t, by, nil)), loaders.StatePending)

	v2 := w.pack("greeter", "10", signed(t, by, func(m *loaders.Manifest) {
		asks(`{"net":["a.org"]}`)(m)
		m.Tools = append(m.Tools, loaders.Tool{Name: "new"})
	}))
	w.want(two, v2, loaders.StatePending)
	w.want(one, v2, loaders.StateTrusted)
	r := w.set.Resolve(t.Context(), one, "greeter", v2)
	if got := strings.Join(r.Caps.Flags(), " "); got != "net=a.org" || !strings.Contains(r.Decision.Why, by.PeerID().String()) {
		t.Errorf("%q because %s", got, r.Decision.Why)
	}
	// Bytes that are not here may be asked of peers, since the rule may let them run.
	if r := w.set.Resolve(t.Context(), one, "greeter", extension.IPLDRef("greeter", "bafyaway")); r.State != loaders.StateUnavailable || !r.Missing {
		t.Errorf("%+v", r)
	}
	// To untrust the extension ends the rule too.
	if affected, err := w.set.Untrust(t.Context(), v2.Version()); err != nil || len(affected) != 2 {
		t.Fatalf("%+v %v", affected, err)
	}
	w.want(one, v2, loaders.StateNeedsReview)
	w.want(one, v1, loaders.StateTrusted)
}

func TestPolicyValidate(t *testing.T) {
	good := `{"allow":[{"publisher":"did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp","caps":{"kv":1}}],
		"deny":{"names":["a"],"refs":["bafy"],"sha256":["` + sum + `"]},"max_caps":{"net":["*.a.b"]},"forbid":["net","hooks"],
		"max_limits":{"memory_bytes":65536},"allow_git_hosts":["code.org","local"],"allow_unsigned":"never","network":"off","enforcing_pending":"block"}`
	var p loaders.Policy
	if err := json.Unmarshal([]byte(good), &p); err != nil {
		t.Fatal(err)
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := (loaders.Policy{}).Validate(); err != nil {
		t.Error(err)
	}
	for want, edit := range map[string]func(*loaders.Policy){
		"names no publisher":  func(p *loaders.Policy) { p.Allow = []loaders.AllowRule{{Name: "a"}} },
		"parse peer id":       func(p *loaders.Policy) { p.Allow = []loaders.AllowRule{{Publisher: "bob"}} },
		"allow 1: sha256":     func(p *loaders.Policy) { p.Allow = []loaders.AllowRule{{SHA256: "abc"}} },
		"allow 1: check cap":  func(p *loaders.Policy) { p.Allow[0].Caps.KV = -1 },
		"deny: sha256":        func(p *loaders.Policy) { p.Deny.SHA256 = []string{strings.ToUpper(sum)} },
		"deny: parse peer id": func(p *loaders.Policy) { p.Deny.Publishers = []string{"bob"} },
		"no name":             func(p *loaders.Policy) { p.Deny.Names = []string{"Bob"} },
		"empty entry":         func(p *loaders.Policy) { p.Deny.Refs = []string{""} },
		"max_caps":            func(p *loaders.Policy) { p.MaxCaps.Net = []string{"*"} },
		"forbid":              func(p *loaders.Policy) { p.Forbid = []string{"everything"} },
		"max_limits":          func(p *loaders.Policy) { p.MaxLimits.MemoryBytes = 1 },
		"allow_git_hosts":     func(p *loaders.Policy) { p.AllowGitHosts = []string{"https://code.org"} },
		"allow_unsigned":      func(p *loaders.Policy) { p.AllowUnsigned = "always" },
		"network":             func(p *loaders.Policy) { p.Network = "some" },
		"enforcing_pending":   func(p *loaders.Policy) { p.EnforcingPending = "panic" },
	} {
		var p loaders.Policy
		if err := json.Unmarshal([]byte(good), &p); err != nil {
			t.Fatal(err)
		}
		edit(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestGitHosts(t *testing.T) {
	for repo, host := range map[string]string{
		"https://Code.org/x.git":      "code.org",
		"https://code.org:8443/x":     "code.org",
		"ssh://git@code.org/x":        "code.org",
		"git@code.org:x/y.git":        "code.org",
		"file:///srv/x.git":           "local",
		"/srv/x.git":                  "local",
		"../x.git":                    "local",
		"https://code.org@evil.org/x": "evil.org",
		"https://evil.org/code.org":   "evil.org",
	} {
		w := newWorld(t, loaders.Policy{AllowGitHosts: []string{host}})
		ref := extension.GitRef("x", repo, strings.Repeat("a", 40))
		w.want(session(1), ref, loaders.StatePending)
		w.policy(loaders.Policy{AllowGitHosts: []string{"nowhere.org"}})
		w.want(session(1), ref, loaders.StateDenied)
	}
}
