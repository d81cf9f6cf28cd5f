package git

import (
	"io"
	"log"
	"math/rand/v2"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// TestRealGit fetches from git's own HTTP server under its usual settings.
func TestRealGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git on this machine: its HTTP server is not tried")
	}
	out, err := exec.Command(git, "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, serr := os.Stat(backend); err != nil || serr != nil {
		t.Skip("git on this machine has no http-backend: it is not tried")
	}
	root := t.TempDir()
	dir := filepath.Join(root, "x.git")
	r := newDiskRepo(t, dir)
	var shas []string
	var parents []string
	for i := range 30 {
		files := pkg(module(i))
		files["filler"] = []byte(strings.Repeat("a line of filler\n", 500+i))
		shas = append(shas, r.push("main", files, parents...))
		parents = shas[i:]
	}
	tagged := r.commit(r.files(pkg(module(50))), shas[3])
	r.tag("v1", tagged)
	files := pkg(module(53))
	files["huge"] = make([]byte, 3<<20)
	rand.NewChaCha8([32]byte{}).Read(files["huge"])
	huge := r.push("huge", files)
	lost := r.commit(r.files(pkg(module(51))), shas[3])
	pull := r.commit(r.files(pkg(module(52))), shas[3])
	r.ref("refs/pull/1/head", pull)
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(git, append([]string{"-C", dir}, args...)...)
		cmd.Env = []string{"HOME=" + root, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_DIR=" + dir}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	run("init", "-q", "--bare", dir)
	run("config", "gc.cruftPacks", "false")
	run("repack", "-q", "-a") // the tips in one pack with deltas; lost and loose ones stay beside it
	h := &cgi.Handler{
		Path: backend, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0), InheritEnv: []string{"PATH"},
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1"},
	}
	url := strings.TrimSuffix(serve(t, h), "/team/x.git") + "/x.git"
	for _, c := range []struct {
		name     string
		settings []string
		any      bool // gives every object that it has
	}{
		{"default", nil, false},
		{"tip", []string{"allowTipSHA1InWant"}, false},
		{"reachable", []string{"allowReachableSHA1InWant"}, false},
		{"reachable and filter", []string{"allowReachableSHA1InWant", "allowFilter"}, false},
		{"any", []string{"allowAnySHA1InWant"}, true},
		{"any and filter", []string{"allowAnySHA1InWant", "allowFilter"}, true},
		{"filter", []string{"allowFilter"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range []string{"allowTipSHA1InWant", "allowReachableSHA1InWant", "allowAnySHA1InWant", "allowFilter"} {
				run("config", "uploadpack."+s, "false")
			}
			for _, s := range c.settings {
				run("config", "uploadpack."+s, "true")
			}
			p := newPeer(t, nil)
			for sha, wasm := range map[string][]byte{shas[29]: module(29), shas[2]: module(2), tagged: module(50)} {
				must(t, p.Fetch(t.Context(), ref(url, sha), outside()))
				p.wantPackage(ref(url, sha), wasm)
			}
			tight := newPeer(t, func(c *Config) { c.MaxPack = 1 << 20 })
			if err := tight.Fetch(t.Context(), ref(url, huge), outside()); c.name == "any and filter" {
				must(t, err) // only what is needed came
				tight.wantPackage(ref(url, huge), module(53))
			} else {
				wantError(t, err, nil, "more than the limit")
			}
			for _, sha := range []string{lost, pull, strings.Repeat("a", 40)} {
				err := p.Fetch(t.Context(), ref(url, sha), outside())
				wantError(t, err, ErrUnreachable, "on no branch or tag")
			}
			err := p.FetchWith(t.Context(), ref(url, lost), outside(), Options{AllowUnreachable: true})
			if c.any {
				must(t, err)
				p.wantPackage(ref(url, lost), module(51))
			} else if err == nil {
				t.Error("this server gave a lost commit away")
			}
		})
	}
	if err := newPeer(t, nil).Fetch(t.Context(), ref(strings.Replace(url, "x.git", "y.git", 1), tagged), outside()); err == nil {
		t.Error("fetched from a repository that is not there")
	} else {
		wantError(t, err, loaders.ErrMissing, "no such repository")
	}
	local := newPeer(t, func(c *Config) { c.AllowLocal = []string{root} })
	must(t, local.Fetch(t.Context(), ref(dir, shas[5]), outside())) // from a pack with deltas
	local.wantPackage(ref(dir, shas[5]), module(5))
}
