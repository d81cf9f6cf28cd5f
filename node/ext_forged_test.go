package node_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// A member writes rows for code that nobody here trusts: nothing of it runs, nothing is fetched, from the
// member neither, and a person is told once of each.
func TestExtForgedRowsAreRequests(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hits.Add(1); http.NotFound(w, r) }))
	defer host.Close()
	said := &reports{}
	cfg := node.Config{Report: said.add, External: node.External{GitHosts: []string{strings.TrimPrefix(host.URL, "http://")}}}
	a, b := extPair(t, cfg)
	evil := a.pack(wall("evil", `{"decision":"deny","reason":"I rule here"}`, map[string]any{"enforcing": true}))
	shelf := ask(a, control.ExtPublish, control.ExtPublishParams{CID: a.pack(crier("shelf", "hi", nil)).Root})
	doc, err := crdt.ParseDocID(shelf.Doc)
	if err != nil {
		t.Fatal(err)
	}
	sha := strings.Repeat("ab", 20)
	for _, r := range []extension.Ref{
		extension.IPLDRef("evil", evil.Root), extension.GitRef("far", host.URL+"/repo", sha), extension.EideticaRef("shelf", doc, "1.0.0"),
		extension.IPLDRef("nowhere", "bafyreifb7tsdmocu76eiz72lrz4hlvqayjuchecbfkgppgzx2cyrcsfq7i"),
		// What can't load is told as such, and waits for nobody.
		extension.IPLDRef("garbage", "not a cid"), extension.IPLDRef("inline", "bafkqabtimvwgy3yk"), extension.GitRef("branch", host.URL+"/repo", "main"),
		extension.GitRef("option", "--upload-pack=touch /tmp/x", sha), extension.GitRef("keys", "https://me:secret@example.org/repo", sha),
	} {
		if err := a.n.WriteActivation(room, r.Name(), r); err != nil {
			t.Fatal(err)
		}
	}
	waiting := map[string]string{"evil": "pending", "far": "pending", "shelf": "pending", "nowhere": "pending"}
	look := func() {
		t.Helper()
		for _, name := range []string{"evil", "far", "shelf", "nowhere"} {
			b.extState(name, waiting[name])
		}
		for _, name := range []string{"garbage", "inline", "branch", "option", "keys"} {
			b.extState(name, "invalid")
		}
		b.turn()
		b.wantCalled(room, "calculate", `{"expression":"40+2"}`, "ok", "42") // no hook stands in its way
		for _, tool := range []string{"evil__say", "far__say", "shelf__say"} {
			b.wantCalled(room, tool, "{}", "unknown", "no tool")
		}
		if n := len(b.filesBelow("blocks")) + len(b.filesBelow("git")) + len(b.filesBelow("cache")); n != 0 {
			t.Errorf("%d files of code are here", n)
		}
		if n := hits.Load(); n != 0 {
			t.Errorf("%d requests went out", n)
		}
		refused(b, control.ExtReleases, control.ExtReleasesParams{Doc: shelf.Doc}, control.CodeNotFound)
		told := strings.Join(said.all(), "\n")
		for name := range waiting {
			if n := strings.Count(told, "the extension "+name+" waits"); n != 1 {
				t.Errorf("a person was told %d times of %s:\n%s", n, name, told)
			}
		}
		if n := len(said.all()); n != len(waiting) {
			t.Errorf("%d sentences: %q", n, said.all())
		}
	}
	look()
	b.again()
	look()
	b.meets(a)
	// The control: who looks fetches.
	if c := b.card("evil", room); !c.BytesHere || c.State != "pending" {
		t.Errorf("evil: %+v", c)
	}
	if c := b.card("shelf", room); !c.BytesHere {
		t.Errorf("shelf: %s: %s", c.State, c.Reason)
	}
	if list := ask(b, control.ExtReleases, control.ExtReleasesParams{Doc: shelf.Doc}); len(list) != 1 || !list[0].BytesHere {
		t.Errorf("releases: %+v", list)
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests went out to show what peers have", n)
	}
	if c := b.card("far", room); c.BytesHere || hits.Load() != 0 || !strings.Contains(c.Remedy, "--fetch") {
		t.Errorf("far: %+v, %d requests", c, hits.Load())
	}
	asked(b, control.ExtShow, control.ExtShowParams{Ref: "far", Session: room, Outside: true})
	if hits.Load() == 0 {
		t.Error("the host was not contacted although a person said so")
	}
	b.wantCalled(room, "evil__say", "{}", "unknown", "no tool")
}
