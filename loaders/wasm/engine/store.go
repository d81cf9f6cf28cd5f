package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

const (
	// storeLayout is part of every name: it changes when the host compiles in another way.
	storeLayout = "core-2, no termination check, no debug information"
	storeSuffix = ".sealed"
	// staleRun is how old a folder of a process that crashed is before it is removed.
	staleRun = 24 * time.Hour
)

// store keeps compiled modules on disk, each in one file under a seal. The runtime has a cache of its own
// that takes any file for machine code, so it only ever sees a folder of this process (run), where a file
// lies for the moment of one compilation.
type store struct {
	dir  string
	run  string
	seal seal
	size int64
	log  *slog.Logger
}

func openStore(cfg Config) (*store, error) {
	s := &store{dir: cfg.CacheDir, size: cfg.CacheSize, log: cfg.Log}
	if s.size <= 0 {
		s.size = defaultCacheSize
	}
	var err error
	if s.seal, err = newSeal(cfg.CacheKey); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	s.sweep()
	s.run, err = os.MkdirTemp(s.dir, "run-")
	return s, err
}

// sweep removes what processes that crashed left.
func (s *store) sweep() {
	list, _ := os.ReadDir(s.dir) // what can't be read now is swept another time
	for _, e := range list {
		info, err := e.Info()
		left := strings.HasPrefix(e.Name(), "run-") || strings.HasSuffix(e.Name(), ".tmp")
		if err == nil && left && time.Since(info.ModTime()) > staleRun {
			_ = os.RemoveAll(filepath.Join(s.dir, e.Name()))
		}
	}
}

func (s *store) close() error { return os.RemoveAll(s.run) }

// name is the file of a module, for one runtime (which is version, processor and system).
func (s *store) name(sum [32]byte, runtime string) string {
	h := sha256.New()
	for _, part := range []string{storeLayout, meter.Version, runtime, string(sum[:])} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)) + storeSuffix
}

// get reads a file, or answers with nothing. One whose seal is broken is removed, and said.
func (s *store) get(name string) (sealed, bool) {
	path := filepath.Join(s.dir, name)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > s.size {
		return sealed{}, false
	}
	b, err := os.ReadFile(path)
	if err != nil {
		s.log.Warn("compiled module can't be read", "file", path, "error", err)
		return sealed{}, false
	}
	c, err := s.seal.open(name, b)
	if err != nil {
		s.log.Warn("compiled module was changed on disk; it is compiled again", "file", path, "error", err)
		_ = os.Remove(path)
		return sealed{}, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // for prune; an older stamp does no harm
	return c, true
}

// put keeps a compiled module. That it could not costs only time.
func (s *store) put(name string, c sealed) {
	if err := s.write(name, s.seal.wrap(name, c)); err != nil {
		s.log.Warn("compiled module can't be kept", "dir", s.dir, "error", err)
		return
	}
	s.prune()
}

func (s *store) write(name string, b []byte) error {
	f, err := os.CreateTemp(s.dir, "*.tmp") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// prune removes the files that were used longest ago, until the rest fits.
func (s *store) prune() {
	list, _ := os.ReadDir(s.dir) // as in sweep
	var files []fs.FileInfo
	total := int64(0)
	for _, e := range list {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), storeSuffix) {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= s.size {
			return
		}
		total -= f.Size()
		_ = os.Remove(filepath.Join(s.dir, f.Name()))
	}
}
