package badger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/dgraph-io/badger"
)

// Collect frees what the log and the tables hold for nothing, as far as Badger has written it to
// tables. It waits for a large batch that is being appended.
func (s *Store) Collect(ctx context.Context) error {
	s.collect.Lock()
	defer s.collect.Unlock()
	if err := errors.Join(ctx.Err(), s.writable()); err != nil {
		return fmt.Errorf("collect garbage: %w", err)
	}
	if err := s.ds.CollectGarbage(ctx); err != nil && !errors.Is(err, badger.ErrRejected) {
		return fmt.Errorf("collect garbage: %w", err)
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
