package git

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

const someSHA = "0123456789abcdef0123456789abcdef01234567"

func TestCheck(t *testing.T) {
	p := newPeer(t, nil)
	for _, c := range []struct{ repo, sha, words string }{
		{"https://git.example/team/x", someSHA, ""},
		{"https://git.example/team/x.git", someSHA, ""},
		{"https://git.example:8443/x/", someSHA, ""},
		{"https://git.example/My%20Project/_git/x", someSHA, ""},
		{"https://93.184.215.14/x", someSHA, ""},
		{"https://[2606:2800::1]/x", someSHA, ""},
		{"http://127.0.0.1:8080/x", someSHA, ""},
		{"/srv/git/x.git", someSHA, ""},
		{"file:///srv/git/x.git", someSHA, ""},
		{"https://git.example/x#path=ext/foo", someSHA, ""},
		{"https://git.example/x#wasm=plugins/x/x.wasm", someSHA, ""},
		{"/srv/git/x.git#path=ext", someSHA, ""},

		{"https://git.example/x", "", `there is no "sha"`},
		{"https://git.example/x", someSHA[:7], "sha has 7 digits"},
		{"https://git.example/x", someSHA[:39], "sha has 39 digits"},
		{"https://git.example/x", someSHA + "0", "sha has 41 digits"},
		{"https://git.example/x", strings.Repeat("a", 64), "sha256 repositories are not supported by this version"},
		{"https://git.example/x", strings.ToUpper(someSHA), "not the full hash"},
		{"https://git.example/x", "main", "no branch, tag or other revision"},
		{"https://git.example/x", "v1.0", "no branch, tag or other revision"},
		{"https://git.example/x", "HEAD~1", "no branch, tag or other revision"},
		{"https://git.example/x", "refs/heads/main", "no branch, tag or other revision"},
		{"https://git.example/x", someSHA + "^{tree}", "no branch, tag or other revision"},
		{"https://git.example/x", "--upload-pack=touch", "no branch, tag or other revision"},

		{"", someSHA, "empty"},
		{"--upload-pack=touch /tmp/x", someSHA, "looks like an option"},
		{"-x", someSHA, "looks like an option"},
		{"ext::sh -c touch% /tmp/x", someSHA, "space"},
		{"ext::sh", someSHA, "neither"},
		{"ext::https://git.example/x", someSHA, "neither"},
		{"ssh://git.example/x", someSHA, "scheme"},
		{"git@git.example:x", someSHA, "neither"},
		{"git://git.example/x", someSHA, "scheme"},
		{"ftp://git.example/x", someSHA, "scheme"},
		{"HTTPS://git.example/x", someSHA, "scheme"},
		{"javascript:x", someSHA, "neither"},
		{"git.example/x", someSHA, "neither"},
		{"./x", someSHA, "neither"},
		{"../x", someSHA, "neither"},
		{"C:/x", someSHA, "neither"},
		{"https://me@git.example/x", someSHA, "credentials"},
		{"https://me:word@git.example/x", someSHA, "credentials"},
		{"https://:@git.example/x", someSHA, "credentials"},
		{"https://git.example@evil.example/x", someSHA, "credentials"},
		{"https://git.example\\@evil.example/x", someSHA, "backslash"},
		{"https://git.example/x\n", someSHA, "control"},
		{"https://git.example/x\x00", someSHA, "control"},
		{"https://git.example/x\u202e", someSHA, "control"},
		{"https://git.example/x y", someSHA, "space"},
		{"https://git.example", someSHA, "no repository"},
		{"https://git.example/", someSHA, "no repository"},
		{"https:///x", someSHA, "no ASCII name"},
		{"https://gït.example/x", someSHA, "no ASCII name"},
		{"https://-x.example/x", someSHA, "no ASCII name"},
		{"https://git.example:0/x", someSHA, "port"},
		{"https://git.example:65536/x", someSHA, "port"},
		{"https://git.example:/x", someSHA, "port"},
		{"https://git.example:+80/x", someSHA, "port"},
		{"https://0x7f.1/x", someSHA, "usual form"},
		{"https://2130706433/x", someSHA, "usual form"},
		{"https://127.1/x", someSHA, "usual form"},
		{"https://127.0.0.01/x", someSHA, "usual form"},
		{"https://[::1/x", someSHA, "address"},
		{"https://[fe80::1%25eth0]/x", someSHA, "address"},
		{"https://git.example/a/../b", someSHA, "not plain"},
		{"https://git.example/a/%2e%2e/b", someSHA, "not plain"},
		{"https://git.example/a%2fb", someSHA, "not plain"},
		{"https://git.example/a%0ab", someSHA, "not plain"},
		{"https://git.example/a%", someSHA, "percent"},
		{"https://git.example//a", someSHA, "not plain"},
		{"https://git.example/x?service=git-receive-pack", someSHA, "query"},
		{"https://git.example/" + strings.Repeat("a", maxRepo), someSHA, "longer"},
		{"/srv/../etc", someSHA, "clean absolute path"},
		{"/srv//x", someSHA, "clean absolute path"},
		{"/", someSHA, "clean absolute path"},
		{"file://host/x", someSHA, "clean absolute path"},
		{"file:x", someSHA, "neither"},

		{"https://git.example/x#", someSHA, "empty"},
		{"https://git.example/x#path=", someSHA, "empty"},
		{"https://git.example/x#ext", someSHA, "empty"},
		{"https://git.example/x#branch=main", someSHA, "only path=FOLDER and wasm=FILE"},
		{"https://git.example/x#path=../up", someSHA, "not relative and plain"},
		{"https://git.example/x#path=a/../b", someSHA, "not relative and plain"},
		{"https://git.example/x#path=/etc", someSHA, "not relative and plain"},
		{"https://git.example/x#path=a//b", someSHA, "not relative and plain"},
		{"https://git.example/x#path=./a", someSHA, "not relative and plain"},
		{"https://git.example/x#path=a/", someSHA, "not relative and plain"},
		{"https://git.example/x#path=.GIT/hooks", someSHA, ".git"},
		{"https://git.example/x#path=a\\b", someSHA, "backslash"},
		{"https://git.example/x#path=a\x07", someSHA, "control"},
		{"https://git.example/x#path=%2e%2e", someSHA, "without %"},
		{"https://git.example/x#path=a&wasm=b", someSHA, "without %"},
		{"https://git.example/x#path=a#wasm=b", someSHA, "without %"},
		{"https://git.example/x#path=1/2/3/4/5/6/7/8/9", someSHA, "deeper"},
		{"https://git.example/x#path=" + strings.Repeat("a", maxPath+1), someSHA, "longer"},
	} {
		err := p.Check(ref(c.repo, c.sha))
		if c.words == "" {
			if err != nil {
				t.Errorf("%.200q: %v", c.repo, err)
			}
			continue
		}
		wantError(t, err, loaders.ErrInvalid, c.words)
		if strings.Contains(err.Error(), ":word") {
			t.Errorf("the error shows a password: %v", err)
		}
		if f := p.Fetch(t.Context(), ref(c.repo, c.sha), outside()); f == nil || f.Error() != err.Error() {
			t.Errorf("%.200q: Fetch says %v, Check %v", c.repo, f, err)
		}
	}
	for _, r := range []extension.Ref{
		{}, extension.IPLDRef("demo", "x"), extension.GitRef("", "/x", someSHA), extension.GitRef("De Mo", "/x", someSHA),
	} {
		wantError(t, p.Check(r), loaders.ErrInvalid, "")
		_, err := p.Load(t.Context(), r)
		wantError(t, err, loaders.ErrInvalid, "")
	}
	for _, text := range []string{
		`{"kind":"git","name":"demo","repo":["https://git.example/x"],"sha":"` + someSHA + `"}`,
		`{"kind":"git","name":"demo","repo":"https://git.example/x","sha":1}`,
	} {
		r, err := extension.ParseRef([]byte(text))
		must(t, err)
		wantError(t, p.Check(r), loaders.ErrInvalid, "")
	}
	if p.dials.Load() != 0 {
		t.Error("a malformed reference led to a contact")
	}
}

// TestPlaceRoundTrip: what is parsed and written out is parsed to the same place.
func TestPlaceRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom([]string{"https://", "http://"}).Draw(t, "scheme") +
			rapid.StringMatching(`[a-zA-Z][a-zA-Z0-9-]{0,8}(\.[a-z]{1,5}){0,2}`).Draw(t, "host") +
			rapid.SampledFrom([]string{"", ":80", ":443", ":8080"}).Draw(t, "port") +
			rapid.StringMatching(`(/([a-z~_é]|%20|%C3%A9){1,5}){1,4}`).Draw(t, "path")
		p, err := parsePlace(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		again, err := parsePlace(p.String())
		if err != nil || again != p {
			t.Fatalf("%s: %+v is written %s and read %+v, %v", s, p, p, again, err)
		}
	})
}

// FuzzParseTarget: no text panics, and what passes has the promised form.
func FuzzParseTarget(f *testing.F) {
	f.Add("https://git.example/x#path=ext/foo", someSHA)
	f.Add("/srv/x.git#wasm=a/b.wasm", someSHA)
	f.Add("https://[::1]:80/a%20b", someSHA)
	f.Add("ext::sh -c x", "main")
	f.Fuzz(func(t *testing.T, repo, sha string) {
		text, err := json.Marshal(map[string]string{"kind": "git", "name": "demo", "repo": repo, "sha": sha})
		must(t, err)
		r, err := extension.ParseRef(text)
		if err != nil {
			return
		}
		tg, err := parseTarget(r)
		if err != nil {
			return
		}
		again, err := parsePlace(tg.repo.String())
		switch {
		case !isHash(tg.sha) || tg.wasm != "" && tg.dir != "":
			t.Fatalf("target %+v", tg)
		case err != nil || again != tg.repo:
			t.Fatalf("%+v is written %s and read %+v, %v", tg.repo, tg.repo, again, err)
		case strings.ContainsAny(tg.repo.String(), "@\\ ?#\n\x00") && !tg.repo.local() && !strings.Contains(tg.repo.path, "@"):
			t.Fatalf("place %s", tg.repo)
		}
		for _, p := range []string{tg.wasm, tg.manifestPath()} {
			if strings.HasPrefix(p, "/") || strings.Contains("/"+p+"/", "/../") {
				t.Fatalf("path %q", p)
			}
		}
	})
}
