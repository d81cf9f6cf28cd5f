package ipld

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

func TestLoadByCodec(t *testing.T) {
	wasm := module(5000, 1)
	for name, root := range map[string]func(l *Loader) string{
		"dag-cbor": func(l *Loader) string {
			return put(t, l, cid.DagCBOR, cborOf(t, fields(wasm, link(put(t, l, cid.Raw, wasm)), nil)))
		},
		"dag-cbor with the hash as bytes": func(l *Loader) string {
			sum := map[string]any{"/": map[string]any{"bytes": b64(wasm)}}
			return put(t, l, cid.DagCBOR, cborOf(t, fields(wasm, link(put(t, l, cid.Raw, wasm)), map[string]any{"wasm_sha256": sum})))
		},
		"dag-json": func(l *Loader) string {
			return put(t, l, cid.DagJSON, jsonOf(t, fields(wasm, link(put(t, l, cid.Raw, wasm)), nil)))
		},
		"packed folder": func(l *Loader) string { return packNode(t, l, wasm).Root },
		"directory": func(l *Loader) string {
			return putDir(t, l, map[string]string{
				"manifest.json": put(t, l, cid.Raw, jsonOf(t, fields(wasm, "m.wasm", nil))),
				"m.wasm":        put(t, l, cid.Raw, wasm),
			})
		},
		"directory with dag-json": func(l *Loader) string {
			sum := map[string]any{"/": map[string]any{"bytes": b64(wasm)}}
			return putDir(t, l, map[string]string{
				"manifest.dag-json": put(t, l, cid.Raw, jsonOf(t, fields(wasm, "lib/m.wasm", map[string]any{"wasm_sha256": sum}))),
				"lib":               putDir(t, l, map[string]string{"m.wasm": put(t, l, cid.Raw, wasm)}),
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoader(t, nil)
			p := mustLoad(t, l, root(l), wasm)
			if p.Manifest.Synthetic || p.Manifest.License != "MIT" || len(p.Manifest.Tools) != 1 {
				t.Errorf("manifest: %+v", p.Manifest)
			}
			if want := mustLoad(t, l, packNode(t, l, wasm).Root, wasm).Key(); p.Key() != want {
				t.Errorf("key %v, packed as a node it is %v", p.Key(), want)
			}
		})
	}
}

func TestLoadBareModule(t *testing.T) {
	l := newLoader(t, nil)
	wasm := module(100, 2)
	p := mustLoad(t, l, put(t, l, cid.Raw, wasm), wasm)
	if !p.Manifest.Synthetic || p.Manifest.Name != "probe" || p.Manifest.ABI != extension.ABIExtismV1 {
		t.Errorf("a module without a manifest: %+v", p.Manifest)
	}

	own := fields(nil, nil, map[string]any{"wasm_size": nil, "wasm_sha256": nil})
	wasm = withSection("chaz.manifest", string(jsonOf(t, own)))
	root := put(t, l, cid.Raw, wasm)
	p = mustLoad(t, l, root, wasm)
	if p.Manifest.Synthetic || p.Manifest.Version != "1.2.3" || p.Manifest.WASMSize != int64(len(wasm)) {
		t.Errorf("a module with a manifest: %+v", p.Manifest)
	}
	_, err := l.Load(t.Context(), extension.IPLDRef("other", root))
	refused(t, err, loaders.ErrInvalid, "probe")

	for name, c := range map[string]struct{ text, words string }{
		"its own hash":  {string(jsonOf(t, fields(module(8, 1), nil, nil))), "can't stand in the module"},
		"duplicate key": {strings.Replace(string(jsonOf(t, own)), "{", `{"name":"probe",`, 1), "name"},
		"no object":     {"[]", "not a JSON object"},
		"null":          {"null", "not a JSON object"},
		"empty":         {"", "not a JSON object"},
		"too long":      {`{"a":"` + strings.Repeat("x", 64<<10) + `"}`, "the limit is 65536"},
		"unknown field": {strings.Replace(string(jsonOf(t, own)), "{", `{"x":1,`, 1), "x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.Load(t.Context(), extension.IPLDRef("probe", put(t, l, cid.Raw, withSection("chaz.manifest", c.text))))
			refused(t, err, loaders.ErrInvalid, c.words)
		})
	}

	bare := New(Config{Store: l.store})
	_, err = bare.Load(t.Context(), extension.IPLDRef("probe", root))
	refused(t, err, loaders.ErrInvalid, "no manifest")
}

func TestLoadRefusesManifests(t *testing.T) {
	wasm := module(5000, 1)
	l := newLoader(t, nil)
	raw := link(put(t, l, cid.Raw, wasm))
	node := func(where any, changes map[string]any) string {
		return put(t, l, cid.DagCBOR, cborOf(t, fields(wasm, where, changes)))
	}
	mustLoad(t, l, node(raw, nil), wasm) // the control of them all
	manifest := link(node(raw, nil))
	other := module(5000, 2)
	for name, c := range map[string]struct{ root, words string }{
		"wrong sha256": {node(link(put(t, l, cid.Raw, other)), nil), "sha256"},
		"wrong size":   {node(raw, map[string]any{"wasm_size": len(wasm) + 1}), "bytes"},
		"no sha256":    {node(raw, map[string]any{"wasm_sha256": nil}), "wasm_sha256"},
		"no size":      {node(raw, map[string]any{"wasm_size": nil}), "wasm_size"},
		"other schema": {node(raw, map[string]any{"schema": "chaz-extension/2"}), "schema"},
		"other name":   {node(raw, map[string]any{"name": "stranger"}), "stranger"},
		"inline bytes": {node(map[string]any{"/": map[string]any{"bytes": "AGFzbQ"}}, nil), "link"},
		"a path":       {node("m.wasm", nil), "must be a link"},
		"a manifest":   {node(manifest, nil), "the codec dag-cbor"},
		"unknown key":  {node(raw, map[string]any{"powers": 1}), "powers"},
		"too large": {
			node(raw, map[string]any{"config_schema": map[string]any{"description": strings.Repeat("x", 64<<10)}}), "the limit is 65536",
		},
		"a list": {put(t, l, cid.DagCBOR, []byte{0x80}), "manifest"},
		"duplicate key": {
			put(t, l, cid.DagJSON, bytes.Replace(jsonOf(t, fields(wasm, raw, nil)), []byte("{"), []byte(`{"name":"x",`), 1)), "twice",
		},
		"not canonical": {put(t, l, cid.DagCBOR, []byte{0xa2, 0x61, 0x62, 1, 0x61, 0x61, 1}), "not canonical"},
		"sha1 module": {
			node(link(plant(t, l, cid.Raw, multihash.SHA1, -1, wasm).String()), nil), "manifest.wasm: the hash sha1 is not allowed",
		},
		"identity module": {
			node(link(plant(t, l, cid.Raw, multihash.IDENTITY, -1, wasm[:40]).String()), nil), "manifest.wasm: the hash identity is not allowed",
		},
		"truncated module": {
			node(link(plant(t, l, cid.Raw, multihash.SHA2_256, 20, wasm).String()), nil), "manifest.wasm: the sha2-256 digest is cut",
		},
		"sha1 beside the module": {
			node(raw, map[string]any{"config_schema": map[string]any{"x": link(plant(t, l, cid.Raw, multihash.SHA1, -1, wasm).String())}}),
			"manifest.config_schema.x: the hash sha1 is not allowed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.Load(t.Context(), extension.IPLDRef("probe", c.root))
			refused(t, err, loaders.ErrInvalid, c.words)
		})
	}
}

func TestLoadRefusesDirectories(t *testing.T) {
	wasm := module(5000, 1)
	l := newLoader(t, nil)
	m := put(t, l, cid.Raw, wasm)
	manifest := func(where any) string { return put(t, l, cid.Raw, jsonOf(t, fields(wasm, where, nil))) }
	dir := func(entries map[string]string) string { return putDir(t, l, entries) }
	many := func(n int) string {
		entries := map[string]string{"manifest.json": manifest("m.wasm"), "m.wasm": m}
		for len(entries) < n {
			entries["file"+string(rune('A'+len(entries)))] = m
		}
		return dir(entries)
	}
	mustLoad(t, l, many(32), wasm)
	twice := putPB(t, l, dirData(), []string{"manifest.json", "m.wasm", "m.wasm"}, []string{manifest("m.wasm"), m, m})
	for name, c := range map[string]struct{ root, words string }{
		"33 entries":        {many(33), "33 entries"},
		"no manifest":       {dir(map[string]string{"m.wasm": m}), "must hold one of"},
		"two manifests":     {dir(map[string]string{"manifest.json": manifest("m.wasm"), "manifest.dag-json": manifest("m.wasm"), "m.wasm": m}), "must hold one of"},
		"no module":         {dir(map[string]string{"manifest.json": manifest("m.wasm")}), `no "m.wasm"`},
		"a name twice":      {twice, "two entries"},
		"a link":            {dir(map[string]string{"manifest.json": manifest(link(m)), "m.wasm": m}), "must be a path"},
		"up":                {dir(map[string]string{"manifest.json": manifest("../m.wasm"), "..": dir(map[string]string{"m.wasm": m})}), "relative path"},
		"module is a dir":   {dir(map[string]string{"manifest.json": manifest("m.wasm"), "m.wasm": dir(map[string]string{})}), "a directory where a file is due"},
		"through a file":    {dir(map[string]string{"manifest.json": manifest("m.wasm/x"), "m.wasm": m}), "it is a file"},
		"manifest of nodes": {dir(map[string]string{"manifest.json": put(t, l, cid.DagJSON, jsonOf(t, fields(wasm, "m.wasm", nil))), "m.wasm": m}), "codec dag-json"},
		"sharded":           {putPB(t, l, []byte{0x08, 5, 0x28, 0x22, 0x30, 0x80, 0x02}, nil, nil), "sharded (HAMT)"},
		"symlink":           {putPB(t, l, []byte{0x08, 4, 0x12, 1, 'x'}, nil, nil), "symbolic link"},
		"no UnixFS":         {putPB(t, l, []byte{0xff}, nil, nil), "not UnixFS"},
		"no dag-pb":         {put(t, l, cid.DagProtobuf, []byte("hello")), "not dag-pb"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.Load(t.Context(), extension.IPLDRef("probe", c.root))
			refused(t, err, loaders.ErrInvalid, c.words)
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	l := newLoader(t, nil)
	good := named(t, cid.Raw, multihash.SHA2_256, -1).String()
	if err := l.Check(extension.IPLDRef("probe", good)); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		ref   extension.Ref
		words string
	}{
		"other kind":    {extension.GitRef("probe", "https://example.org/x", strings.Repeat("0", 40)), `the kind "git"`},
		"no reference":  {extension.Ref{}, "the kind"},
		"reserved name": {extension.IPLDRef("fs", good), "reserved"},
		"bad name":      {extension.IPLDRef("Probe!", good), "name"},
		"no CID":        {extension.IPLDRef("probe", ""), "CID"},
		"identity":      {extension.IPLDRef("probe", named(t, cid.Raw, multihash.IDENTITY, -1).String()), "identity"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, l.Check(c.ref), loaders.ErrInvalid, c.words) })
	}
}

func TestLoadSaysWhatIsMissing(t *testing.T) {
	l := newLoader(t, nil)
	wasm := module(3<<20, 4)
	p := packNode(t, l, wasm)
	ref := extension.IPLDRef("probe", p.Root)
	mustLoad(t, l, p.Root, wasm)
	all, err := l.Closure(t.Context(), p.Root)
	if err != nil || len(all) != 5 || all[0] != p.Root || all[1] != p.Module {
		t.Fatalf("Closure: %v, %v", all, err)
	}
	for _, id := range all[3:] {
		if err := l.store.Delete(id); err != nil {
			t.Fatal(err)
		}
	}
	_, err = l.Load(t.Context(), ref)
	refused(t, err, loaders.ErrMissing, "2 blocks")
	rest, err := l.Closure(t.Context(), p.Root)
	refused(t, err, loaders.ErrMissing, "2 blocks")
	if len(rest) != 3 {
		t.Errorf("Closure: %d blocks, want the 3 that are here", len(rest))
	}
}
