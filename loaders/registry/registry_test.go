package registry_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/registry"
)

// peer keeps real documents; what it lacks it obtains from others.
type peer struct {
	*crdt.Repo
	t        *testing.T
	others   map[crdt.DocID]*peer // by the document whose peers are asked
	obtained []crdt.DocID
}

func newPeer(t *testing.T, seed byte) *peer {
	t.Helper()
	id, err := crdt.NewIdentity(bytes.NewReader(bytes.Repeat([]byte{seed}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, others: map[crdt.DocID]*peer{}}
	p.Repo, err = crdt.NewRepo(t.Context(), crdt.Config{
		Store: crdt.NewMemStore(), Identity: id, Clock: crdt.NewManualClock(1000), Codec: chunk.New(), Core: automerge.New(),
		Rand: rand.NewChaCha8([32]byte{seed}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Repo.Close() })
	return p
}

// Obtain implements [registry.Documents]: it copies the document.
func (p *peer) Obtain(ctx context.Context, doc, via crdt.DocID) error {
	p.obtained = append(p.obtained, doc)
	from := p.others[via]
	if from == nil {
		return fmt.Errorf("no peer: %w", loaders.ErrMissing)
	}
	return copyDoc(ctx, from.Repo, p.Repo, doc)
}

// copyDoc copies what one repository has of a document, rights first.
func copyDoc(ctx context.Context, from, to *crdt.Repo, doc crdt.DocID) error {
	access, err := from.Access(ctx, doc)
	if err != nil {
		return err
	}
	var objs [][]byte
	for _, o := range access.Objects() {
		objs = append(objs, o.Raw)
	}
	if _, err := to.Adopt(ctx, objs); err != nil {
		return err
	}
	if _, err := to.AddObjects(ctx, doc, objs); err != nil {
		return err
	}
	have, err := to.Vector(ctx, doc)
	if err != nil {
		return err
	}
	page, _, more, err := from.Page(ctx, doc, have, nil, 1<<20)
	if err != nil || more {
		return fmt.Errorf("more than a page, or %w", err)
	}
	_, err = to.Apply(ctx, doc, page)
	return err
}

func (p *peer) create(kind crdt.Kind) crdt.DocID {
	p.t.Helper()
	id, err := p.Create(p.t.Context(), kind, func(*crdt.Tx) error { return nil })
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

func (p *peer) update(doc crdt.DocID, fn func(*crdt.Tx) error) error {
	return p.Update(p.t.Context(), doc, fn)
}

func (p *peer) must(doc crdt.DocID, fn func(*crdt.Tx) error) {
	p.t.Helper()
	if err := p.update(doc, fn); err != nil {
		p.t.Fatal(err)
	}
}

// shelf is content by CID in memory.
type shelf struct {
	here, away map[string]loaders.Package // away: who fetches from the document "peers" gets it
	peers      crdt.DocID
	asked      []crdt.DocID
}

func (s *shelf) Check(ref extension.Ref) error {
	if !strings.HasPrefix(ref.Version(), "bafy") {
		return fmt.Errorf("check: %w: %s is no CID", loaders.ErrInvalid, ref.Version())
	}
	return nil
}

func (s *shelf) Load(_ context.Context, ref extension.Ref) (*loaders.Package, error) {
	p, ok := s.here[ref.Version()]
	if !ok {
		return nil, loaders.ErrMissing
	}
	p.Ref = ref
	return &p, loaders.CheckPackage(&p)
}

func (s *shelf) Fetch(_ context.Context, ref extension.Ref, from loaders.From) error {
	s.asked = append(s.asked, from.Doc)
	p, ok := s.away[ref.Version()]
	if !ok || from.Doc != s.peers {
		return loaders.ErrMissing
	}
	s.here[ref.Version()] = p
	return nil
}

// Identify returns the manifest of what is here, or nil for a bare module.
func (s *shelf) Identify(ctx context.Context, cid string, from loaders.From) (*loaders.Manifest, error) {
	if _, here := s.here[cid]; !here {
		if err := s.Fetch(ctx, extension.IPLDRef("x", cid), from); err != nil {
			return nil, err
		}
	}
	if m := s.here[cid].Manifest; !m.Synthetic {
		return m, nil
	}
	return nil, nil
}

func packageOf(name, code string) loaders.Package {
	h := sha256.Sum256([]byte(code))
	return loaders.Package{WASM: []byte(code), Root: "bafy" + code, Manifest: &loaders.Manifest{
		Schema: loaders.Schema, Name: name, ABI: extension.ABIExtismV2, WASM: loaders.Module{Path: "m.wasm"},
		WASMSize: int64(len(code)), WASMSHA256: hex.EncodeToString(h[:]),
	}}
}

func TestPublishAndYank(t *testing.T) {
	p := newPeer(t, 1)
	doc := p.create(crdt.Package)
	sum := packageOf("x", "one").Manifest.WASMSHA256
	for _, v := range []string{"1.2.0", "1.10.0", "1.2.0-rc.1", "0.9.9", "1.2.0+build.7"} {
		p.must(doc, func(tx *crdt.Tx) error {
			return registry.Publish(tx, registry.Release{Version: v, CID: "bafyone", SHA256: sum, Note: "first\nline\x1b[2J"})
		})
	}
	list := func() (out []registry.Release) {
		if err := p.View(t.Context(), doc, func(v *crdt.View) error { out = registry.Releases(v); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	var versions []string
	for _, r := range list() {
		versions = append(versions, r.Version)
	}
	if want := []string{"1.10.0", "1.2.0+build.7", "1.2.0", "1.2.0-rc.1", "0.9.9"}; !slices.Equal(versions, want) {
		t.Errorf("versions %v", versions)
	}
	first := list()[0]
	if first.CID != "bafyone" || first.SHA256 != sum || first.At != 1000 || first.Note != "first line[2J" || first.Yanked != "" || first.By != p.Self() {
		t.Errorf("%+v", first)
	}

	again := func(r registry.Release) error {
		return p.update(doc, func(tx *crdt.Tx) error { return registry.Publish(tx, r) })
	}
	if err := again(registry.Release{Version: "1.2.0", CID: "bafyone", SHA256: sum}); err != nil {
		t.Errorf("the same release once more: %v", err)
	}
	for _, r := range []registry.Release{
		{Version: "1.2.0", CID: "bafytwo"},
		{Version: "1.2.0", CID: "bafyone", SHA256: strings.Repeat("0", 64)},
		{Version: "v2.0.0", CID: "bafyone"},
		{Version: "2", CID: "bafyone"},
		{Version: "2.0", CID: "bafyone"},
		{Version: "02.0.0", CID: "bafyone"},
		{Version: "", CID: "bafyone"},
		{Version: "2.0.0-" + strings.Repeat("a", 64), CID: "bafyone"},
		{Version: "2.0.0", CID: ""},
		{Version: "2.0.0", CID: "bafy one"},
		{Version: "2.0.0", CID: "bafyone", SHA256: "abc"},
	} {
		if err := again(r); err == nil {
			t.Errorf("published %+v", r)
		}
	}

	if err := p.update(doc, func(tx *crdt.Tx) error { return registry.Yank(tx, "9.9.9", "x") }); err == nil {
		t.Error("yanked what is not there")
	}
	p.must(doc, func(tx *crdt.Tx) error {
		return tx.Set(registry.Store, "3.0.0", map[string]any{"cid": "bafyone", "at": 5, "future": "kept"})
	})
	p.must(doc, func(tx *crdt.Tx) error { return registry.Yank(tx, "3.0.0", "  leaks\nkeys ") })
	p.must(doc, func(tx *crdt.Tx) error { return registry.Yank(tx, "0.9.9", "") })
	if err := p.View(t.Context(), doc, func(v *crdt.View) error {
		text, _ := v.Record(registry.Store, "3.0.0")
		if text != `{"at":5,"cid":"bafyone","future":"kept","yanked":"leaks keys"}` {
			t.Errorf("the record is %s", text)
		}
		if r, _, err := registry.Find(v, "0.9.9"); err != nil || r.Yanked != "withdrawn" {
			t.Errorf("%+v %v", r, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.update(p.create(crdt.MemoryBank), func(tx *crdt.Tx) error {
		return registry.Publish(tx, registry.Release{Version: "1.0.0", CID: "bafyone"})
	}); err == nil || !strings.Contains(err.Error(), "not a package") {
		t.Errorf("published into a bank: %v", err)
	}
}

func TestLoad(t *testing.T) {
	p := newPeer(t, 1)
	doc, bank := p.create(crdt.Package), p.create(crdt.MemoryBank)
	content := &shelf{here: map[string]loaders.Package{"bafyone": packageOf("greeter", "one"), "bafyother": packageOf("other", "two")}}
	l := registry.New(p, content)
	sum := packageOf("greeter", "one").Manifest.WASMSHA256
	records := map[string]any{
		"1.0.0": registry.Release{CID: "bafyone", SHA256: sum},
		"1.1.0": registry.Release{CID: "bafyone"},
		"2.0.0": registry.Release{CID: "bafyone", SHA256: strings.Repeat("0", 64)},
		"3.0.0": registry.Release{CID: "bafyaway"},
		"4.0.0": registry.Release{CID: "bafyother"},
		"5.0.0": registry.Release{CID: "Qmnot"},
		"6.0.0": "text",
		"7.0.0": map[string]any{"cid": 7},
		"8.0.0": map[string]any{"cid": "bafyone", "yanked": true},
		"9.0.0": registry.Release{CID: "bafyone", Yanked: "leaks keys"},
	}
	p.must(doc, func(tx *crdt.Tx) error {
		for v, r := range records {
			if err := tx.Set(registry.Store, v, r); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range []struct {
		ref  extension.Ref
		want error
		text string
	}{
		{extension.EideticaRef("greeter", doc, "1.0.0"), nil, ""},
		{extension.EideticaRef("greeter", doc, "1.1.0"), nil, ""},
		{extension.EideticaRef("greeter", doc, "9.0.0"), nil, ""},
		{extension.EideticaRef("greeter", doc, "2.0.0"), loaders.ErrInvalid, "not the published one"},
		{extension.EideticaRef("greeter", doc, "3.0.0"), loaders.ErrMissing, ""},
		{extension.EideticaRef("greeter", doc, "4.0.0"), loaders.ErrInvalid, "names"},
		{extension.EideticaRef("greeter", doc, "5.0.0"), loaders.ErrInvalid, "no CID"},
		{extension.EideticaRef("greeter", doc, "6.0.0"), loaders.ErrInvalid, "no object"},
		{extension.EideticaRef("greeter", doc, "7.0.0"), loaders.ErrInvalid, "cid"},
		{extension.EideticaRef("greeter", doc, "8.0.0"), loaders.ErrInvalid, "yanked"},
		{extension.EideticaRef("greeter", doc, "1.0.1"), loaders.ErrMissing, "1.0.1"},
		{extension.EideticaRef("greeter", doc, "latest"), loaders.ErrInvalid, "semantic"},
		{extension.EideticaRef("greeter", bank, "1.0.0"), loaders.ErrInvalid, "not a package"},
		{extension.EideticaRef("greeter", crdt.DocID{1}, "1.0.0"), loaders.ErrMissing, "package document"},
		{extension.EideticaRef("memory", doc, "1.0.0"), loaders.ErrInvalid, "reserved"},
		{extension.IPLDRef("greeter", "bafyone"), loaders.ErrInvalid, ""},
	} {
		got, err := l.Load(t.Context(), c.ref)
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, want %v with %q", c.ref, err, c.want, c.text)
			continue
		}
		if err == nil && (!got.Ref.Equal(c.ref) || string(got.WASM) != "one" || got.Root != "bafyone" || (got.Yanked != "") != (c.ref.Version() == "9.0.0")) {
			t.Errorf("%s: %+v", c.ref, got)
		}
	}
}

// A release that was withdrawn runs for those who trust it, says so, and is trusted by nobody anew. A
// record that was changed to other code needs a review.
func TestYankedAndReplaced(t *testing.T) {
	p := newPeer(t, 1)
	doc := p.create(crdt.Package)
	content := &shelf{here: map[string]loaders.Package{"bafyone": packageOf("greeter", "one"), "bafytwo": packageOf("greeter", "two")}}
	p.must(doc, func(tx *crdt.Tx) error {
		return registry.Publish(tx, registry.Release{Version: "1.0.0", CID: "bafyone"})
	})
	set, err := loaders.New(loaders.Config{
		Loaders: []loaders.Loader{registry.New(p, content)}, Decisions: &loaders.MemDecisions{}, Journal: &loaders.MemJournal{},
		Clock: crdt.NewManualClock(1000),
	})
	if err != nil {
		t.Fatal(err)
	}
	ref := extension.EideticaRef("greeter", doc, "1.0.0")
	one, two := crdt.DocID{1}, crdt.DocID{2}
	if _, err := set.Trust(t.Context(), loaders.TrustRequest{Ref: ref, Session: one}); err != nil {
		t.Fatal(err)
	}
	p.must(doc, func(tx *crdt.Tx) error { return registry.Yank(tx, "1.0.0", "leaks keys") })
	if r := set.Load(t.Context(), one, "greeter", ref); r.State != loaders.StateTrusted || !strings.Contains(r.Reason, "leaks keys") {
		t.Errorf("%s (%s)", r.State, r.Reason)
	}
	if r := set.Load(t.Context(), two, "greeter", ref); r.State != loaders.StatePending || !strings.Contains(r.Reason, "leaks keys") {
		t.Errorf("%s (%s)", r.State, r.Reason)
	}
	if _, err := set.Trust(t.Context(), loaders.TrustRequest{Ref: ref, Session: two}); err == nil || !strings.Contains(err.Error(), "leaks keys") {
		t.Errorf("trusted a withdrawn release: %v", err)
	}
	p.must(doc, func(tx *crdt.Tx) error { return tx.Set(registry.Store, "1.0.0", registry.Release{CID: "bafytwo"}) })
	if r := set.Load(t.Context(), one, "greeter", ref); r.State != loaders.StateNeedsReview {
		t.Errorf("%s (%s)", r.State, r.Reason)
	}
}

func TestFetch(t *testing.T) {
	a, b := newPeer(t, 1), newPeer(t, 2)
	doc := a.create(crdt.Package)
	a.must(doc, func(tx *crdt.Tx) error {
		return registry.Publish(tx, registry.Release{Version: "1.0.0", CID: "bafyone"})
	})
	session := crdt.DocID{9}
	content := &shelf{here: map[string]loaders.Package{}, away: map[string]loaders.Package{"bafyone": packageOf("greeter", "one")}, peers: session}
	l := registry.New(b, content)
	ref := extension.EideticaRef("greeter", doc, "1.0.0")
	if err := l.Fetch(t.Context(), ref, loaders.From{Doc: session}); !errors.Is(err, loaders.ErrMissing) || len(content.asked) != 0 {
		t.Errorf("nobody has it: %v, asked %v", err, content.asked)
	}
	b.others[session] = a
	if err := l.Fetch(t.Context(), ref, loaders.From{Doc: session}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Load(t.Context(), ref); err != nil {
		t.Error(err)
	}
	asked := len(b.obtained)
	if err := l.Fetch(t.Context(), ref, loaders.From{Doc: session}); err != nil || len(b.obtained) != asked {
		t.Errorf("the document was here: %v", err)
	}
	// A release of later reaches b with the second question.
	a.must(doc, func(tx *crdt.Tx) error {
		return registry.Publish(tx, registry.Release{Version: "2.0.0", CID: "bafytwo"})
	})
	content.away["bafytwo"], content.peers, content.asked = packageOf("greeter", "two"), doc, nil
	newer := extension.EideticaRef("greeter", doc, "2.0.0")
	if err := l.Fetch(t.Context(), newer, loaders.From{Doc: session}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(content.asked, []crdt.DocID{session, doc}) {
		t.Errorf("peers of the session and then of the package are asked, not %v", content.asked)
	}
	if err := l.Fetch(t.Context(), extension.EideticaRef("greeter", doc, "3.0.0"), loaders.From{Doc: session}); !errors.Is(err, loaders.ErrMissing) {
		t.Errorf("a release that nobody made: %v", err)
	}
}
