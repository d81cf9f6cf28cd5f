package badger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger"
	dsbadger "github.com/ipfs/go-ds-badger"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Options of [Open]; the zero value is right for a node.
type Options struct {
	// Report gets one sentence for the user when a damaged log was repaired. Nil: slog's default
	// logger, level warning.
	Report func(string)
	// CollectEvery is the pause between collections of [Store.Run]. 0: 10 minutes.
	CollectEvery time.Duration
	// Reserve is how many bytes of the disk Append leaves free. 0: 64 MiB; negative: it does not
	// look. Where the operating system cannot say what is free, Append does not look either.
	Reserve int64
	// NoSync leaves the sync of writes to the operating system: a crash of the machine then loses
	// acknowledged batches. For benchmarks and tests.
	NoSync bool
}

const (
	defaultCollectEvery = 10 * time.Minute
	defaultReserve      = 64 << 20
	// closePatience bounds Close: on a full disk Badger retries its last flush for ever.
	closePatience = 30 * time.Second
)

var (
	errClosed  = errors.New("the store is closed")
	errStopped = errors.New("the store stopped writing after an error and has to be opened again")
)

// Store is a [crdt.Store] in a directory. Its methods are safe for concurrent use, except Close.
type Store struct {
	dir    string
	opt    Options
	ds     *dsbadger.Datastore
	db     *badger.DB
	unlock func() error

	unclean  bool
	patience time.Duration // of Close
	stages   atomic.Uint64 // the last stage number given out
	step     func()        // tests: called after each transaction of a large batch

	// collect keeps collections away from stages: a large batch shares it, a collection is alone.
	collect sync.RWMutex
	// write orders the writers: small batches share it; one that is larger or has to do with split
	// values is alone. It guards split: how many pieces the value of a key has.
	write sync.RWMutex
	split map[string]int

	mu     sync.RWMutex // guards what follows
	pin    *snapshot    // what readers see while a large batch is copied
	failed error        // the write error after which nothing is written
	repair string       // folder of a repair that was not acknowledged
	closed bool
}

// Open opens the store in dir, or creates it in a directory that does not exist or is empty. It
// fails with [crdt.ErrStoreBusy] if the store is open already, here or in another process, with
// [crdt.ErrNewerStore] if a newer version of the program wrote it, with [crdt.ErrTornStore] if it
// is damaged beyond what can be repaired, and refuses a directory with other contents without
// writing to it.
func Open(dir string, opt Options) (*Store, error) {
	if opt.Report == nil {
		opt.Report = func(msg string) { slog.Warn(msg) }
	}
	if opt.CollectEvery <= 0 {
		opt.CollectEvery = defaultCollectEvery
	}
	if opt.Reserve == 0 {
		opt.Reserve = defaultReserve
	}
	unlock, created, err := claim(dir)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	s := &Store{dir: dir, opt: opt, unlock: unlock, patience: closePatience, split: map[string]int{}}
	if err := s.open(created); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", dir, err), s.release())
	}
	return s, nil
}

func (s *Store) open(created bool) error {
	if !created {
		s.unclean = !cleanlyClosed(s.dir)
		if err := s.mend(); err != nil {
			return err
		}
	}
	tables, err := readManifest(s.badgerDir())
	if err != nil {
		return err
	}
	if err := s.openBadger(false); err != nil {
		return err
	}
	if err := tablesComplete(s.db, s.badgerDir(), tables); err != nil {
		return err
	}
	if err := s.load(); err != nil {
		return err
	}
	// From here on the log grows and the record of the last close is history.
	if err := os.Remove(filepath.Join(s.dir, cleanFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// load reads what the store keeps in memory and finishes what a crash interrupted.
func (s *Store) load() error {
	if err := s.loadSplit(); err != nil {
		return fmt.Errorf("read the index of split values: %w", err)
	}
	if err := s.finishStages(); err != nil {
		return fmt.Errorf("finish an interrupted batch: %w", err)
	}
	return s.loadRepair()
}

func (s *Store) badgerDir() string { return filepath.Join(s.dir, badgerFolder) }

// openBadger opens the database. Badger's own truncation is allowed after a repair only; the repair
// has then cut the log already.
func (s *Store) openBadger(truncate bool) error {
	o := dsbadger.DefaultOptions // values in the tables, value log read by file I/O
	o.SyncWrites = !s.opt.NoSync
	o.Truncate = truncate
	o.NumMemtables = 2
	o.MaxTableSize = 8 << 20
	o.LevelOneSize = 32 << 20
	o.ValueLogFileSize = 16 << 20
	o.VerifyValueChecksum = true // concerns the records of stages only
	o.EventLogging = false
	o.GcInterval = 0 // Run collects
	ds, err := dsbadger.NewDatastore(s.badgerDir(), &o)
	switch {
	case errors.Is(err, badger.ErrTruncateNeeded):
		return fmt.Errorf("%w: %w", crdt.ErrTornStore, err)
	case err != nil && strings.Contains(err.Error(), "Another process is using this Badger database"):
		return crdt.ErrStoreBusy // where there is no flock, Badger's own lock decides
	case err != nil:
		return err
	}
	s.ds, s.db = ds, ds.DB
	// Badger leaves the mode of this file to the umask.
	if err := os.Chmod(filepath.Join(s.badgerDir(), "LOCK"), 0o600); err != nil {
		return err
	}
	return nil
}

// Close implements [crdt.Store]. On a full disk it gives up waiting after 30 s: nothing acknowledged
// is lost, and the directory is locked until there is room or the process ends.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed
	}
	s.closed = true
	s.mu.Unlock()
	s.unpin()
	done := make(chan error, 1)
	go func() { done <- errors.Join(s.closeBadger(), s.unlock()) }()
	patience := time.NewTimer(s.patience)
	defer patience.Stop()
	var err error
	select {
	case err = <-done:
	case <-patience.C:
		err = fmt.Errorf("the engine did not finish within %s (is the disk full?)", s.patience)
	}
	if err != nil {
		return fmt.Errorf("close store %s: %w", s.dir, err)
	}
	return nil
}

func (s *Store) closeBadger() error {
	if err := s.ds.Close(); err != nil {
		return err
	}
	return recordClean(s.dir)
}

// release undoes a failed Open.
func (s *Store) release() error {
	var err error
	if s.ds != nil {
		err = s.ds.Close()
	}
	return errors.Join(err, s.unlock())
}

// Unclean reports whether the process that had the store open before did not close it.
func (s *Store) Unclean() bool { return s.unclean }

// Run collects garbage in the log from time to time and returns when ctx ends; call it at most once
// and end it before Close. A collection that fails is reported and tried again.
func (s *Store) Run(ctx context.Context) error {
	t := time.NewTicker(s.opt.CollectEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if err := s.Collect(ctx); err != nil && ctx.Err() == nil {
				s.opt.Report(err.Error())
			}
		}
	}
}
