package ipld

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	chunk "github.com/ipfs/boxo/chunker"
	mdtest "github.com/ipfs/boxo/ipld/merkledag/test"
	"github.com/ipfs/boxo/ipld/unixfs/importer/balanced"
	"github.com/ipfs/boxo/ipld/unixfs/importer/helpers"
	unixfsio "github.com/ipfs/boxo/ipld/unixfs/io"
	"github.com/ipfs/go-cid"
	format "github.com/ipfs/go-ipld-format"
	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// imported is what boxo, the library behind `ipfs add`, makes of a file.
func imported(t testing.TB, svc format.DAGService, content []byte, profile Profile) format.Node {
	t.Helper()
	p := helpers.DagBuilderParams{Dagserv: svc, Maxlinks: 1024, RawLeaves: true, CidBuilder: cid.V1Builder{Codec: cid.DagProtobuf, MhType: 0x12}}
	size := int64(1 << 20)
	if profile == ProfileV0 {
		p.Maxlinks, p.RawLeaves, p.CidBuilder, size = 174, false, cid.V0Builder{}, 256<<10
	}
	b, err := p.New(chunk.NewSizeSplitter(bytes.NewReader(content), size))
	if err != nil {
		t.Fatal(err)
	}
	n, err := balanced.Layout(b)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ours is the root that Pack gives to a file.
func ours(t testing.TB, l *Loader, content []byte, profile Profile) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := l.Pack(t.Context(), path, PackOptions{Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	return p.Root
}

func TestPackAgreesWithImporter(t *testing.T) {
	l := newLoader(t, nil)
	l.lim.WASM = 64 << 20
	sizes := []int{8, 1000, 256<<10 - 1, 256 << 10, 256<<10 + 1, 1 << 20, 1<<20 + 1, 3<<20 + 17}
	if !testing.Short() {
		sizes = append(sizes, 174*256<<10, 174*256<<10+1) // a second level in the old profile
	}
	for _, size := range sizes {
		wasm := module(size, 7)
		for _, profile := range []Profile{ProfileV1, ProfileV0} {
			want := imported(t, mdtest.Mock(), wasm, profile).Cid().String()
			if got := ours(t, l, wasm, profile); got != want {
				t.Errorf("%d bytes, %s: %s, the importer has %s", size, profile, got, want)
			}
			if got := mustLoad(t, l, want, wasm); !got.Manifest.Synthetic {
				t.Errorf("%d bytes, %s: a manifest from nowhere", size, profile)
			}
		}
	}
}

// The layout must agree for any shape of tree, not for the sizes of one profile alone.
func TestPropertyLayoutAgreesWithImporter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		chunkSize := rapid.IntRange(1, 64).Draw(rt, "chunk")
		links := rapid.IntRange(2, 5).Draw(rt, "links")
		raw := rapid.Bool().Draw(rt, "raw")
		content := rapid.SliceOfN(rapid.Byte(), 1, 2000).Draw(rt, "content")
		p := helpers.DagBuilderParams{Dagserv: mdtest.Mock(), Maxlinks: links, RawLeaves: raw, CidBuilder: cid.V1Builder{Codec: cid.DagProtobuf, MhType: 0x12}}
		h, err := p.New(chunk.NewSizeSplitter(bytes.NewReader(content), int64(chunkSize)))
		if err != nil {
			rt.Fatal(err)
		}
		want, err := balanced.Layout(h)
		if err != nil {
			rt.Fatal(err)
		}
		pk := &packer{}
		b := &builder{cut: cut{whole: chunkSize, chunk: chunkSize, links: links, rawish: raw}, put: pk.hold}
		got, err := b.file(t.Context(), bytes.NewReader(content), 1<<20)
		if err != nil {
			rt.Fatal(err)
		}
		if got.cid != want.Cid() {
			rt.Fatalf("%d bytes in chunks of %d, %d links: %s, the importer has %s", len(content), chunkSize, links, got.cid, want.Cid())
		}
	})
}

func TestPackedFolderAgreesWithImporter(t *testing.T) {
	wasm := module(300<<10, 3)
	files := map[string][]byte{
		"manifest.json": jsonOf(t, fields(wasm, "bin/m.wasm", nil)),
		"bin/m.wasm":    wasm,
		"README.md":     []byte("not read\n"),
		".hidden":       []byte("not added"),
	}
	for _, profile := range []Profile{ProfileV1, ProfileV0} {
		svc := mdtest.Mock()
		var opts []unixfsio.DirectoryOption
		if profile == ProfileV1 {
			opts = append(opts, unixfsio.WithCidBuilder(cid.V1Builder{Codec: cid.DagProtobuf, MhType: 0x12}))
		}
		dir := func(children map[string]format.Node) format.Node {
			d, err := unixfsio.NewBasicDirectory(svc, opts...)
			if err != nil {
				t.Fatal(err)
			}
			for name, n := range children {
				if err := d.AddChild(t.Context(), name, n); err != nil {
					t.Fatal(err)
				}
			}
			n, err := d.GetNode()
			if err != nil {
				t.Fatal(err)
			}
			if err := svc.Add(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		want := dir(map[string]format.Node{
			"manifest.json": imported(t, svc, files["manifest.json"], profile),
			"README.md":     imported(t, svc, files["README.md"], profile),
			"bin":           dir(map[string]format.Node{"m.wasm": imported(t, svc, wasm, profile)}),
		}).Cid().String()
		l := newLoader(t, nil)
		got, err := pack(t, l, PackOptions{Profile: profile}, files)
		if err != nil {
			t.Fatal(err)
		}
		if got.Root != want {
			t.Errorf("%s: %s, the importer has %s", profile, got.Root, want)
		}
		p := mustLoad(t, l, want, wasm)
		if other := mustLoad(t, l, packNode(t, l, wasm).Root, wasm); p.Key() != other.Key() {
			t.Errorf("%s: a directory and a node of the same package have other keys: %s and %s", profile, p.Key(), other.Key())
		}
		if here, err := l.store.Has(cidOf(cid.Raw, files["README.md"]).String()); err != nil || here {
			t.Errorf("%s: a file that is not read was kept (%v, %v)", profile, here, err)
		}
	}
}

// The CIDs of a published file, as others computed them.
func TestPublishedVectors(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk").Output()
	if err != nil || strings.TrimSpace(string(dir)) == "" {
		t.Skip("the module github.com/extism/go-sdk is not in the module cache")
	}
	wasm, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "wasm", "count_vowels.wasm"))
	if err != nil {
		t.Skip("the module has no count_vowels.wasm:", err)
	}
	l := newLoader(t, nil)
	keys := map[loaders.Key]bool{}
	for profile, want := range map[Profile]string{
		ProfilePlain: "bafkreiamc544jd2w7fft4nre25xvly4ccwdqywomwpkb625iwk6cf4qy6u",
		ProfileV1:    "bafybeigyp3zcqtj7clb44cevyrvrawozriqlb3zekyl5ctsjuqlfpke3da",
		ProfileV0:    "Qmf7GuPpnLkurZsANsP6bVGNNTkw568kVZVFm73atgm6vf",
	} {
		if got := ours(t, l, wasm, profile); got != want {
			t.Errorf("profile %q: %s, want %s", profile, got, want)
		}
		keys[mustLoad(t, l, want, wasm).Key()] = true
	}
	if len(keys) != 1 {
		t.Errorf("one module under three CIDs has %d keys", len(keys))
	}
}
