package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/loaders"
)

func TestFetchAndLoad(t *testing.T) {
	r := newRepo(t)
	wasm, bare := module(1), module(2)
	files := pkg(wasm)
	for name, body := range in("ext/foo", pkg(wasm)) {
		files[name] = body
	}
	files["plugins/x/x.wasm"] = bare
	sha := r.push("main", files)
	url, _ := share(t, r)

	var keys []loaders.Key
	for _, c := range []struct {
		fragment string
		wasm     []byte
	}{{"", wasm}, {"#path=ext/foo", wasm}, {"#wasm=plugins/x/x.wasm", bare}} {
		t.Run(c.fragment, func(t *testing.T) {
			p, rf := newPeer(t, nil), ref(url+c.fragment, sha)
			must(t, p.Check(rf))
			if _, err := p.Load(t.Context(), rf); !errors.Is(err, loaders.ErrMissing) {
				t.Fatalf("before the fetch: %v", err)
			}
			var got int64
			from := outside()
			from.Progress = func(done, _ int64) { got = done }
			must(t, p.Fetch(t.Context(), rf, from))
			if got == 0 {
				t.Error("no progress was told")
			}
			pk := p.wantPackage(rf, c.wasm)
			if pk.Manifest.Synthetic != strings.HasPrefix(c.fragment, "#wasm") || pk.Manifest.Name != "demo" {
				t.Errorf("manifest %+v", pk.Manifest)
			}
			keys = append(keys, pk.Key())
			if o, ok := p.Origin(rf); !ok || o != (Origin{Repo: url, Ref: "refs/heads/main"}) {
				t.Errorf("origin %+v %v", o, ok)
			}
			// What is here is not fetched again.
			dials := p.dials.Load()
			must(t, p.Fetch(t.Context(), rf, outside()))
			if p.dials.Load() != dials {
				t.Error("the second fetch used the network")
			}
		})
	}
	if len(keys) != 3 || keys[0] != keys[1] || keys[0] == keys[2] {
		t.Errorf("keys %v: the first two are one package, the third is another", keys)
	}
}

// TestServers fetches every kind of commit from servers with every mix of abilities.
func TestServers(t *testing.T) {
	for _, caps := range []string{"", plainCaps, byIDCaps, fullCaps, "shallow ofs-delta", fullCaps + " commits", "side-band filter"} {
		for _, peel := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/peel=%v", caps, peel), func(t *testing.T) { testServer(t, caps, peel) })
		}
	}
}

func testServer(t *testing.T, caps string, peel bool) {
	r := newRepo(t)
	var shas []string
	var parents []string
	for i := range 4 {
		files := pkg(module(i))
		files["filler"] = []byte(strings.Repeat("a line of filler\n", 300+i))
		shas = append(shas, r.push("main", files, parents...))
		parents = shas[i : i+1]
	}
	tagged := r.commit(r.files(pkg(module(10))), shas[1])
	r.tag("v1", tagged)
	below := r.commit(r.files(pkg(module(11))), shas[1])
	r.ref("refs/tags/light", r.commit(r.files(pkg(module(12))), below))
	lost := r.commit(r.files(pkg(module(13))), shas[3])
	pull := r.commit(r.files(pkg(module(14))), shas[3])
	r.ref("refs/pull/7/head", pull)

	s := &server{repo: r, caps: strings.TrimSuffix(caps, " commits"), commitsOnly: strings.HasSuffix(caps, " commits"), peel: peel}
	url := serve(t, s)
	p := newPeer(t, nil)
	for _, c := range []struct {
		what, sha, ref string
		n              int
	}{
		{"tip", shas[3], "refs/heads/main", 3},
		{"older", shas[0], "refs/heads/main", 0},
		{"tagged", tagged, "refs/tags/v1", 10},
		{"below a tag", below, "refs/tags/light", 11},
	} {
		must(t, p.Fetch(t.Context(), ref(url, c.sha), outside()))
		p.wantPackage(ref(url, c.sha), module(c.n))
		if o, ok := p.Origin(ref(url, c.sha)); !ok || o.Ref != c.ref {
			t.Errorf("%s: origin %+v, want %s", c.what, o, c.ref)
		}
	}
	for what, sha := range map[string]string{"lost": lost, "pull request": pull} {
		err := p.Fetch(t.Context(), ref(url, sha), outside())
		wantError(t, err, ErrUnreachable, "the commit is on no branch or tag of the repository")
		wantError(t, err, loaders.ErrInvalid, "")
		if _, err := p.Load(t.Context(), ref(url, sha)); !errors.Is(err, loaders.ErrMissing) {
			t.Errorf("%s: load after the refusal: %v", what, err)
		}
		if !strings.Contains(caps, "allow-reachable") {
			continue // such a server would not give it
		}
		must(t, p.FetchWith(t.Context(), ref(url, sha), outside(), Options{AllowUnreachable: true}))
		if o, ok := p.Origin(ref(url, sha)); !ok || o.Ref != "" {
			t.Errorf("%s: origin %+v %v, want one without a branch", what, o, ok)
		}
	}
}

// TestOnlyWhatIsNeeded shows that a server that can be asked for single files is.
func TestOnlyWhatIsNeeded(t *testing.T) {
	r := newRepo(t)
	files := pkg(module(1))
	files["huge"] = []byte(strings.Repeat("not for us", 10_000))
	sha := r.push("main", files)
	url, s := share(t, r)
	p := newPeer(t, nil)
	must(t, p.Fetch(t.Context(), ref(url, sha), outside()))
	if s.sentObject(r.blob(files["huge"])) || !s.sentObject(r.blob(module(1))) {
		t.Error("want the module sent, and no file beside it")
	}
}

func TestFilesOfTheStore(t *testing.T) {
	r := newRepo(t)
	sha := r.push("main", in("a/b", pkg(module(1))))
	url, _ := share(t, r)
	p := newPeer(t, nil)
	rf := ref(url+"#path=a/b", sha)
	must(t, p.Fetch(t.Context(), rf, outside()))
	ids, err := p.Proof(t.Context(), rf)
	must(t, err)
	if len(ids) != 6 || ids[0] != sha { // commit, three trees, manifest, module
		t.Fatalf("proof %v", ids)
	}
	files, err := os.ReadDir(filepath.Join(p.dir, sha))
	must(t, err)
	if len(files) != len(ids)+1 {
		t.Errorf("%d files for %d objects and the origins", len(files), len(ids))
	}
	for _, f := range files {
		info, err := f.Info()
		must(t, err)
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", f.Name(), info.Mode())
		}
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, temporary+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestDamagedStore changes each file of the store in turn. Nothing of it loads or is served; a fetch
// heals it.
func TestDamagedStore(t *testing.T) {
	r := newRepo(t)
	sha := r.push("main", pkg(module(1)))
	url, _ := share(t, r)
	p := newPeer(t, nil)
	rf := ref(url, sha)
	must(t, p.Fetch(t.Context(), rf, outside()))
	ids, err := p.Proof(t.Context(), rf)
	must(t, err)
	for _, id := range ids {
		file := filepath.Join(p.dir, sha, id)
		good, err := os.ReadFile(file)
		must(t, err)
		flipped := []byte(string(good))
		flipped[len(flipped)-1] ^= 1
		for what, bytes := range map[string][]byte{
			"flipped": flipped, "empty": {}, "cut": good[:len(good)-1], "longer": append([]byte(string(good)), 'x'),
			"another": encode(blobType, module(9)),
		} {
			must(t, os.WriteFile(file, bytes, 0o600))
			_, err = p.Load(t.Context(), rf)
			wantError(t, err, loaders.ErrMissing, "is damaged")
			if _, err := p.Object(t.Context(), sha, id); !errors.Is(err, loaders.ErrMissing) {
				t.Errorf("%s %s: it is served: %v", what, id, err)
			}
			if err := p.Fetch(t.Context(), rf, loaders.From{}); !errors.Is(err, loaders.ErrConsent) {
				t.Errorf("%s %s: fetch without leave: %v", what, id, err)
			}
			must(t, p.Fetch(t.Context(), rf, outside()))
			p.wantPackage(rf, module(1))
		}
		must(t, os.Remove(file))
		must(t, os.Mkdir(file, 0o700))
		_, err = p.Load(t.Context(), rf)
		wantError(t, err, loaders.ErrMissing, "no file")
		must(t, os.Remove(file))
		must(t, p.Fetch(t.Context(), rf, outside()))
	}
}

func TestRemoveAndSweep(t *testing.T) {
	r := newRepo(t)
	a := r.push("a", pkg(module(1)))
	b := r.push("b", pkg(module(2)))
	c := r.push("c", pkg(module(3)))
	url, _ := share(t, r)
	p := newPeer(t, nil)
	for _, sha := range []string{a, b, c} {
		must(t, p.Fetch(t.Context(), ref(url, sha), outside()))
	}
	must(t, os.WriteFile(filepath.Join(p.dir, a, temporary+"crash"), []byte("half"), 0o600))
	must(t, p.Remove(t.Context(), ref(url, b)))
	must(t, p.Remove(t.Context(), ref(url, b))) // nothing left is no error
	keep := []string{a}
	dry, err := p.Sweep(t.Context(), refs(url, keep), true)
	must(t, err)
	if len(dry.Commits) != 1 || dry.Commits[0] != c || dry.Bytes < int64(len(module(3))) {
		t.Errorf("dry run %+v, want %s", dry, c)
	}
	p.wantPackage(ref(url, c), module(3))
	wet, err := p.Sweep(t.Context(), refs(url, keep), false)
	must(t, err)
	if fmt.Sprint(wet) != fmt.Sprint(dry) {
		t.Errorf("swept %+v, announced %+v", wet, dry)
	}
	p.wantPackage(ref(url, a), module(1))
	for _, sha := range []string{b, c} {
		if _, err := p.Load(t.Context(), ref(url, sha)); !errors.Is(err, loaders.ErrMissing) {
			t.Errorf("%s is still here: %v", sha, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, "*", temporary+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
