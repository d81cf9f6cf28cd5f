package loaders_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// The hash that is kept of a checked module is that of these very bytes: others in their place are hashed
// anew, and so are the same ones when the package is checked again.
func TestKeptHashIsOfTheModule(t *testing.T) {
	of := func(code []byte) string { sum := sha256.Sum256(code); return hex.EncodeToString(sum[:]) }
	code := []byte("code")
	p := &loaders.Package{Ref: extension.IPLDRef("greeter", "bafy"), Manifest: manifestOf(t, "greeter", "code", nil), WASM: code}
	before := p.Key()
	if err := loaders.CheckPackage(p); err != nil {
		t.Fatal(err)
	}
	if p.SHA256() != of(code) || p.Key() != before {
		t.Errorf("a checked package has another key: %s", p.Key())
	}
	for _, other := range [][]byte{slices.Clone([]byte("c0de")), []byte("code and more"), code[:3], {}, nil} {
		swapped := *p
		swapped.WASM = other
		if swapped.SHA256() != of(other) || swapped.Key().WASM == before.WASM {
			t.Errorf("%q in its place has the hash of the module", other)
		}
	}
	code[0] = 'k'
	if err := loaders.CheckPackage(p); !errors.Is(err, loaders.ErrInvalid) {
		t.Errorf("a module that was changed in its place was taken when checked again: %v", err)
	}
}
