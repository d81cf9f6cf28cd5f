package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chaz-peer/chaz-peer/loaders"
)

func TestLocalRepository(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	allowed, dir := filepath.Join(base, "repos"), filepath.Join(base, "repos", "x.git")
	r := newDiskRepo(t, dir)
	first := r.push("main", pkg(module(1)))
	sha := r.push("main", pkg(module(2)), first)
	tagged := r.commit(r.files(pkg(module(3))), first)
	r.tag("v1", tagged)
	lost := r.commit(r.files(pkg(module(4))), sha)
	work := newDiskRepo(t, filepath.Join(allowed, "work", ".git"))
	worked := work.push("main", pkg(module(5)))
	must(t, os.Symlink(dir, filepath.Join(allowed, "link")))
	must(t, os.Mkdir(filepath.Join(base, "other"), 0o755))
	must(t, os.Symlink(dir, filepath.Join(base, "other", "into")))
	outer := newDiskRepo(t, filepath.Join(base, "outer")).push("main", pkg(module(6)))
	must(t, os.Symlink(filepath.Join(base, "outer"), filepath.Join(allowed, "out")))
	must(t, os.Mkdir(filepath.Join(allowed, "empty"), 0o755))

	p := newPeer(t, func(c *Config) { c.AllowLocal = []string{allowed + "/"} })
	for _, c := range []struct {
		path, sha, ref string
		n              int
	}{
		{dir, sha, "refs/heads/main", 2},
		{dir, first, "", 1},
		{"file://" + dir, tagged, "refs/tags/v1", 3},
		{filepath.Join(allowed, "work"), worked, "refs/heads/main", 5},
		{filepath.Join(allowed, "link"), sha, "refs/heads/main", 2},
	} {
		rf := ref(c.path, c.sha)
		wantError(t, newPeer(t, nil).Fetch(t.Context(), rf, outside()), loaders.ErrMissing, "not one that this peer may read")
		if err := p.Fetch(t.Context(), rf, loaders.From{}); c.path == dir {
			wantError(t, err, loaders.ErrConsent, dir)
		}
		must(t, p.Fetch(t.Context(), rf, outside()))
		p.wantPackage(rf, module(c.n))
	}
	if o, ok := p.Origin(ref(dir, tagged)); !ok || o.Ref != "refs/tags/v1" {
		t.Errorf("origin %+v %v", o, ok)
	}
	for _, c := range []struct {
		what, path, sha, words string
		class                  error
	}{
		{"beside", filepath.Join(base, "other", "into"), sha, "not one that this peer may read", loaders.ErrMissing},
		{"beside with the same beginning", allowed + "2", sha, "not one that this peer may read", loaders.ErrMissing},
		{"link out", filepath.Join(allowed, "out"), outer, "leads out of the folders", loaders.ErrMissing},
		{"no repository", filepath.Join(allowed, "empty"), sha[:39] + "0", "there is none", loaders.ErrMissing},
		{"not there", filepath.Join(allowed, "nothing"), sha[:39] + "0", "no such file", loaders.ErrMissing},
		{"lost commit", dir, lost, "the commit is on no branch or tag of the repository", ErrUnreachable},
		{"no commit", dir, sha[:39] + "0", "on no branch or tag", ErrUnreachable},
	} {
		// A peer that has nothing yet.
		q := newPeer(t, func(c *Config) { c.AllowLocal = []string{allowed} })
		wantError(t, q.Fetch(t.Context(), ref(c.path, c.sha), outside()), c.class, c.words)
	}
	q := newPeer(t, nil)
	must(t, q.FetchWith(t.Context(), ref(filepath.Join(base, "outer"), outer), outside(), Options{AllowLocal: true}))
	q.wantPackage(ref(filepath.Join(base, "outer"), outer), module(6))
	must(t, p.FetchWith(t.Context(), ref(dir, lost), outside(), Options{AllowUnreachable: true}))
	if o, ok := p.Origin(ref(dir, lost)); !ok || o.Ref != "" {
		t.Errorf("origin of a lost commit %+v %v", o, ok)
	}
	if p.dials.Load()+q.dials.Load() != 0 {
		t.Error("a folder was read through the network")
	}
}

// TestLocalFromPeers: a member wrote a path of his machine; B has a repository at the same path and does
// not read it, but takes the objects from him.
func TestLocalFromPeers(t *testing.T) {
	dir := t.TempDir()
	sha := newDiskRepo(t, dir).push("main", pkg(module(1)))
	a := newPeer(t, nil)
	rf := ref(dir, sha)
	must(t, a.FetchWith(t.Context(), rf, outside(), Options{AllowLocal: true}))
	must(t, os.RemoveAll(dir))
	trap := newDiskRepo(t, dir)
	trap.push("main", pkg(module(1)))
	must(t, os.Chmod(dir, 0o755))
	wantError(t, newPeer(t, nil).Fetch(t.Context(), rf, outside()), loaders.ErrMissing, "not one that this peer may read")
	b := newPeer(t, func(c *Config) { c.Peers = &neighbours{peers: []*peer{a}} })
	must(t, b.Fetch(t.Context(), rf, outside()))
	b.wantPackage(rf, module(1))
	if _, ok := b.Origin(rf); ok {
		t.Error("B read its own folder")
	}
}

// TestTamperedLocalObject changes a loose object of the repository.
func TestTamperedLocalObject(t *testing.T) {
	dir, evil := t.TempDir(), t.TempDir()
	r := newDiskRepo(t, dir)
	sha := r.push("main", pkg(module(1)))
	good, bad := r.blob(module(1)), newDiskRepo(t, evil).blob(module(9))
	loose := func(dir, id string) string { return filepath.Join(dir, "objects", id[:2], id[2:]) }
	text, err := os.ReadFile(loose(evil, bad))
	must(t, err)
	was, err := os.ReadFile(loose(dir, good))
	must(t, err)
	must(t, os.Remove(loose(dir, good)))
	must(t, os.WriteFile(loose(dir, good), text, 0o644))
	p := newPeer(t, func(c *Config) { c.AllowLocal = []string{dir} })
	wantError(t, p.Fetch(t.Context(), ref(dir, sha), outside()), loaders.ErrMissing, "is damaged")
	must(t, os.WriteFile(loose(dir, good), was, 0o644))
	must(t, p.Fetch(t.Context(), ref(dir, sha), outside()))
	p.wantPackage(ref(dir, sha), module(1))
}
