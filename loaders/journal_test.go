package loaders_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// What can't be noted in the journal does not run.
func TestJournalFails(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	ref := w.pack("greeter", "code", nil)
	w.trust(loaders.TrustRequest{Ref: ref, Session: session(1)})
	set, err := loaders.New(loaders.Config{
		Loaders: []loaders.Loader{w.ipld}, Decisions: w.decisions, Journal: &brokenJournal{}, Clock: w.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := set.Load(t.Context(), session(1), "greeter", ref); r.State != loaders.StateUnavailable || !strings.Contains(r.Reason, "disk full") {
		t.Errorf("%+v", r)
	}
}

func TestJournal(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	ref := w.pack("greeter", "code", nil)
	w.set.Load(t.Context(), session(1), "greeter", ref)
	d := w.trust(loaders.TrustRequest{Ref: ref, Session: session(1), Why: "asked for"})
	w.set.Load(t.Context(), session(1), "greeter", ref)
	if _, err := w.set.Untrust(t.Context(), "greeter"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.set.Deny(t.Context(), ref, "no"); err != nil {
		t.Fatal(err)
	}
	events, err := w.journal.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []loaders.EventKind
	for _, e := range events {
		kinds = append(kinds, e.What)
		if e.Name != "greeter" || e.Ref != ref.String() || e.Key != d.Key || e.At != 1000 {
			t.Errorf("%+v", e)
		}
	}
	want := []loaders.EventKind{loaders.EventRefused, loaders.EventTrust, loaders.EventLoad, loaders.EventUntrust, loaders.EventDeny}
	if !slices.Equal(kinds, want) {
		t.Errorf("%v", kinds)
	}
	if last, _ := w.journal.Read(t.Context(), 2); len(last) != 2 || last[1].What != loaders.EventDeny {
		t.Errorf("the newest two: %+v", last)
	}
}

func TestPending(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	here, away := w.pack("bee", "code", nil), extension.IPLDRef("ant", "bafyaway")
	trusted := w.pack("cat", "code", nil)
	w.trust(loaders.TrustRequest{Ref: trusted, Everywhere: true})
	newer := w.pack("cat", "code2", nil)
	x, y := signer(t, 1).PeerID(), signer(t, 2).PeerID()
	got := w.set.Pending(t.Context(), []loaders.Asked{
		{Session: session(1), Name: "bee", Ref: here, By: x, At: 50},
		{Session: session(2), Name: "bee", Ref: here, By: y, At: 40},
		{Session: session(2), Name: "bee", Ref: here, By: y, At: 60},
		{Session: session(1), Name: "ant", Ref: away, By: x, At: 10},
		{Session: session(1), Name: "cat", Ref: trusted, By: x, At: 10},
		{Session: session(1), Name: "cat", Ref: newer, By: x, At: 10},
		{Session: session(1), Name: "core", Ref: extension.BuiltinRef("core", "1"), By: x, At: 10},
	})
	if len(got) != 3 || got[0].Name != "ant" || got[1].Name != "bee" || got[2].Name != "cat" {
		t.Fatalf("%+v", got)
	}
	if got[0].Here || !got[1].Here || got[2].State != loaders.StateNeedsReview {
		t.Errorf("%+v", got)
	}
	bee := got[1]
	if bee.At != 40 || !slices.Equal(bee.Sessions, []crdt.DocID{session(1), session(2)}) || !slices.Equal(bee.By, []crdt.PeerID{x, y}) {
		t.Errorf("%+v", bee)
	}
}

func TestNew(t *testing.T) {
	good := loaders.Config{Decisions: &loaders.MemDecisions{}, Journal: &loaders.MemJournal{}, Clock: crdt.NewManualClock(0)}
	if _, err := loaders.New(good); err != nil {
		t.Fatal(err)
	}
	bad := good
	bad.Policy.Network = "maybe"
	if _, err := loaders.New(bad); err == nil {
		t.Error("a faulty policy was taken")
	}
	bad = good
	bad.Clock = nil
	if _, err := loaders.New(bad); err == nil {
		t.Error("no clock was taken")
	}
	bad = good
	bad.Loaders = []loaders.Loader{newShelf(extension.IPLD), newShelf(extension.IPLD)}
	if _, err := loaders.New(bad); err == nil {
		t.Error("two loaders of one kind were taken")
	}
}

func TestFetch(t *testing.T) {
	w := newWorld(t, loaders.Policy{Network: "off", AllowGitHosts: []string{"good.org"}})
	ref := extension.IPLDRef("greeter", "bafyaway")
	w.ipld.away[ref.String()] = loaders.Package{Ref: ref, Manifest: manifestOf(t, "greeter", "code", nil), WASM: []byte("code")}
	if err := w.set.Fetch(t.Context(), ref, loaders.From{Doc: session(1), Outside: true}); err != nil {
		t.Fatal(err)
	}
	if from := w.ipld.fetches[0]; from.Outside || from.Doc != session(1) {
		t.Errorf("%+v", from)
	}
	sha := strings.Repeat("a", 40)
	if err := w.set.Fetch(t.Context(), extension.GitRef("g", "https://bad.org/x", sha), loaders.From{}); err == nil {
		t.Error("fetched from a host that the policy does not allow")
	}
	if err := w.set.Fetch(t.Context(), extension.GitRef("g", "https://good.org/x", sha), loaders.From{}); !errors.Is(err, loaders.ErrMissing) {
		t.Error(err)
	}
	if len(w.git.fetches) != 1 {
		t.Errorf("%d git fetches", len(w.git.fetches))
	}
	if err := w.set.Fetch(t.Context(), extension.IPLDRef("g", "malformed"), loaders.From{}); !errors.Is(err, loaders.ErrInvalid) {
		t.Error(err)
	}
}
