package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// repo makes git objects by hand, also such as git itself would not make.
type repo struct {
	t  testing.TB
	st storer.Storer
}

func newRepo(t testing.TB) *repo { return &repo{t, memory.NewStorage()} }

// newDiskRepo is a bare repository in a folder.
func newDiskRepo(t testing.TB, dir string) *repo {
	st := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	must(t, st.Init())
	must(t, os.MkdirAll(filepath.Join(dir, "refs", "heads"), 0o755))
	must(t, st.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, "refs/heads/main")))
	return &repo{t, st}
}

func (r *repo) put(typ plumbing.ObjectType, body []byte) string {
	r.t.Helper()
	o := r.st.NewEncodedObject()
	o.SetType(typ)
	o.SetSize(int64(len(body)))
	w, err := o.Writer()
	must(r.t, err)
	_, err = w.Write(body)
	must(r.t, err)
	must(r.t, w.Close())
	h, err := r.st.SetEncodedObject(o)
	must(r.t, err)
	return h.String()
}

func (r *repo) blob(body []byte) string { return r.put(plumbing.BlobObject, body) }

// line is an entry of a tree.
type line struct{ mode, name, id string }

func (r *repo) tree(lines ...line) string {
	return r.put(plumbing.TreeObject, treeBytes(lines))
}

func treeBytes(lines []line) []byte {
	var body []byte
	for _, l := range lines {
		id, _ := hex.DecodeString(l.id)
		body = append(append(body, l.mode+" "+l.name+"\x00"...), id...)
	}
	return body
}

// files makes a tree of plain files, with folders.
func (r *repo) files(files map[string][]byte) string {
	var lines []line
	sub := map[string]map[string][]byte{}
	for name, body := range files {
		if dir, rest, ok := strings.Cut(name, "/"); ok {
			if sub[dir] == nil {
				sub[dir] = map[string][]byte{}
			}
			sub[dir][rest] = body
			continue
		}
		lines = append(lines, line{"100644", name, r.blob(body)})
	}
	for dir, files := range sub {
		lines = append(lines, line{modeTree, dir, r.files(files)})
	}
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.name+"/", b.name+"/") })
	return r.tree(lines...)
}

func (r *repo) commit(tree string, parents ...string) string {
	text := "tree " + tree + "\n"
	for _, p := range parents {
		text += "parent " + p + "\n"
	}
	return r.put(plumbing.CommitObject, []byte(text+"author A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\nwords\n"))
}

func (r *repo) tag(name, target string) string {
	id := r.put(plumbing.TagObject, []byte("object "+target+"\ntype commit\ntag "+name+"\ntagger A <a@b> 1700000000 +0000\n\nwords\n"))
	r.ref("refs/tags/"+name, id)
	return id
}

func (r *repo) ref(name, id string) {
	must(r.t, r.st.SetReference(plumbing.NewHashReference(plumbing.ReferenceName(name), plumbing.NewHash(id))))
}

// push makes a commit of files the tip of a branch.
func (r *repo) push(branch string, files map[string][]byte, parents ...string) string {
	c := r.commit(r.files(files), parents...)
	r.ref("refs/heads/"+branch, c)
	return c
}

// module is bytes that pass for a module here; n makes them differ.
func module(n int) []byte {
	return fmt.Appendf(nil, "\x00asm\x01\x00\x00\x00 module %d %s", n, strings.Repeat("code ", 200))
}

func manifest(name, wasmPath string, wasm []byte) []byte {
	sum := sha256.Sum256(wasm)
	text, err := json.Marshal(map[string]any{
		"schema": loaders.Schema, "name": name, "abi": extension.ABIExtismV1,
		"wasm": wasmPath, "wasm_size": len(wasm), "wasm_sha256": hex.EncodeToString(sum[:]),
	})
	if err != nil {
		panic(err)
	}
	return text
}

// pkg is the files of a package called demo.
func pkg(wasm []byte) map[string][]byte {
	return map[string][]byte{manifestName: manifest("demo", "demo.wasm", wasm), "demo.wasm": wasm, "README": []byte("words")}
}

// in moves files into a folder.
func in(dir string, files map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for name, body := range files {
		out[dir+"/"+name] = body
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// abi knows modules by their first bytes.
func abi(wasm []byte) (string, error) {
	if !strings.HasPrefix(string(wasm), "\x00asm\x01\x00\x00\x00") {
		return "", errors.New("it is no WebAssembly module")
	}
	return extension.ABIExtismV1, nil
}

// peer is a loader whose contacts with the network are counted.
type peer struct {
	*Loader
	t     testing.TB
	dir   string
	dials atomic.Int64
}

func newPeer(t testing.TB, change func(*Config)) *peer {
	t.Helper()
	p := &peer{t: t, dir: filepath.Join(t.TempDir(), "proofs")}
	cfg := Config{Dir: p.dir, ABI: abi, AllowHosts: []string{"127.0.0.1"}, Timeout: 20 * time.Second}
	if change != nil {
		change(&cfg)
	}
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		p.dials.Add(1)
		return dial(ctx, network, addr)
	}
	var err error
	p.Loader, err = New(cfg)
	must(t, err)
	return p
}

// outside is leave to contact hosts.
func outside() loaders.From { return loaders.From{Outside: true} }

func refs(repo string, shas []string) (out []extension.Ref) {
	for _, sha := range shas {
		out = append(out, ref(repo, sha))
	}
	return out
}

func ref(repo, sha string) extension.Ref { return extension.GitRef("demo", repo, sha) }

// wantPackage checks that the reference loads as this module, without any contact.
func (p *peer) wantPackage(r extension.Ref, wasm []byte) *loaders.Package {
	p.t.Helper()
	before := p.dials.Load()
	got, err := p.Load(p.t.Context(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	if string(got.WASM) != string(wasm) || !got.Ref.Equal(r) || got.Root != "" {
		p.t.Fatalf("loaded %d bytes of %s, root %q; want %d bytes of %s", len(got.WASM), got.Ref, got.Root, len(wasm), r)
	}
	if p.dials.Load() != before {
		p.t.Fatal("Load used the network")
	}
	return got
}

// wantError checks class and words of an error.
func wantError(t testing.TB, err, class error, words string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want %q", words)
	}
	if class != nil && !errors.Is(err, class) || !strings.Contains(err.Error(), words) {
		t.Fatalf("error %q; want %v with %q", err, class, words)
	}
}

// serve runs a handler on loopback and returns the address of a repository there.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/team/x.git"
}
