package badger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/dgraph-io/badger"
)

// collectPasses: Badger ends a pass at the first log file in which a sample looks alive, and picks
// the file at random: with one pass it may stop before a dozen dead files.
const collectPasses = 8

// Collect frees what the log and the tables hold for nothing, as far as Badger has written it to
// tables. It waits for a large batch that is being appended. Other methods may run meanwhile.
func (s *Store) Collect(ctx context.Context) error {
	s.collect.Lock()
	defer s.collect.Unlock()
	if err := errors.Join(ctx.Err(), s.writable()); err != nil {
		return fmt.Errorf("collect garbage: %w", err)
	}
	for range collectPasses {
		err := errors.Join(ctx.Err(), s.ds.CollectGarbage(ctx))
		if err != nil && !errors.Is(err, badger.ErrRejected) {
			return fmt.Errorf("collect garbage: %w", err)
		}
	}
	return nil
}

// DiskSize is the number of bytes in all files of the store, those set aside by repairs included.
func (s *Store) DiskSize() (int64, error) {
	var n int64
	err := filepath.WalkDir(s.dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				n += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // collected meanwhile
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("size of store: %w", err)
	}
	return n, nil
}
