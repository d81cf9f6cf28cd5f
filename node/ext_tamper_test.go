package node_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// notes is what a node logs.
type notes struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.String()
}

func (p *peer) reason(name string) string {
	p.t.Helper()
	for _, e := range ask(p, control.SessionDetails, control.SessionShowParams{Session: room}).Extensions {
		if e.Name == name {
			return e.State + ": " + e.Reason
		}
	}
	return ""
}

// What was changed on disk between two runs does not run: blocks, objects of git, compiled code. It says so,
// and the right bytes come when a peer appears that has them.
func TestExtTamperedBetweenRuns(t *testing.T) {
	t.Parallel()
	repos := t.TempDir()
	said := &notes{}
	a := newPeer(t, "a", node.Config{External: node.External{GitLocal: []string{repos}}}).online()
	b := newPeer(t, "b", node.Config{Log: slog.New(slog.NewTextHandler(said, nil))}).online()
	ask(a, control.SessionNew, control.SessionNewParams{Name: room})
	a.share(b)
	a.switchOn(crier("crier", "from blocks", nil))
	repo := filepath.Join(repos, "r")
	sha, err := node.CommitFiles(repo, crier("committed", "from a commit", nil).files())
	if err != nil {
		t.Fatal(err)
	}
	a.cmd("/extensions add git:"+repo+"@"+sha, "Activated committed")
	says := map[string]string{"crier": "from blocks", "committed": "from a commit"}
	runs := func() {
		t.Helper()
		for name, words := range says {
			b.wantCalled(room, name+"__say", "{}", "ok", words)
		}
	}
	for name := range says {
		b.extState(name, "pending")
		b.trust(name, room)
	}
	runs()

	// Compiled code is made anew.
	b.close()
	if b.spoil("cache") == 0 {
		t.Fatal("there is no compiled code on disk")
	}
	b.open()
	b.online()
	runs()
	if s := said.String(); !strings.Contains(s, "cache") {
		t.Errorf("nothing was said of the compiled code:\n%s", s)
	}

	// Without anybody who has the right bytes nothing runs.
	b.close()
	a.close()
	for _, dir := range []string{"blocks", "git"} {
		if b.spoil(dir) == 0 {
			t.Fatalf("there is nothing in %s", dir)
		}
	}
	b.open()
	b.online()
	for name := range says {
		b.extState(name, "unavailable")
		b.wantCalled(room, name+"__say", "{}", "unknown", "no tool")
		if why := b.reason(name); !strings.Contains(why, "it is trusted, but its bytes are not here") {
			t.Errorf("%s: %s", name, why)
		}
	}
	// With them it does, and nobody has to decide anew.
	a.open()
	a.online()
	for name := range says {
		b.extState(name, "trusted")
	}
	runs()
}
