package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// Whoever names what can't be is told why, and what to do.
func TestExtWordsForBadReferences(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{})
	ask(p, control.SessionNew, control.SessionNewParams{Name: room})
	sha, pipe := strings.Repeat("ab", 20), filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  string
		code  control.Code
		words []string
	}{
		{"", control.CodeNotFound, []string{`""`, "/extensions list"}},
		{"nobody", control.CodeNotFound, []string{"nobody", "/extensions list"}},
		{"evil\x1b[2J\u202e", control.CodeNotFound, []string{`evil\x1b[2J\u202e`}},
		{strings.Repeat("x", 5000), control.CodeNotFound, []string{"xxx"}},
		{"deadbeefdeadbeef", control.CodeNotFound, []string{"deadbeef"}},
		{"./folder", control.CodeNotFound, []string{"chaz-peer ext pack"}},
		{"code.wasm", control.CodeNotFound, []string{"chaz-peer ext pack"}},
		{"bafkqabtimvwgy3yk", control.CodeNotFound, []string{"identity is not allowed"}},
		{"ipld:bafkqabtimvwgy3yk", control.CodeUsage, []string{"identity is not allowed", "--help"}},
		{"ipld:bafkrcfar62wy5rjkfgckxkx5pq5vczidpboca4q", control.CodeUsage, []string{"sha1 is not allowed"}},
		{"ipld:x", control.CodeUsage, []string{`CID "x"`}},
		{"git:https://example.org/r", control.CodeUsage, []string{"the commit is missing"}},
		{"git:https://example.org/r@main", control.CodeUsage, []string{"no branch, tag or other revision"}},
		{"git:https://example.org/r@" + sha[:12], control.CodeUsage, []string{"12 digits"}},
		{"git:--upload-pack=x@" + sha, control.CodeUsage, []string{"looks like an option"}},
		{"git:https://me:hunter2@example.org/r@" + sha, control.CodeUsage, []string{"credentials"}},
		{"git:https://example.org/r@" + sha, control.CodeDenied, []string{"repeat with --fetch"}},
		{"registry:x", control.CodeUsage, []string{"document id"}},
		{"registry:" + strings.Repeat("a", 52), control.CodeUsage, []string{"version is missing"}},
		{"bafyreifb7tsdmocu76eiz72lrz4hlvqayjuchecbfkgppgzx2cyrcsfq7i", control.CodeNotFound, []string{"start `chaz-peer run`"}},
	} {
		_, err := tried(p, control.ExtShow, control.ExtShowParams{Ref: c.text, Session: room})
		wantFault(t, err, c.code)
		var said *control.Error
		if !errors.As(err, &said) {
			continue
		}
		all := said.Cause + " / " + said.Remedy
		for _, w := range c.words {
			if !strings.Contains(all, w) {
				t.Errorf("%.60q: %s; want %q", c.text, all, w)
			}
		}
		if len(all) > 600 || strings.ContainsAny(all, "\x1b\u202e\n") || strings.Contains(all, "hunter2") || said.Remedy == "" {
			t.Errorf("%.60q: %q", c.text, all)
		}
	}
	empty := t.TempDir()
	for path, words := range map[string]string{
		pipe: "neither a folder nor a file", os.DevNull: "neither a folder nor a file", empty: "manifest", filepath.Join(empty, "no"): "no such file",
	} {
		refused(p, control.ExtPack, control.ExtPackParams{Path: path}, control.CodeUsage, words)
		if r := ask(p, control.RunCmd, control.CmdParams{Session: room, Line: "/extensions add " + path}); r.OK || !strings.Contains(r.Output, words) {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// A decision that is made twice is made once, and what was decided for all is not taken back for one.
func TestExtDecisionsTwice(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{})
	ask(p, control.SessionNew, control.SessionNewParams{Name: room})
	done := p.switchOn(crier("crier", "hear", nil))
	for range 2 {
		p.trust("crier", room)
	}
	p.wantCalled(room, "crier__say", "{}", "ok", "hear")
	if list := ask(p, control.ExtList, control.ExtListParams{}); len(list) != 1 || list[0].Instances != 1 {
		t.Errorf("%+v", list)
	}
	ask(p, control.ExtUntrust, control.ExtDecideParams{Ref: "crier", Session: room})
	refused(p, control.ExtUntrust, control.ExtDecideParams{Ref: "crier", Session: room}, control.CodeNotFound, "nothing of that name is trusted")
	asked(p, control.ExtTrust, control.ExtTrustParams{Ref: done.Ref, Everywhere: true, NoCaps: true, SHA256: done.WASMSHA256})
	refused(p, control.ExtUntrust, control.ExtDecideParams{Ref: "crier", Session: room}, control.CodeConflict, "everywhere")
	p.wantCalled(room, "crier__say", "{}", "ok", "hear")
	for range 2 {
		ask(p, control.ExtDeny, control.ExtDecideParams{Ref: "crier"})
	}
	p.wantState("crier", done.Root+" on denied")
	_, err := tried(p, control.ExtTrust, control.ExtTrustParams{Ref: "crier", Session: room, NoCaps: true, SHA256: strings.Repeat("0", 64)})
	wantFault(t, err, control.CodeConflict)
	_, err = tried(p, control.ExtTrust, control.ExtTrustParams{Ref: "crier", Session: room, NoCaps: true})
	wantFault(t, err, control.CodeUsage)
	p.wantState("crier", done.Root+" on denied")
}
