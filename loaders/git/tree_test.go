package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// rawSource serves objects of a test repository, whatever they are.
type rawSource struct{ r *repo }

func (s rawSource) object(_ context.Context, id string, _ int64) ([]byte, error) {
	o, err := s.r.st.EncodedObject(plumbing.AnyObject, plumbing.NewHash(id))
	if err != nil {
		return nil, missing("not there")
	}
	m := o.(*plumbing.MemoryObject)
	in, err := m.Reader()
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	_, err = body.ReadFrom(in)
	return encode(o.Type().String(), body.Bytes()), err
}

const lfsPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

// TestBadTrees fetches commits whose trees or files are not what they should be. Each case comes with
// the file that it takes away, in a form that loads.
func TestBadTrees(t *testing.T) {
	r := newRepo(t)
	wasm := module(1)
	man, mod := line{"100644", manifestName, r.blob(manifest("demo", "demo.wasm", wasm))}, line{"100644", "demo.wasm", r.blob(wasm)}
	good := r.tree(man, mod)
	says := func(path string, wasm []byte) line {
		return line{"100644", manifestName, r.blob(manifest("demo", path, wasm))}
	}
	text := func(name, s string) line { return line{"100644", name, r.blob([]byte(s))} }
	other := r.commit(good)
	big := bytes.Repeat([]byte("x"), 1<<20)
	cases := []struct {
		name, fragment, tree, words string
	}{
		{"no manifest", "", r.tree(mod), `there is no "chaz-extension.json"`},
		{"manifest in another case", "", r.tree(line{"100644", "Chaz-Extension.json", man.id}, mod), `but "Chaz-Extension.json" (case matters)`},
		{"manifest is a link", "", r.tree(line{modeLink, manifestName, man.id}, mod), "symbolic link"},
		{"module is a link", "", r.tree(man, line{modeLink, "demo.wasm", r.blob([]byte("/etc/passwd"))}), "symbolic link"},
		{"folder is a link", "#path=ext", r.tree(line{modeLink, "ext", r.blob([]byte("."))}, man, mod), "symbolic link"},
		{"folder is a submodule", "#path=ext", r.tree(line{modeGitlink, "ext", other}, man, mod), "submodule"},
		{"module is a submodule", "", r.tree(man, line{modeGitlink, "demo.wasm", other}), "submodule"},
		{"module is a folder", "", r.tree(man, line{modeTree, "demo.wasm", good}), "it is a folder"},
		{"folder is a file", "#path=demo.wasm", good, "it is a file, not a folder"},
		{"folder in another case", "#path=Ext", r.tree(line{modeTree, "ext", good}), "case matters"},
		{"module is missing", "#wasm=other.wasm", good, `there is no "other.wasm"`},
		{"module is an LFS pointer", "", r.tree(man, text("demo.wasm", lfsPointer)), "LFS pointer: commit the .wasm itself"},
		{"bare module is an LFS pointer", "#wasm=demo.wasm", r.tree(text("demo.wasm", lfsPointer)), "LFS pointer: commit the .wasm itself"},
		{"manifest is an LFS pointer", "", r.tree(text(manifestName, lfsPointer), mod), "LFS pointer"},
		{"module with other bytes", "", r.tree(man, line{"100644", "demo.wasm", r.blob(module(2))}), "sha256"},
		{"module of another size", "", r.tree(man, text("demo.wasm", "\x00asm\x01\x00\x00\x00")), "bytes, the manifest says"},
		{"no module at all", "#wasm=demo.wasm", r.tree(text("demo.wasm", "words")), "no WebAssembly module"},
		{"module too large", "", r.tree(says("demo.wasm", big), line{"100644", "demo.wasm", r.blob(big)}), "more than the limit"},
		{"manifest too large", "", r.tree(line{"100644", manifestName, r.blob(big)}, mod), "more than the limit"},
		{"manifest of another name", "", r.tree(line{"100644", manifestName, r.blob(manifest("other", "demo.wasm", wasm))}, mod), "other"},
		{"manifest is no JSON", "", r.tree(text(manifestName, "words"), mod), "read manifest"},
		{"manifest leads out", "#path=ext", r.tree(mod, line{modeTree, "ext", r.tree(says("../demo.wasm", wasm))}), "relative path"},
		{"manifest leads to the root", "", r.tree(says("/demo.wasm", wasm), mod), "relative path"},
		{"manifest leads into .git", "", r.tree(says(".git/demo.wasm", wasm), mod), ".git"},
		{"manifest by CID", "", r.tree(text(manifestName, strings.Replace(string(manifest("demo", "x", wasm)), `"wasm":"x"`, `"wasm":{"/":"bafkreigh2akiscaildc"}`, 1)), mod), "no relative path"},
		{"a name twice", "", r.tree(man, mod, line{"100644", "demo.wasm", r.blob(module(2))}), "twice"},
		{"unknown mode", "", r.tree(man, line{"100000", "demo.wasm", mod.id}), "unknown mode"},
		{"tree is a blob", "#path=ext", r.tree(line{modeTree, "ext", mod.id}), "is a blob, not a tree"},
		{"module is a tree", "", r.tree(man, line{"100644", "demo.wasm", good}), "is a tree, not a blob"},
		{"malformed tree", "", r.put(plumbing.TreeObject, []byte("100644 demo.wasm\x00short")), "malformed tree"},
	}
	change := func(c *Config) { c.MaxWASM = 1 << 19 }
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sha := r.commit(c.tree)
			rf := ref("https://git.example/x"+c.fragment, sha)
			p := newPeer(t, change)
			tg, err := parseTarget(rf)
			must(t, err)
			_, _, err = p.load(t.Context(), tg, rawSource{r})
			wantError(t, err, loaders.ErrInvalid, c.words)
		})
	}
	for _, c := range []struct{ fragment, tree string }{
		{"", good},
		{"#wasm=demo.wasm", good},
		{"#path=ext", r.tree(line{modeTree, "ext", good})},
		{"#path=ext", r.tree(line{"040000", "ext", good})},
		{"", r.tree(man, line{"100755", "demo.wasm", mod.id}, line{modeLink, "link", mod.id}, line{modeGitlink, "sub", other}, text("big", lfsPointer))},
		{"", r.tree(says("a/b/demo.wasm", wasm), line{modeTree, "a", r.tree(line{modeTree, "b", r.tree(mod)})})},
	} {
		rf := ref("https://git.example/x"+c.fragment, r.commit(c.tree))
		tg, err := parseTarget(rf)
		must(t, err)
		if _, _, err := newPeer(t, change).load(t.Context(), tg, rawSource{r}); err != nil {
			t.Errorf("good tree %s: %v", c.fragment, err)
		}
	}
}

// TestNotACommit names other objects where a commit is expected.
func TestNotACommit(t *testing.T) {
	r := newRepo(t)
	sha := r.push("main", pkg(module(1)))
	tag := r.tag("v1", sha)
	url, _ := share(t, r)
	p := newPeer(t, nil)
	wantError(t, p.Fetch(t.Context(), ref(url, tag), outside()), loaders.ErrInvalid, "annotated tag, not a commit")
	must(t, p.Fetch(t.Context(), ref(url, sha), outside()))
	for what, body := range map[string]string{"no tree": "author A\n", "short tree": "tree abc\n", "bad parent": "tree " + sha + "\nparent x\n"} {
		tg, err := parseTarget(ref(url, r.put(plumbing.CommitObject, []byte(body))))
		must(t, err)
		if _, err := walk(t.Context(), rawSource{r}, tg, 1<<20); !errors.Is(err, loaders.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestFindEntryModel compares with a plain search of what the tree was made of.
func TestFindEntryModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,2}`), 0, 8).Draw(t, "names")
		want := rapid.StringMatching(`[abA]{1,2}`).Draw(t, "want")
		var lines []line
		var found []string
		for i, n := range names {
			id := fmt.Sprintf("%040x", i+1)
			lines = append(lines, line{"100644", n, id})
			if n == want {
				found = append(found, id)
			}
		}
		e, err := findEntry(treeBytes(lines), want)
		switch {
		case (len(found) == 1) != (err == nil):
			t.Fatalf("%d entries and error %v", len(found), err)
		case err == nil && (e.id != found[0] || e.mode != "100644"):
			t.Fatalf("found %+v, want %s", e, found[0])
		}
	})
}

// FuzzFindEntry: no tree makes the search panic, and what it finds is in the tree.
func FuzzFindEntry(f *testing.F) {
	f.Add(treeBytes([]line{{"100644", "a", strings.Repeat("1", 40)}, {modeTree, "b", strings.Repeat("2", 40)}}), "a")
	f.Add([]byte("100644 a\x00short"), "a")
	f.Fuzz(func(t *testing.T, tree []byte, name string) {
		e, err := findEntry(tree, name)
		if err == nil && (!isHash(e.id) || !bytes.Contains(tree, []byte(" "+name+"\x00"))) {
			t.Fatalf("found %+v of %q", e, name)
		}
		_, _ = e.checkMode(true), e.checkMode(false)
	})
}

// fuzzSource answers every question with what the fuzzer made, under the hash that was asked for where
// it can.
type fuzzSource map[string][]byte

func (s fuzzSource) object(_ context.Context, id string, _ int64) ([]byte, error) {
	if raw, ok := s[id]; ok {
		return raw, nil
	}
	return nil, missing("not there")
}

// FuzzWalk: whatever a commit and its tree hold, the walk ends with a package or a clear error, and never
// leaves the tree.
func FuzzWalk(f *testing.F) {
	wasm := module(1)
	id := func(raw []byte) string {
		sum, _ := hash(raw)
		return fmt.Sprintf("%x", sum)
	}
	blob := encode(blobType, wasm)
	tree := treeBytes([]line{{"100644", "x.wasm", id(blob)}})
	f.Add(tree, "tree %s\n", "x.wasm")
	f.Add(tree, "tree %s\nparent %s\n", "x/../x.wasm")
	f.Add([]byte("120000 x.wasm\x00aaaaaaaaaaaaaaaaaaaa"), "tree %s\n", "x.wasm")
	f.Fuzz(func(t *testing.T, tree []byte, commit, path string) {
		rawTree := encode(treeType, tree)
		rawCommit := encode(commitType, []byte(strings.ReplaceAll(commit, "%s", id(rawTree))))
		src := fuzzSource{id(blob): blob, id(rawTree): rawTree, id(rawCommit): rawCommit}
		tg, err := parseTarget(ref("https://git.example/x#wasm="+path, id(rawCommit)))
		if err != nil {
			return
		}
		p, err := walk(t.Context(), src, tg, 1<<20)
		switch {
		case err == nil && !bytes.Equal(p.wasm, wasm):
			t.Fatalf("walked to %d bytes", len(p.wasm))
		case err != nil && !errors.Is(err, loaders.ErrInvalid) && !errors.Is(err, loaders.ErrMissing):
			t.Fatalf("error of no class: %v", err)
		}
	})
}
