package builtins_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/builtins"
	"github.com/chaz-peer/chaz-peer/builtins/web"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node/toolhost"
)

// bench calls tools of the built-in extensions through the doors of a real machine.
type bench struct {
	t     *testing.T
	work  string
	tools map[string]extension.Tool
	host  extension.Host
}

func newBench(t *testing.T, grants toolhost.Grants, deps builtins.Deps) *bench {
	t.Helper()
	b := &bench{t: t, work: t.TempDir(), tools: map[string]extension.Tool{}}
	m, err := toolhost.New(toolhost.Config{WorkFolder: b.work})
	if err != nil {
		t.Fatal(err)
	}
	if b.host, err = m.Host(toolhost.Levels{Tool: grants}, true); err != nil {
		t.Fatal(err)
	}
	ctx := extension.GlobalContext{Peer: &extension.Peer{Clock: crdt.NewManualClock(0), Admin: admin{}}}
	for _, x := range builtins.All(deps) {
		i, err := x.Instantiate(t.Context(), ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range i.Tools {
			b.tools[tool.Name] = tool
		}
	}
	return b
}

func (b *bench) call(tool string, args map[string]any) (string, error) {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.tools[tool].Run(b.t.Context(), extension.Call{Lent: extension.Lent{Host: b.host}}, raw)
}

func TestFilesThroughDoors(t *testing.T) {
	b := newBench(t, toolhost.Grants{}, builtins.Deps{})
	outside := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(outside, []byte("secret"), 0o600), os.Symlink(outside, filepath.Join(b.work, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{outside, "../secret", "link", "/etc/passwd", "a/../../secret"} {
		for tool, op := range map[string]string{"read_file": "read", "write_file": "write", "edit_file": "read"} {
			args := map[string]any{"path": path}
			switch tool {
			case "write_file":
				args["content"] = "overwritten"
			case "edit_file":
				args["old_text"], args["new_text"] = "secret", "overwritten"
			}
			text, err := b.call(tool, args)
			if err == nil || text != "" || !strings.Contains(err.Error(), op+" "+path) {
				t.Errorf("%s %s: %q, %v", tool, path, text, err)
			}
		}
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "secret" {
		t.Fatalf("%q, %v", data, err)
	}
	if _, err := b.call("write_file", map[string]any{"path": "no/such/folder", "content": "x"}); err == nil {
		t.Error("a folder was made")
	}
	if _, err := b.call("write_file", map[string]any{"path": "f", "content": "one\ntwo\n"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.call("edit_file", map[string]any{"path": filepath.Join(b.work, "f"), "old_text": "two", "new_text": "2"}); err != nil {
		t.Fatal(err)
	}
	if text, err := b.call("read_file", map[string]any{"path": "f"}); err != nil || text != "one\n2\n" {
		t.Errorf("control: %q, %v", text, err)
	}
}

func TestShellThroughDoors(t *testing.T) {
	b := newBench(t, toolhost.Grants{Shell: toolhost.ShellGrants{Allow: []string{"echo", "head", "pwd"}}}, builtins.Deps{})
	for line, want := range map[string]string{
		"echo a; echo b >&2":            "a\n[stderr]\nb\n",
		"head -c 100000000 /dev/zero":   strings.Repeat("\x00", 10_000) + "\n[output cut at 10000 bytes]",
		"head -n 1 no_such_file || pwd": "",
	} {
		got, err := b.call("shell", map[string]any{"command": line})
		if err != nil || want != "" && got != want {
			t.Errorf("%s: %.80q (%d bytes), %v", line, got, len(got), err)
		}
	}
	for _, line := range []string{"ls", "echo $(ls)", "echo `ls`", "echo a\nls", "A=b ls"} {
		if text, err := b.call("shell", map[string]any{"command": line}); !errors.Is(err, extension.ErrGrant) || text != "" {
			t.Errorf("%s: %q, %v", line, text, err)
		}
	}
}

func TestWebThroughDoors(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"results":[{"title":"t","url":"https://a.example/","content":"`+r.URL.Query().Get("q")+`"}]}`)
	}))
	defer site.Close()
	deps := builtins.Deps{Search: []web.Backend{{Kind: web.SearXNG, APIBase: site.URL}}}
	args := map[string]any{"query": "word", "url": site.URL}
	closed := newBench(t, toolhost.Grants{}, deps)
	open := newBench(t, toolhost.Grants{Network: toolhost.NetworkGrants{AllowPrivate: new(true)}}, deps)
	for _, tool := range []string{"web_fetch", "web_search"} {
		if text, err := closed.call(tool, args); !errors.Is(err, toolhost.ErrPrivateAddress) || text != "" {
			t.Errorf("%s: %q, %v", tool, text, err)
		}
	}
	if text, err := open.call("web_search", args); err != nil || !strings.Contains(text, `"snippet": "word"`) {
		t.Errorf("control: %q, %v", text, err)
	}
	if text, err := open.call("web_fetch", args); err != nil || !strings.HasPrefix(text, "Status: 200 OK\n\n{") {
		t.Errorf("control: %q, %v", text, err)
	}
	for _, url := range []string{"http://2130706433/", "http://0x7f.1/", "http://[::ffff:127.0.0.1]/", "http://localhost/", "file:///etc/passwd", "gopher://a.example/"} {
		if text, err := closed.call("web_fetch", map[string]any{"url": url}); !errors.Is(err, extension.ErrGrant) && !errors.Is(err, extension.ErrArgument) || text != "" {
			t.Errorf("%s: %q, %v", url, text, err)
		}
	}
}
