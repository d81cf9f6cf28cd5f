package ipld

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"

	"github.com/chaz-peer/chaz-peer/extension"
)

func TestPackFillsIn(t *testing.T) {
	l := newLoader(t, nil)
	wasm := module(3<<20, 5)
	bare := map[string]any{"wasm_size": nil, "wasm_sha256": nil}
	want := packNode(t, l, wasm)
	if want.Size != 3<<20 || want.Blocks != 5 || want.Manifest == nil || want.Manifest.WASMSHA256 != want.SHA256 || want.Module == "" {
		t.Errorf("packed: %+v", want)
	}
	upper := strings.ToUpper(want.SHA256)
	raw, err := hex.DecodeString(want.SHA256)
	if err != nil || len(raw) != 32 {
		t.Fatal(err)
	}
	bytesForm := map[string]any{"wasm_sha256": map[string]any{"/": map[string]any{"bytes": b64(wasm)}}}
	for name, files := range map[string]map[string][]byte{
		"absent":        {"manifest.json": jsonOf(t, fields(wasm, "m.wasm", bare)), "m.wasm": wasm},
		"upper case":    {"manifest.json": jsonOf(t, fields(wasm, "m.wasm", map[string]any{"wasm_sha256": upper})), "m.wasm": wasm},
		"as bytes":      {"manifest.dag-json": jsonOf(t, fields(wasm, "m.wasm", bytesForm)), "m.wasm": wasm},
		"git's name":    {"chaz-extension.json": jsonOf(t, fields(wasm, "m.wasm", nil)), "m.wasm": wasm},
		"another place": {"manifest.json": jsonOf(t, fields(wasm, "out/x.wasm", nil)), "out/x.wasm": wasm, "src.go": []byte("package x")},
	} {
		t.Run(name, func(t *testing.T) {
			fresh := newLoader(t, nil)
			got, err := pack(t, fresh, PackOptions{}, files)
			if err != nil {
				t.Fatal(err)
			}
			if got.Root != want.Root {
				t.Errorf("%s, want %s", got.Root, want.Root)
			}
			mustLoad(t, fresh, got.Root, wasm)
		})
	}
	dir := folderOf(t, map[string][]byte{"x.wasm": wasm})
	got, err := l.Pack(t.Context(), filepath.Join(dir, "x.wasm"), PackOptions{Manifest: jsonOf(t, fields(wasm, nil, bare))})
	if err != nil || got.Root != want.Root {
		t.Errorf("a file with a manifest: %s, %v", got.Root, err)
	}
}

func TestPackOfOneFile(t *testing.T) {
	l := newLoader(t, nil)
	if root := ours(t, l, module(MaxBlock, 1), ProfilePlain); cid.MustParse(root).Type() != cid.Raw {
		t.Errorf("2 MiB: %s is not raw", root)
	}
	if root := ours(t, l, module(MaxBlock+1, 1), ProfilePlain); cid.MustParse(root).Type() != cid.DagProtobuf {
		t.Errorf("2 MiB and a byte: %s is no file", root)
	}
	own := jsonOf(t, fields(nil, nil, map[string]any{"wasm_size": nil, "wasm_sha256": nil}))
	dir := folderOf(t, map[string][]byte{"x.wasm": withSection("chaz.manifest", string(own))})
	p, err := l.Pack(t.Context(), filepath.Join(dir, "x.wasm"), PackOptions{})
	if err != nil || p.Manifest == nil || p.Manifest.Name != "probe" {
		t.Errorf("an embedded manifest: %+v, %v", p, err)
	}
	if _, err := l.Load(t.Context(), extension.IPLDRef("probe", p.Root)); err != nil {
		t.Error(err)
	}
}

func TestPackRefuses(t *testing.T) {
	l := newLoader(t, nil)
	wasm := module(1000, 5)
	m := func(changes map[string]any) []byte { return jsonOf(t, fields(wasm, "m.wasm", changes)) }
	for name, c := range map[string]struct {
		files map[string][]byte
		opt   PackOptions
		words string
	}{
		"no manifest":     {map[string][]byte{"m.wasm": wasm}, PackOptions{}, "no manifest.json"},
		"two manifests":   {map[string][]byte{"manifest.json": m(nil), "chaz-extension.json": m(nil), "m.wasm": wasm}, PackOptions{}, "more than one manifest"},
		"no module":       {map[string][]byte{"manifest.json": m(nil)}, PackOptions{}, "no such file"},
		"empty module":    {map[string][]byte{"manifest.json": m(nil), "m.wasm": nil}, PackOptions{}, "empty"},
		"up":              {map[string][]byte{"manifest.json": m(map[string]any{"wasm": "../m.wasm"}), "m.wasm": wasm}, PackOptions{}, "relative path"},
		"wrong hash":      {map[string][]byte{"manifest.json": m(map[string]any{"wasm_sha256": strings.Repeat("0", 64)}), "m.wasm": wasm}, PackOptions{}, "wasm_sha256 is not that of the module"},
		"wrong size":      {map[string][]byte{"manifest.json": m(map[string]any{"wasm_size": 7}), "m.wasm": wasm}, PackOptions{}, "wasm_size is not that of the module"},
		"reserved name":   {map[string][]byte{"manifest.json": m(map[string]any{"name": "fs"}), "m.wasm": wasm}, PackOptions{}, "reserved"},
		"unknown field":   {map[string][]byte{"manifest.json": m(map[string]any{"x": 1}), "m.wasm": wasm}, PackOptions{}, `"x"`},
		"a list":          {map[string][]byte{"manifest.json": []byte("[]"), "m.wasm": wasm}, PackOptions{}, "path of the module"},
		"unknown profile": {map[string][]byte{"manifest.json": m(nil), "m.wasm": wasm}, PackOptions{Profile: "v9"}, "unknown profile"},
		"two sources":     {map[string][]byte{"manifest.json": m(nil), "m.wasm": wasm}, PackOptions{Manifest: m(nil)}, "its own manifest"},
		"nothing filled in for a directory": {
			map[string][]byte{"manifest.json": m(map[string]any{"wasm_sha256": nil}), "m.wasm": wasm}, PackOptions{Profile: ProfileV1}, "wasm_sha256",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pack(t, l, c.opt, c.files)
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v does not say %q", err, c.words)
			}
			if n := count(t, l.store); n != 0 {
				t.Errorf("%d blocks were kept", n)
			}
		})
	}
	big := newLoader(t, nil)
	big.lim.WASM = 999
	if _, err := pack(t, big, PackOptions{}, map[string][]byte{"manifest.json": m(nil), "m.wasm": wasm}); err == nil {
		t.Error("a module above the limit")
	}
	if _, err := l.Pack(t.Context(), filepath.Join(t.TempDir(), "gone"), PackOptions{}); err == nil {
		t.Error("no such path")
	}
}

// A link in the folder must not bring in what lies outside of it.
func TestPackStaysInItsFolder(t *testing.T) {
	l := newLoader(t, nil)
	secret := module(1000, 5)
	outside := folderOf(t, map[string][]byte{"secret.wasm": secret})
	for _, profile := range []Profile{ProfilePlain, ProfileV1} {
		dir := folderOf(t, map[string][]byte{"manifest.json": jsonOf(t, fields(secret, "m.wasm", nil))})
		if err := os.Symlink(filepath.Join(outside, "secret.wasm"), filepath.Join(dir, "m.wasm")); err != nil {
			t.Fatal(err)
		}
		if p, err := l.Pack(t.Context(), dir, PackOptions{Profile: profile}); err == nil {
			t.Errorf("profile %q: packed %+v", profile, p)
		}
		if err := os.Remove(filepath.Join(dir, "m.wasm")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "m.wasm"), secret, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Pack(t.Context(), dir, PackOptions{Profile: profile}); err != nil {
			t.Errorf("profile %q, control: %v", profile, err)
		}
	}
}
