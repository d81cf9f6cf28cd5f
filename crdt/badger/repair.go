package badger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/dgraph-io/badger"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Repaired returns the folder that holds the log files as a repair found them, and whether there
// was a repair that nobody acknowledged, in this run or an earlier one. The store then is as it was
// at an earlier moment: what this peer wrote since may be known elsewhere, so it must not go on
// with its old sequence numbers.
func (s *Store) Repaired() (folder string, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.repair, s.repair != ""
}

// AckRepair ends what [Store.Repaired] reports. The folder stays.
func (s *Store) AckRepair(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.commit([]op{{key: []byte(metaKeyRepair), delete: true}}); err != nil {
		return fmt.Errorf("acknowledge a repair: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repair = ""
	return nil
}

func (s *Store) loadRepair() error {
	return s.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get([]byte(metaKeyRepair))
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return item.Value(func(v []byte) error {
			s.repair = filepath.Join(s.dir, filepath.Base(string(v)))
			return nil
		})
	})
}

// mend checks the log of an existing store after anything but a clean close, and repairs it. Badger
// could find a torn log by itself, but half-opened it leaves goroutines behind that write to the
// directory, and its truncation keeps what stands in later files: a history with a hole.
func (s *Store) mend() error {
	dir := s.badgerDir()
	tables, err := readManifest(dir)
	if err != nil || !s.unclean {
		return err
	}
	head, err := readHead(dir, tables)
	if err != nil {
		return err
	}
	d, err := findDamage(dir, head)
	if err != nil || d == nil {
		return err
	}
	folder, err := s.setAside(d)
	if err != nil {
		return fmt.Errorf("%w, and setting the damaged files aside failed: %w", crdt.ErrTornStore, err)
	}
	if err := cutLog(dir, d); err != nil {
		return fmt.Errorf("%w, and cutting it failed: %w", crdt.ErrTornStore, err)
	}
	if err := s.settle(folder); err != nil {
		return fmt.Errorf("open the repaired database: %w", err)
	}
	s.opt.Report(fmt.Sprintf("the store's log was damaged at byte %d of %s (%d bytes long), for example by a power cut or a failing disk; "+
		"what stood behind was cut off and is kept in %s", d.offset, filepath.Base(logPath(dir, d.file)), d.size, folder))
	return nil
}

// setAside copies all files that cutLog changes into a new folder.
func (s *Store) setAside(d *damage) (folder string, err error) {
	dir := s.badgerDir()
	files, err := logFiles(dir)
	if err != nil {
		return "", err
	}
	var size int64
	for _, n := range files {
		if info, err := os.Stat(logPath(dir, n)); err == nil && n >= d.file {
			size += info.Size()
		}
	}
	if free, ok := freeBytes(s.dir); ok && free < size {
		return "", fmt.Errorf("%d bytes are needed, %d are free: %w", size, free, syscall.ENOSPC)
	}
	for i := 1; ; i++ {
		folder = filepath.Join(s.dir, fmt.Sprintf("%s%d", tornFolder, i))
		if err = os.Mkdir(folder, 0o700); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	for i := 0; i < len(files) && err == nil; i++ {
		if n := files[i]; n >= d.file {
			err = copyFile(logPath(folder, n), logPath(dir, n))
		}
	}
	if err != nil {
		return "", err
	}
	return folder, errors.Join(syncDir(folder), syncDir(s.dir))
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// cutLog ends the log at the damage: what stands behind goes, in later files too.
func cutLog(dir string, d *damage) error {
	files, err := logFiles(dir)
	if err != nil {
		return err
	}
	for i := len(files) - 1; i >= 0; i-- { // from the end: interrupted, it leaves no hole either
		switch path := logPath(dir, files[i]); {
		case files[i] > d.file:
			err = os.Remove(path)
		case files[i] == d.file:
			err = truncate(path, d.offset)
		}
		if err != nil {
			return err
		}
	}
	return syncDir(dir)
}

func truncate(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Sync(), f.Close())
}

// settle opens the database for once with Badger's own truncation allowed, notes the repair and
// closes it again. Closing flushes a table that says anew how far the log goes: the old word may
// point behind the cut, and after the next crash Badger would read on from the middle of an entry.
func (s *Store) settle(folder string) error {
	if err := s.openBadger(true); err != nil {
		return err
	}
	err := s.commit([]op{{key: []byte(metaKeyRepair), value: []byte(filepath.Base(folder))}})
	err = errors.Join(err, s.ds.Close())
	s.ds, s.db = nil, nil
	return err
}
