package registry_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/registry"
)

// The name of a release's package can be had without a reference, which would need it.
func TestIdentify(t *testing.T) {
	a, b := newPeer(t, 1), newPeer(t, 2)
	doc, session := a.create(crdt.Package), crdt.DocID{9}
	a.must(doc, func(tx *crdt.Tx) error {
		if err := registry.Publish(tx, registry.Release{Version: "1.0.0", CID: "bafyone"}); err != nil {
			return err
		}
		return registry.Publish(tx, registry.Release{Version: "2.0.0", CID: "bafybare"})
	})
	bare := packageOf("x", "two")
	bare.Manifest.Synthetic = true
	content := &shelf{here: map[string]loaders.Package{}, peers: doc, away: map[string]loaders.Package{"bafyone": packageOf("greeter", "one"), "bafybare": bare}}
	l := registry.New(b, content)
	if _, err := l.Identify(t.Context(), doc, "1.0.0", loaders.From{Doc: session}); !errors.Is(err, loaders.ErrMissing) {
		t.Errorf("nobody has the document: %v", err)
	}
	b.others[session] = a
	if m, err := l.Identify(t.Context(), doc, "1.0.0", loaders.From{Doc: session}); err != nil || m.Name != "greeter" {
		t.Errorf("%+v %v", m, err)
	}
	if m, err := l.Identify(t.Context(), doc, "2.0.0", loaders.From{Doc: session}); err != nil || m != nil {
		t.Errorf("a bare module: %+v %v", m, err)
	}
	if _, err := l.Identify(t.Context(), doc, "3.0.0", loaders.From{Doc: session}); !errors.Is(err, loaders.ErrMissing) {
		t.Errorf("no such release: %v", err)
	}
}

func FuzzRelease(f *testing.F) {
	f.Add("1.0.0", `{"cid":"bafyone","at":5,"note":"x","yanked":"why"}`)
	f.Add("1.0.0-rc.1+b", `{"cid":"bafyone","sha256":"`+strings.Repeat("0", 64)+`"}`)
	f.Add("v1", `{"cid":1}`)
	f.Fuzz(func(t *testing.T, version, text string) {
		r, err := registry.ParseRelease(version, text)
		if err != nil {
			return
		}
		if err := registry.CheckVersion(r.Version); err != nil || r.CID == "" || strings.ContainsAny(r.Note+r.Yanked, "\n\r\x1b") {
			t.Fatalf("%q gives %+v", text, r)
		}
	})
}
