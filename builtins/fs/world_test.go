package fs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/extensiontest"
)

// disk is a flat folder in memory. Paths that begin with "/" are not granted.
type disk struct {
	mu     sync.Mutex
	files  map[string][]byte
	writes int
	broken error // what WriteFile returns
}

func (d *disk) Files() extension.Files { return d }

func (d *disk) Shell(context.Context, extension.ShellCommand) (extension.ShellResult, error) {
	return extension.ShellResult{}, extension.ErrGrant
}

func (d *disk) Fetch(context.Context, extension.FetchRequest) (extension.FetchResponse, error) {
	return extension.FetchResponse{}, extension.ErrGrant
}

func (d *disk) ReadFile(_ context.Context, path string, limit int64) ([]byte, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	data, there := d.files[path]
	switch {
	case strings.HasPrefix(path, "/"):
		return nil, false, fmt.Errorf("read %s: %w", path, extension.ErrGrant)
	case !there:
		return nil, false, fmt.Errorf("read %s: %w", path, fs.ErrNotExist)
	case int64(len(data)) > limit:
		return data[:limit], true, nil
	}
	return data, false, nil
}

func (d *disk) WriteFile(_ context.Context, path string, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case strings.HasPrefix(path, "/"):
		return fmt.Errorf("write %s: %w", path, extension.ErrGrant)
	case d.broken != nil:
		return d.broken
	}
	d.files[path] = append([]byte(nil), data...)
	d.writes++
	return nil
}

func (d *disk) Stat(context.Context, string) (fs.FileInfo, error) { return nil, fs.ErrNotExist }

// desk is a live instance with a disk.
type desk struct {
	*disk
	tools map[string]extension.Tool
}

func newDesk(t testing.TB, files map[string]string) desk {
	t.Helper()
	d := desk{&disk{files: map[string][]byte{}}, map[string]extension.Tool{}}
	for name, text := range files {
		d.files[name] = []byte(text)
	}
	i, err := New().Instantiate(t.Context(), extension.GlobalContext{Peer: &extension.Peer{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range i.Tools {
		d.tools[tool.Name] = tool
	}
	return d
}

func (d desk) call(ctx context.Context, tool string, args any) (string, error) {
	raw, ok := args.(json.RawMessage)
	if !ok {
		raw, _ = json.Marshal(args)
	}
	return d.tools[tool].Run(ctx, extension.Call{Lent: extension.Lent{Host: d.disk}}, raw)
}

func TestDeclaration(t *testing.T) {
	d := New().Declaration()
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []extension.ScopeContext{extension.AgentContext{}, extension.SessionContext{}} {
		if _, err := New().Instantiate(t.Context(), s); err == nil {
			t.Errorf("there is an instance at scope %s", s.Scope())
		}
	}
	w := newDesk(t, nil)
	for name, want := range map[string]extension.Policy{
		"read_file":  {Risk: extension.LowRisk, Approval: extension.NeverAsk},
		"write_file": {Risk: extension.MediumRisk, Approval: extension.AskUnlessAutomatic},
		"edit_file":  {Risk: extension.MediumRisk, Approval: extension.AskUnlessAutomatic},
	} {
		p := w.tools[name].Policy.Fill()
		if p.Risk != want.Risk || p.Approval != want.Approval || p.Timeout != extension.DefaultTimeout || p.RateLimit != nil {
			t.Errorf("%s: policy %+v", name, p)
		}
	}
}

func TestWithoutHost(t *testing.T) {
	for name, tool := range newDesk(t, nil).tools {
		if _, err := tool.Run(t.Context(), extension.Call{}, json.RawMessage(`{"path":"a"}`)); !errors.Is(err, extension.ErrGrant) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestArgumentsThatMakeNoSense(t *testing.T) {
	w := newDesk(t, map[string]string{"a": "text"})
	for _, args := range []string{``, `{`, `null`, `[]`, `"a"`, `{"path":7}`, `{}`, `{"path":""}`, `{"path":"a","edits":"x","content":7}`} {
		for name := range w.tools {
			text, err := w.call(t.Context(), name, json.RawMessage(args))
			if name == "read_file" && strings.Contains(args, `"a",`) {
				if err != nil || text != "text" {
					t.Errorf("control: %q, %v", text, err)
				}
				continue
			}
			if !errors.Is(err, extension.ErrArgument) {
				t.Errorf("%s %s: %v", name, args, err)
			}
		}
	}
	if w.writes != 0 {
		t.Error("something was written")
	}
}

func TestConformance(t *testing.T) {
	extensiontest.Run(t, New(), extensiontest.Handles{Host: &disk{files: map[string][]byte{}}})
	extensiontest.Run(t, New(), extensiontest.Handles{})
}
