package node

import (
	"strings"
	"testing"
)

// FuzzParseSource: what is taken for a reference is written as one again, and reads as the same.
func FuzzParseSource(f *testing.F) {
	cid, sha := "bafyreifb7tsdmocu76eiz72lrz4hlvqayjuchecbfkgppgzx2cyrcsfq7i", strings.Repeat("ab", 20)
	for _, s := range []string{
		"", "standup", cid, "ipld:" + cid, "ipld:" + cid + "#name=x", "ipld:bafkqabtimvwgy3yk", "git:https://example.org/r@" + sha,
		"git:https://example.org/r@" + sha + "#path=a/b", "git:/r@x@" + sha, "git:file:///r@" + sha, "git:@", "git:", "registry:", "registry:a@b",
		"registry:" + strings.Repeat("a", 52) + "@1.0.0", "IPLD:" + cid, "ipld:" + cid + "#name=#name=",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, isSource, err := parseSource(text)
		if err != nil || !isSource {
			return
		}
		ref := s.named("x")
		if ref.Kind() != s.kind || !s.is(ref) {
			t.Fatalf("%q: %s is not what %+v points at", text, ref, s)
		}
		again, isSource, err := parseSource(refText(ref))
		if s.name = ""; err != nil || !isSource || again != s {
			t.Fatalf("%q: %+v, written as %q, is %+v, %v", text, s, refText(ref), again, err)
		}
	})
}

func TestNameFromFile(t *testing.T) {
	for file, want := range map[string]string{
		"/x/Weather.wasm": "weather", "a b.wasm": "a-b", "-_9lives.WASM": "lives", "ünïcode.wasm": "n-code", "123": "", ".wasm": "",
		"folder": "folder", "x/\x1b[2J.wasm": "j",
	} {
		if got := nameFromFile(file); got != want {
			t.Errorf("%q is called %q; want %q", file, got, want)
		}
	}
}
