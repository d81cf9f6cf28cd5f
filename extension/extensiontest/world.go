package extensiontest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"sync"

	"github.com/chaz-peer/chaz-peer/extension"
)

// closedHost refuses everything, as a host does where nothing was granted.
type closedHost struct{}

func (closedHost) Shell(context.Context, extension.ShellCommand) (extension.ShellResult, error) {
	return extension.ShellResult{}, fmt.Errorf("run a command: %w", extension.ErrGrant)
}

func (closedHost) Files() extension.Files { return closedFiles{} }

func (closedHost) Fetch(_ context.Context, r extension.FetchRequest) (extension.FetchResponse, error) {
	return extension.FetchResponse{}, fmt.Errorf("fetch %.80q: %w", r.URL, extension.ErrGrant)
}

type closedFiles struct{}

func (closedFiles) ReadFile(_ context.Context, path string, _ int64) ([]byte, bool, error) {
	return nil, false, fmt.Errorf("read %.80q: %w", path, extension.ErrGrant)
}

func (closedFiles) WriteFile(_ context.Context, path string, _ []byte) error {
	return fmt.Errorf("write %.80q: %w", path, extension.ErrGrant)
}

func (closedFiles) Stat(_ context.Context, path string) (fs.FileInfo, error) {
	return nil, fmt.Errorf("look at %.80q: %w", path, extension.ErrGrant)
}

// nobody provides nothing.
type nobody struct{}

func (nobody) Memory(string) extension.MemoryAccess { return nil }
func (nobody) Messenger(string) extension.Messenger { return nil }
func (nobody) Cap(string, string) extension.CapFunc { return nil }

// memSettings are settings in memory over the declared defaults.
type memSettings struct {
	mu       sync.Mutex
	defaults map[string]any
	set      map[string]json.RawMessage
}

func newSettings(d extension.Declaration) *memSettings {
	return &memSettings{defaults: d.Settings, set: map[string]json.RawMessage{}}
}

func (s *memSettings) Get(_ context.Context, key string) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.set[key]; ok && string(v) != "null" {
		return v, nil
	}
	if v, ok := s.defaults[key]; ok && v != nil {
		return json.Marshal(v)
	}
	return nil, nil
}

func (s *memSettings) Set(_ context.Context, key string, value any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value == nil {
		delete(s.set, key)
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("set %s: %w", key, err)
	}
	s.set[key] = text
	return nil
}
