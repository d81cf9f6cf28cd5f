package loaders_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

func TestCheckPackage(t *testing.T) {
	by := signer(t, 1)
	good := func() *loaders.Package {
		return &loaders.Package{Ref: extension.IPLDRef("greeter", "bafy"), Manifest: manifestOf(t, "greeter", "code", signed(t, by, nil)), WASM: []byte("code")}
	}
	p := good()
	if err := loaders.CheckPackage(p); err != nil || !p.Signed {
		t.Fatalf("a good package: %v, signed %v", err, p.Signed)
	}
	unsigned := good()
	unsigned.Manifest = manifestOf(t, "greeter", "code", nil)
	if err := loaders.CheckPackage(unsigned); err != nil || unsigned.Signed {
		t.Fatalf("an unsigned package: %v, signed %v", err, unsigned.Signed)
	}
	for _, c := range []struct {
		want  string
		fault func(*loaders.Package)
	}{
		{"names", func(p *loaders.Package) { p.Ref = extension.IPLDRef("other", "bafy") }},
		{"no extension reference", func(p *loaders.Package) { p.Ref = extension.Ref{} }},
		{"no manifest", func(p *loaders.Package) { p.Manifest = nil }},
		{"has 5 bytes", func(p *loaders.Package) { p.WASM = []byte("code2") }},
		{"sha256", func(p *loaders.Package) { p.WASM = []byte("c0de") }},
		{"sha256", func(p *loaders.Package) { p.Manifest.WASMSHA256 = strings.Repeat("0", 64) }},
		{"not that of this content", func(p *loaders.Package) { p.Manifest.Enforcing = true }},
		{"not that of this content", func(p *loaders.Package) { p.Manifest.Publisher.Key = signer(t, 2).PeerID().String() }},
		{"not that of this content", func(p *loaders.Package) {
			p.Manifest.Publisher.Sig = base64.StdEncoding.EncodeToString(make([]byte, 64))
		}},
		{"64 bytes", func(p *loaders.Package) { p.Manifest.Publisher.Sig = "AA==" }},
		{"unknown abi", func(p *loaders.Package) { p.Manifest.ABI = "x" }},
	} {
		p := good()
		c.fault(p)
		if err := loaders.CheckPackage(p); !errors.Is(err, loaders.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	moved := good() // the module may lie elsewhere without a new signature
	moved.Manifest.WASM = loaders.Module{CID: "bafyelsewhere"}
	if err := loaders.CheckPackage(moved); err != nil || !moved.Signed || moved.Key() != p.Key() {
		t.Errorf("the same package by another carrier: %v", err)
	}
}

// The vector of the did:key specification, for a key whose bytes are known.
func TestPublisherKey(t *testing.T) {
	const did = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"
	id, err := (&loaders.Publisher{Key: did}).ID()
	if err != nil {
		t.Fatal(err)
	}
	same, err := (&loaders.Publisher{Key: id.String()}).ID()
	if err != nil || same != id {
		t.Errorf("the peer id form: %v, %v", same, err)
	}
	if want := "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"; want != hexOf(id[:]) {
		t.Errorf("key %s", hexOf(id[:]))
	}
	for _, bad := range []string{"", "did:key:", "did:key:z", did + "1", did[:len(did)-1], "did:web:example.com", "did:key:z0OIl", "did:key:m" + did[9:], "did:key:z" + strings.Repeat("z", 100)} {
		if id, err := (&loaders.Publisher{Key: bad}).ID(); err == nil {
			t.Errorf("%q is the key %s", bad, id)
		}
	}
}

func TestSyntheticManifest(t *testing.T) {
	abi := func([]byte) (string, error) { return extension.ABIExtismV1, nil }
	m, err := loaders.SyntheticManifest("greeter", []byte("code"), abi)
	if err != nil {
		t.Fatal(err)
	}
	p := &loaders.Package{Ref: extension.IPLDRef("greeter", "bafy"), Manifest: m, WASM: []byte("code")}
	if err := loaders.CheckPackage(p); err != nil {
		t.Error(err)
	}
	if !m.Synthetic || !m.Capabilities.IsZero() || !m.MayHaveTools() || len(m.Kinds()) != 1 {
		t.Errorf("%+v", m)
	}
	if _, err := loaders.SyntheticManifest("mcp-x", []byte("code"), abi); !errors.Is(err, loaders.ErrInvalid) {
		t.Errorf("a reserved name: %v", err)
	}
	if _, err := loaders.SyntheticManifest("greeter", nil, abi); !errors.Is(err, loaders.ErrInvalid) {
		t.Errorf("no module: %v", err)
	}
	fault := errors.New("a component")
	if _, err := loaders.SyntheticManifest("greeter", []byte("code"), func([]byte) (string, error) { return "", fault }); !errors.Is(err, fault) {
		t.Errorf("a module of no known interface: %v", err)
	}
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, c := range b {
		s.WriteByte(digits[c>>4])
		s.WriteByte(digits[c&15])
	}
	return s.String()
}
