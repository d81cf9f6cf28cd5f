package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders/wasm"
)

// guestStore holds the data that sandboxed extensions keep, on this peer alone. Keys are
// session NUL owner NUL key; the owner is the publisher and name of signed code, else name and content, so
// that code which nobody here approved never reads what other code kept.
type guestStore struct {
	table *crdt.Table[json.RawMessage]
	mu    sync.Mutex // over the count of a quota and the write behind it
}

// guestKV is the part of one extension.
type guestKV struct {
	store *guestStore
	owner string
}

var _ wasm.KV = guestKV{}

func (g guestKV) prefix(session string) string { return session + "\x00" + g.owner + "\x00" }

// Get implements [wasm.KV].
func (g guestKV) Get(ctx context.Context, session, key string) (json.RawMessage, error) {
	v, err := g.store.table.Get(ctx, g.prefix(session)+key)
	if errors.Is(err, crdt.ErrNotFound) {
		return nil, nil
	}
	return v, err
}

// Set implements [wasm.KV].
func (g guestKV) Set(ctx context.Context, session, key string, value json.RawMessage, quota int64) error {
	if key == "" || len(key) > 512 || strings.ContainsRune(key, 0) {
		return errors.New("keep value: the key must have 1 to 512 bytes and no NUL")
	}
	g.store.mu.Lock()
	defer g.store.mu.Unlock()
	used, err := g.used(ctx, session, key)
	if err != nil {
		return err
	}
	if used += int64(len(key) + len(value)); used > quota {
		return fmt.Errorf("keep value of %.80q: %d bytes would be kept, %d are granted", key, used, quota)
	}
	return g.store.table.Put(ctx, g.prefix(session)+key, value)
}

// used is what all keys but one hold.
func (g guestKV) used(ctx context.Context, session, but string) (n int64, err error) {
	err = g.scan(ctx, session, func(key string, v json.RawMessage) {
		if key != but {
			n += int64(len(key) + len(v))
		}
	})
	return n, err
}

func (g guestKV) scan(ctx context.Context, session string, fn func(key string, v json.RawMessage)) error {
	return g.store.table.Under(ctx, g.prefix(session), func(key string, v json.RawMessage) error {
		fn(strings.TrimPrefix(key, g.prefix(session)), v)
		return nil
	})
}

// Delete implements [wasm.KV].
func (g guestKV) Delete(ctx context.Context, session, key string) error {
	return g.store.table.Delete(ctx, g.prefix(session)+key)
}

// List implements [wasm.KV].
func (g guestKV) List(ctx context.Context, session, prefix string) ([]string, error) {
	out := []string{}
	err := g.scan(ctx, session, func(key string, _ json.RawMessage) {
		if strings.HasPrefix(key, prefix) {
			out = append(out, key)
		}
	})
	slices.Sort(out)
	return out, err
}

// forget drops what all extensions kept in a session.
func (s *guestStore) forget(ctx context.Context, session string) error {
	var keys []string
	err := s.table.Under(ctx, session+"\x00", func(key string, _ json.RawMessage) error { keys = append(keys, key); return nil })
	for _, key := range keys {
		err = errors.Join(err, s.table.Delete(ctx, key))
	}
	return err
}

// guestSession is one session as a guest reaches it.
type guestSession struct {
	n    *Node
	id   crdt.DocID
	name string // of the extension
}

// Read implements [wasm.SessionAccess].
func (g guestSession) Read(ctx context.Context, n int) ([]json.RawMessage, error) {
	var page []crdt.Entry
	err := g.n.repo.View(ctx, g.id, func(v *crdt.View) error {
		s := crdt.SessionView{View: v}
		from := 0
		if n >= 0 {
			from = s.Log().Len() - n
		}
		page = s.Entries(from, n)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]json.RawMessage, len(page))
	for i, e := range page {
		if out[i], err = json.Marshal(g.n.entryOut(ctx, e)); err != nil {
			return nil, fmt.Errorf("read session: %w", err)
		}
	}
	return out, nil
}

// Send implements [wasm.SessionAccess].
func (g guestSession) Send(ctx context.Context, text, kind string) (string, error) {
	t, err := crdt.ParseEntryType(kind)
	if err != nil || t != crdt.EntryMessage && t != crdt.EntryDirective {
		return "", fmt.Errorf("send to session: kind %.40q is neither message nor directive", kind)
	}
	id, err := g.n.addEntry(ctx, g.id, crdt.Entry{Sender: g.name, Content: text, Type: t})
	return id.String(), err
}
