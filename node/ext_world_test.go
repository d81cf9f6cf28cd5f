package node_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// asked calls a method that streams and must succeed.
func asked[P, E, R any](p *peer, e control.StreamEndpoint[P, E, R], q P) R {
	p.t.Helper()
	r, err := tried(p, e, q)
	if err != nil {
		p.t.Fatalf("%s: %+v: %v", p.name, q, err)
	}
	return r
}

func tried[P, E, R any](p *peer, e control.StreamEndpoint[P, E, R], q P) (R, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return control.CallStream(ctx, p.c, e, q, nil, func(E) error { return nil })
}

// wantFault checks the code of a refusal.
func wantFault(t *testing.T, err error, code control.Code) {
	t.Helper()
	var said *control.Error
	if !errors.As(err, &said) || said.Code != code {
		t.Errorf("%v; want code %s", err, code)
	}
}

// reports are the sentences that a node has for a person.
type reports struct {
	mu   sync.Mutex
	list []string
}

func (r *reports) add(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, s)
}

func (r *reports) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.list...)
}

// filesBelow lists the files of a folder of the home.
func (p *peer) filesBelow(dir string) (out []string) {
	p.t.Helper()
	err := filepath.WalkDir(filepath.Join(p.cfg.Home, dir), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.Type().IsRegular() {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// spoil changes a byte in the middle of every file of a folder of the home, and returns how many there were.
func (p *peer) spoil(dir string) int {
	p.t.Helper()
	list := p.filesBelow(dir)
	for _, path := range list {
		b, err := os.ReadFile(path)
		if err == nil && len(b) > 0 {
			b[len(b)/2] ^= 1
			err = errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, b, 0o600))
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return len(list)
}

// extPair are two peers in the session "room", which a made.
func extPair(t *testing.T, cfgB node.Config) (a, b *peer) {
	t.Helper()
	a, b = newPeer(t, "a", node.Config{}).online(), newPeer(t, "b", cfgB).online()
	ask(a, control.SessionNew, control.SessionNewParams{Name: room})
	a.share(b)
	return a, b
}

// extState waits until a peer's session says that an extension is in a state.
func (p *peer) extState(name, state string) {
	p.t.Helper()
	until(p, control.SessionDetails, control.SessionShowParams{Session: room}, name+" "+state, func(s control.SessionShow) bool {
		for _, e := range s.Extensions {
			if e.Name == name {
				return e.State == state
			}
		}
		return false
	})
}

// meets waits until the peer is connected with another one.
func (p *peer) meets(other *peer) {
	p.t.Helper()
	until(p, control.GetStatus, control.StatusParams{}, "connected", func(s control.Status) bool {
		for _, x := range s.Peers {
			if x.ID == other.n.Self().String() && x.State == control.InSync {
				return true
			}
		}
		return false
	})
}
