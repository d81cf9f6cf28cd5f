package ipld

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// newLoader is a loader over a new store, for modules as module makes them.
func newLoader(t testing.TB, peers Peers) *Loader {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "blocks"))
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{
		Store: s, Peers: peers, CustomSection: customSection,
		ABI: func([]byte) (string, error) { return extension.ABIExtismV1, nil },
	})
}

// module is size bytes that begin as a wasm module does; the same seed gives the same bytes.
func module(size int, seed uint64) []byte {
	out := make([]byte, max(size, 8))
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(out)
	copy(out, "\x00asm\x01\x00\x00\x00")
	return out
}

// withSection is a module with one custom section.
func withSection(name, content string) []byte {
	body := append(binary.AppendUvarint(nil, uint64(len(name))), name+content...)
	out := append([]byte("\x00asm\x01\x00\x00\x00"), 0)
	return append(binary.AppendUvarint(out, uint64(len(body))), body...)
}

// customSection finds a section that withSection made.
func customSection(wasm []byte, name string) ([]byte, bool) {
	for rest := wasm[min(8, len(wasm)):]; len(rest) > 0; {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, false
		}
		body := rest[1+n : 1+n+int(size)]
		rest = rest[1+n+int(size):]
		if id != 0 {
			continue
		}
		size, n = binary.Uvarint(body)
		if n > 0 && size <= uint64(len(body)-n) && string(body[n:n+int(size)]) == name {
			return body[n+int(size):], true
		}
	}
	return nil, false
}

// fields is a manifest of wasm as JSON data, with changes on top; nil deletes a field.
func fields(wasm []byte, where any, changes map[string]any) map[string]any {
	sum := sha256.Sum256(wasm)
	out := map[string]any{
		"schema": loaders.Schema, "name": "probe", "version": "1.2.3", "abi": extension.ABIExtismV1,
		"wasm": where, "wasm_size": len(wasm), "wasm_sha256": hex.EncodeToString(sum[:]),
		"license": "MIT", "tools": []any{map[string]any{"name": "look", "description": "looks around"}},
	}
	maps.Copy(out, changes)
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
	return out
}

func link(id string) any { return map[string]any{"/": id} }

func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// cborOf turns dag-json data into dag-cbor.
func cborOf(t testing.TB, v any) []byte {
	t.Helper()
	n, err := decodeJSON(jsonOf(t, v))
	if err != nil {
		t.Fatal(err)
	}
	b, err := encodeCBOR(n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put keeps a block under a codec and returns its CID.
func put(t testing.TB, l *Loader, codec uint64, data []byte) string {
	t.Helper()
	id := cidOf(codec, data).String()
	if err := l.store.Put(t.Context(), id, data); err != nil {
		t.Fatal(err)
	}
	return id
}

// plant writes a block without the checks of Put, under any hash function.
func plant(t testing.TB, l *Loader, codec, hash uint64, length int, data []byte) cid.Cid {
	t.Helper()
	h, err := multihash.Sum(data, hash, length)
	if err != nil {
		t.Fatal(err)
	}
	c := cid.NewCidV1(codec, h)
	path := l.store.path(c)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	return c
}

// pack writes files into a folder and packs it.
func pack(t testing.TB, l *Loader, opt PackOptions, files map[string][]byte) (Packed, error) {
	t.Helper()
	return l.Pack(t.Context(), folderOf(t, files), opt)
}

func folderOf(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o700), os.WriteFile(p, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// packNode makes a package with a manifest node.
func packNode(t testing.TB, l *Loader, wasm []byte) Packed {
	t.Helper()
	p, err := pack(t, l, PackOptions{}, map[string][]byte{
		"manifest.json": jsonOf(t, fields(wasm, "m.wasm", nil)), "m.wasm": wasm,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mustLoad loads a root as the extension probe and checks that the module is wasm.
func mustLoad(t testing.TB, l *Loader, root string, wasm []byte) *loaders.Package {
	t.Helper()
	p, err := l.Load(t.Context(), extension.IPLDRef("probe", root))
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	if !bytes.Equal(p.WASM, wasm) {
		t.Fatalf("Load: %d bytes that are not the module of %d", len(p.WASM), len(wasm))
	}
	if p.Root != root {
		t.Fatalf("Load: root %s, want %s", p.Root, root)
	}
	return p
}

// refused checks that err is of a kind and says words.
func refused(t testing.TB, err, kind error, words string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that says %q", words)
	}
	if !errors.Is(err, kind) {
		t.Errorf("error %q is not %v", err, kind)
	}
	if !strings.Contains(err.Error(), words) {
		t.Errorf("error %q does not say %q", err, words)
	}
}

// count is how many blocks a store has.
func count(t testing.TB, s *Store) int {
	t.Helper()
	n, _, err := s.Size()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// neighbour is a peer that gives what another loader serves, straight from its memory.
type neighbour struct {
	of    *Source
	doc   crdt.DocID
	spoil func(id string, data []byte) []byte
	asked int // blocks
	calls int
}

func (n *neighbour) Blocks(ctx context.Context, doc crdt.DocID, root string, want []string, got func(string, []byte) error) error {
	n.calls++
	for _, id := range want {
		n.asked++
		data, err := n.of.Get(ctx, doc, root, id)
		if errors.Is(err, loaders.ErrMissing) || doc != n.doc {
			continue
		}
		if err != nil {
			return err
		}
		if n.spoil != nil {
			data = n.spoil(id, data)
		}
		if err := got(id, data); err != nil {
			return err
		}
	}
	return nil
}
