package badger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Names in the directory of a store.
const (
	formatFile   = "FORMAT"
	formatNew    = "FORMAT.new" // FORMAT before it is renamed
	lockFile     = "lock"
	cleanFile    = "CLEAN"
	badgerFolder = "db"
	tornFolder   = "torn-" // + number
)

// The text of FORMAT: the magic line, then "format N".
const (
	formatMagic   = "chaz-peer store"
	formatVersion = 1
)

// claim makes sure that dir is ours (an existing store, or nothing yet), locks it, and writes what
// a new store begins with. In a directory with other contents it writes nothing.
func claim(dir string) (unlock func() error, created bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, err
	}
	if _, err := readFormat(dir); err != nil {
		return nil, false, err
	}
	unlock, err = lock(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, unlock())
		}
	}()
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, false, err
	}
	exists, err := readFormat(dir) // again: another process may have created it before we had the lock
	if err != nil {
		return nil, false, err
	}
	if !exists {
		if err := writeFormat(dir); err != nil {
			return nil, false, err
		}
	}
	// Without db/ a creation was interrupted after FORMAT.
	_, err = os.Stat(filepath.Join(dir, badgerFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	return unlock, err != nil, os.MkdirAll(filepath.Join(dir, badgerFolder), 0o700)
}

// readFormat reports whether dir holds a store that this program can read.
func readFormat(dir string) (bool, error) {
	data, err := os.ReadFile(filepath.Join(dir, formatFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, emptyDir(dir)
	}
	if err != nil {
		return false, err
	}
	magic, rest, _ := strings.Cut(string(data), "\n")
	if magic != formatMagic {
		return false, errors.New("the directory has a FORMAT file that is not ours: it belongs to another program")
	}
	var version int
	if _, err := fmt.Sscanf(rest, "format %d\n", &version); err != nil || version < 1 {
		return false, fmt.Errorf("%w: FORMAT does not say which format the store has", crdt.ErrTornStore)
	}
	if version > formatVersion {
		return false, fmt.Errorf("%w: it has format %d, this program knows up to %d", crdt.ErrNewerStore, version, formatVersion)
	}
	return true, nil
}

// emptyDir fails if dir has contents other than those of an interrupted creation.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockFile && e.Name() != formatNew {
			return fmt.Errorf("the directory has contents (%s) but is not a store of this program", e.Name())
		}
	}
	return nil
}

func writeFormat(dir string) error {
	text := fmt.Sprintf("%s\nformat %d\n", formatMagic, formatVersion)
	return writeSynced(dir, formatFile, formatNew, text)
}

// writeSynced writes a file of dir so that it is there wholly or not at all, also after a crash.
func writeSynced(dir, name, temp, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, temp), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(dir, temp), filepath.Join(dir, name)); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// recordClean writes down what the log files look like now that Badger has closed them.
func recordClean(dir string) error {
	text, err := logListing(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, cleanFile), []byte(text), 0o600)
}

// cleanlyClosed reports whether the log files are those of the last clean close. The log only grows
// while a store is open, so a record that outlived its store does not match.
func cleanlyClosed(dir string) bool {
	want, err := os.ReadFile(filepath.Join(dir, cleanFile))
	if err != nil {
		return false
	}
	have, err := logListing(dir)
	return err == nil && have == string(want)
}

func logListing(dir string) (string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, badgerFolder))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		if filepath.Ext(e.Name()) != logSuffix {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %d\n", e.Name(), info.Size())
	}
	return b.String() + "end\n", nil
}
