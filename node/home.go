package node

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/badger"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// The files of a home.
const (
	keyFile  = "key"
	storeDir = "store"
)

// home is an open home folder: the key, the store, and the epoch that tells this life of it from
// others.
type home struct {
	identity *crdt.Identity
	store    *badger.Store
	state    *crdt.Table[homeState]
	epoch    [16]byte
	fresh    bool // first start
	reason   string
}

// homeState is how the home was left. A stop that did not get to write Clean, or a home that is not
// where it was, starts a new epoch: its actors may be alive elsewhere, or be behind what they sent.
type homeState struct {
	Epoch string `json:"epoch"`
	Clean bool   `json:"clean"`
	Place string `json:"place"` // device and inode of the store folder, and the machine
}

const homeKey = "state"

func openHome(ctx context.Context, cfg *Config) (*home, error) {
	if err := os.MkdirAll(cfg.Home, 0o700); err != nil {
		return nil, fmt.Errorf("open home: %w", err)
	}
	keyPath := filepath.Join(cfg.Home, keyFile)
	_, err := os.Stat(keyPath)
	fresh := errors.Is(err, fs.ErrNotExist)
	if fresh {
		if entries, err := os.ReadDir(filepath.Join(cfg.Home, storeDir)); err == nil && len(entries) > 0 {
			return nil, &control.Error{
				Cause:  fmt.Sprintf("open home %s: it has a store but no key file, and without its key the documents can't be written", cfg.Home),
				Remedy: fmt.Sprintf("put the file %q back from a backup, or give another --home", keyFile), Code: control.CodeInternal,
			}
		}
	}
	id, err := crdt.LoadIdentity(keyPath, rand.Reader)
	if err != nil {
		return nil, remedied(err)
	}
	store, err := openStore(ctx, cfg)
	if err != nil {
		return nil, storeFault(cfg.Home, err)
	}
	h := &home{identity: id, store: store, state: crdt.NewTable[homeState](store, "home"), fresh: fresh}
	if err := h.begin(ctx, filepath.Join(cfg.Home, storeDir)); err != nil {
		store.Close()
		return nil, err
	}
	return h, nil
}

// storeFault says what to do about a store that does not open.
func storeFault(home string, err error) error {
	e := &control.Error{Cause: err.Error(), Code: control.CodeInternal}
	switch {
	case errors.Is(err, crdt.ErrStoreBusy):
		e.Code, e.Remedy = control.CodeUnavailable, "another chaz-peer uses this home: wait for it, or stop it"
	case errors.Is(err, crdt.ErrNewerStore):
		e.Remedy = "update chaz-peer"
	case errors.Is(err, crdt.ErrTornStore):
		e.Remedy = fmt.Sprintf("restore the home from a backup, or move %s away and let other peers bring the documents back", filepath.Join(home, storeDir))
	default:
		e.Remedy = "give another --home, or look at what is in " + filepath.Join(home, storeDir)
	}
	return e
}

// remedied turns an error of the form "cause; what to do" into an answer with a remedy.
func remedied(err error) error {
	cause, remedy, ok := strings.Cut(err.Error(), "; ")
	if !ok {
		return err
	}
	return &control.Error{Cause: cause, Remedy: remedy, Code: control.CodeInternal}
}

// openStore waits a little for a process that is about to let go: a command of the moment before,
// or a daemon that is stopping.
func openStore(ctx context.Context, cfg *Config) (*badger.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.LockWait)
	defer cancel()
	for {
		s, err := badger.Open(filepath.Join(cfg.Home, storeDir), badger.Options{Report: cfg.Report})
		if err == nil || !errors.Is(err, crdt.ErrStoreBusy) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// begin decides on the epoch and marks the home as in use.
func (h *home) begin(ctx context.Context, dir string) error {
	st, err := h.state.Get(ctx, homeKey)
	if err != nil && !errors.Is(err, crdt.ErrNotFound) {
		return fmt.Errorf("open home: %w", err)
	}
	place := placeOf(dir)
	_, repaired := h.store.Repaired()
	b, hexErr := hex.DecodeString(st.Epoch)
	switch {
	case err != nil:
		h.reason = "first start"
	case hexErr != nil || len(b) != 16:
		h.reason = "unreadable epoch"
	case !st.Clean:
		h.reason = "the last stop was not clean"
	case st.Place != place:
		h.reason = "the home was moved or copied"
	case repaired:
		h.reason = "the store was repaired"
	default:
		copy(h.epoch[:], b)
	}
	if h.reason != "" {
		if _, err := rand.Read(h.epoch[:]); err != nil {
			return fmt.Errorf("draw an epoch: %w", err)
		}
	}
	if err := h.mark(ctx, homeState{Epoch: hex.EncodeToString(h.epoch[:]), Place: place}); err != nil {
		return err
	}
	if repaired {
		return h.store.AckRepair(ctx) // the new epoch is what a repair calls for
	}
	return nil
}

func (h *home) mark(ctx context.Context, st homeState) error {
	if err := h.state.Put(ctx, homeKey, st); err != nil {
		return fmt.Errorf("mark home: %w", err)
	}
	return nil
}

// end marks a clean stop and closes the store.
func (h *home) end(ctx context.Context) error {
	st, err := h.state.Get(ctx, homeKey)
	if err == nil {
		st.Clean = true
		err = h.mark(ctx, st)
	}
	return errors.Join(err, h.store.Close())
}

// placeOf says where a folder is: a copied home has another inode, a home on another machine
// another machine id.
func placeOf(dir string) string {
	place := "unknown"
	if fi, err := os.Stat(dir); err == nil {
		if st, ok := fi.Sys().(*syscall.Stat_t); ok {
			place = fmt.Sprintf("%d:%d", st.Dev, st.Ino)
		}
	}
	machine, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		name, _ := os.Hostname()
		machine = []byte(name)
	}
	return place + "@" + strings.TrimSpace(string(machine))
}
