package badger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger"
	"github.com/dgraph-io/badger/options"
	"github.com/dgraph-io/badger/table"
	"github.com/dgraph-io/badger/y"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Under headKey the tables hold how far the value log is in them.
const (
	headKey     = "!badger!head"
	headPointer = 12 // file, length, offset of the last entry
)

// readManifest lists the tables of the database, all of which are there. Without a MANIFEST there
// are none, unless there are files that one would belong to.
func readManifest(dir string) (map[uint64]badger.TableManifest, error) {
	tables, err := listTables(dir)
	if err != nil {
		return nil, err
	}
	for id := range tables {
		if _, err := os.Stat(table.NewFilename(id, dir)); err != nil {
			return nil, fmt.Errorf("%w: %w", crdt.ErrTornStore, err)
		}
	}
	return tables, nil
}

func listTables(dir string) (map[uint64]badger.TableManifest, error) {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		// Badger would start afresh and remove every table.
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); ext == ".sst" || ext == logSuffix {
				return nil, fmt.Errorf("%w: MANIFEST is missing", crdt.ErrTornStore)
			}
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, _, err := badger.ReplayManifestFile(f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", crdt.ErrTornStore, err)
	}
	return m.Tables, nil
}

// readHead checks every table against its checksum and returns how far the log is in the tables.
func readHead(dir string, tables map[uint64]badger.TableManifest) (logPos, error) {
	var head logPos
	var newest uint64
	for id, m := range tables {
		f, err := os.Open(table.NewFilename(id, dir))
		if err != nil {
			return head, fmt.Errorf("%w: %w", crdt.ErrTornStore, err)
		}
		// Badger has always written a checksum; reading a damaged table without one ends the process.
		var t *table.Table
		if len(m.Checksum) > 0 {
			t, err = table.OpenTable(f, options.FileIO, m.Checksum)
		}
		if t == nil || err != nil {
			_ = f.Close() // what OpenTable leaves open depends on where it failed
			return head, fmt.Errorf("%w: table %d is damaged", crdt.ErrTornStore, id)
		}
		it := t.NewIterator(false)
		it.Seek(y.KeyWithTs([]byte(headKey), math.MaxUint64))
		if it.Valid() && string(y.ParseKey(it.Key())) == headKey {
			v := it.Value()
			if version := y.ParseTs(it.Key()); version >= newest && len(v.Value) == headPointer {
				newest = version
				head.file = binary.BigEndian.Uint32(v.Value)
				head.offset = int64(binary.BigEndian.Uint32(v.Value[8:])) + int64(binary.BigEndian.Uint32(v.Value[4:]))
			}
		}
		if err := errors.Join(it.Close(), t.Close()); err != nil {
			return head, err
		}
	}
	return head, nil
}

// tablesComplete fails if the open database has left out a table that was listed before: Badger only
// logs it when the checksum of one is wrong.
func tablesComplete(db *badger.DB, dir string, before map[uint64]badger.TableManifest) error {
	open := map[uint64]bool{}
	for _, t := range db.Tables(false) {
		open[t.ID] = true
	}
	// Compaction may run already; it takes a table out of the MANIFEST first. So one that is listed
	// now was open then.
	now, err := listTables(dir)
	if err != nil {
		return err
	}
	for id := range before {
		if _, listed := now[id]; listed && !open[id] {
			return fmt.Errorf("%w: table %d is damaged", crdt.ErrTornStore, id)
		}
	}
	return nil
}
