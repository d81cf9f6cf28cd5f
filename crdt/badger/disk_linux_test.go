package badger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// smallDisk mounts a disk of n bytes.
func smallDisk(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", n)); err != nil {
		t.Skipf("mounting a small disk needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fillDisk leaves free bytes and returns what takes the room.
func fillDisk(t *testing.T, dir string, free int64) (ballast string) {
	t.Helper()
	ballast = filepath.Join(dir, "ballast")
	have, ok := freeBytes(dir)
	if !ok || have < free {
		t.Fatalf("%d bytes free, %v", have, ok)
	}
	if err := os.WriteFile(ballast, make([]byte, have-free), 0o600); err != nil {
		t.Fatal(err)
	}
	return ballast
}

// With a reserve the store refuses in time, reads, and takes writes again when there is room.
func TestDiskFullWithReserve(t *testing.T) {
	disk := smallDisk(t, 96<<20)
	s := open(t, filepath.Join(disk, "store"), Options{Reserve: 16 << 20})
	appendChain(t, s, 0, 50)
	ballast := fillDisk(t, disk, 10<<20)
	for name, b := range map[string]*crdt.Batch{"small": chainBatch(50), "large": numbered(5000, 600)} {
		if err := s.Append(t.Context(), b); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s batch on a full disk: %v", name, err)
		}
	}
	if n, err := countChain(s); err != nil || n != 50 || countNumbered(t, s, 600) != 0 {
		t.Errorf("%d batches, %v", n, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	appendChain(t, s, 50, 60)
	if err := s.Append(t.Context(), numbered(5000, 600)); err != nil {
		t.Error(err)
	}
	// A batch that would fill the disk is refused before anything is written.
	if err := s.Append(t.Context(), numbered(60, 1<<20)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a batch larger than the disk: %v", err)
	}
	mustClose(t, s)
	s = open(t, s.dir, Options{Reserve: 16 << 20, Report: func(msg string) { t.Error(msg) }})
	if n, err := countChain(s); err != nil || n != 60 || countNumbered(t, s, 600) != 5000 {
		t.Errorf("after reopening: %d batches, %v", n, err)
	}
	mustClose(t, s)
}

// Without one Badger runs into the wall, in a small batch or in the stage or the copy of a large
// one. The store then writes no more, reads what was there before, and is whole when opened again.
func TestDiskFullInTheMiddle(t *testing.T) {
	for name, c := range map[string]struct {
		free  int64
		batch *crdt.Batch
	}{
		"small": {100_000, numbered(100, 2000)},
		"stage": {1_300_000, numbered(5000, 600)},
		"copy":  {5_000_000, numbered(5000, 600)}, // 3 MB of stage fit, 3 MB of copy do not
	} {
		t.Run(name, func(t *testing.T) {
			disk := smallDisk(t, 96<<20)
			s := open(t, filepath.Join(disk, "store"), Options{Reserve: -1})
			appendChain(t, s, 0, 50)
			put(t, s, "n000000", "before")
			ballast := fillDisk(t, disk, c.free)
			if err := s.Append(t.Context(), c.batch); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("append on a full disk: %v", err)
			}
			if v, err := s.Get(t.Context(), []byte("n000000")); err != nil || string(v) != "before" {
				t.Errorf("get: %d bytes, %v", len(v), err)
			}
			if n, err := countChain(s); err != nil || n != 50 {
				t.Errorf("%d batches, %v", n, err)
			}
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			if err := s.Append(t.Context(), chainBatch(50)); !errors.Is(err, errStopped) {
				t.Errorf("the store writes on after an error: %v", err)
			}
			mustClose(t, s)

			s = open(t, s.dir, Options{Report: func(msg string) { t.Log(msg) }})
			n, err := countChain(s)
			if err != nil || n != 50 {
				t.Errorf("after reopening: %d batches, %v", n, err)
			}
			v, err := s.Get(t.Context(), []byte("n000000"))
			if err != nil {
				t.Error(err)
			}
			if string(v) == "before" {
				if name == "copy" {
					t.Error("the batch was valid, but is not there")
				}
			} else if got := countNumbered(t, s, len(c.batch.Writes[0].Value)); got != len(c.batch.Writes) {
				t.Errorf("half a batch: %d keys", got)
			}
			appendChain(t, s, 50, 55)
			mustClose(t, s)
		})
	}
}

// Badger cannot finish on a full disk; Close says so in time, and the store is whole afterwards.
func TestCloseOnAFullDisk(t *testing.T) {
	disk := smallDisk(t, 96<<20)
	s := open(t, filepath.Join(disk, "store"), Options{Reserve: -1})
	s.patience = 100 * time.Millisecond
	appendChain(t, s, 0, 50)
	ballast := fillDisk(t, disk, 0)
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "is the disk full?") {
		t.Errorf("close: %v", err)
	}
	if _, err := Open(s.dir, Options{}); !errors.Is(err, crdt.ErrStoreBusy) {
		t.Errorf("open while Badger is at work: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := Open(s.dir, Options{Report: func(msg string) { t.Error(msg) }})
		if errors.Is(err, crdt.ErrStoreBusy) {
			<-tick.C // Badger tries again every second
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, err := countChain(r); err != nil || n != 50 {
			t.Errorf("%d batches, %v", n, err)
		}
		mustClose(t, r)
		return
	}
}

// Documents are written over and over: what is dead must not keep the disk.
func TestCollectionShrinksTheStore(t *testing.T) {
	if testing.Short() {
		t.Skip("writes more than 100 MB")
	}
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{NoSync: true, Reserve: -1})
	const live, rounds = 20, 100 // 1 MB live, 100 MB written
	value := func(round, i int) []byte {
		v := make([]byte, 50_000)
		_, _ = rand.NewChaCha8([32]byte{byte(round), byte(i)}).Read(v) // does not compress; never fails
		return v
	}
	var most int64
	for round := range rounds {
		for from := 0; from < live; from += 5 {
			var b crdt.Batch
			for i := from; i < from+5; i++ {
				b.Put(fmt.Appendf(nil, "doc%02d", i), value(round, i))
			}
			if err := s.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
		}
		most = max(most, size(t, s))
	}
	if err := s.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := size(t, s)
	t.Logf("1 MB live: at most %d MB while 100 MB were written, %d MB after collection", most>>20, after>>20)
	if most < 80<<20 || after > 60<<20 {
		t.Error("collection did not shrink the store (or there was nothing to shrink)")
	}
	for i := range live {
		if v, err := s.Get(t.Context(), fmt.Appendf(nil, "doc%02d", i)); err != nil || string(v) != string(value(rounds-1, i)) {
			t.Errorf("document %d: %d bytes, %v", i, len(v), err)
		}
	}
	image := crashImage(t, s)
	mustClose(t, s)
	s = open(t, image, Options{Report: func(msg string) { t.Error(msg) }})
	for i := range live {
		if v, err := s.Get(t.Context(), fmt.Appendf(nil, "doc%02d", i)); err != nil || string(v) != string(value(rounds-1, i)) {
			t.Errorf("document %d after a crash: %d bytes, %v", i, len(v), err)
		}
	}
}

// The records of large batches are dead as soon as these are in place.
func TestCollectionAfterLargeBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("writes more than 100 MB")
	}
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{NoSync: true, Reserve: -1})
	var most int64
	for range 16 { // one snapshot of 5 MB, written again and again: 160 MB of log
		if err := s.Append(t.Context(), numbered(1, 5<<20)); err != nil {
			t.Fatal(err)
		}
		most = max(most, size(t, s))
	}
	if err := s.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := size(t, s)
	t.Logf("5 MB live: at most %d MB, %d MB after collection", most>>20, after>>20)
	// What is left is the open log file and those whose dead part the compactions have not counted yet.
	if most < 120<<20 || after > most/2 {
		t.Error("collection did not shrink the store (or there was nothing to shrink)")
	}
	if n := countNumbered(t, s, 5<<20); n != 1 {
		t.Errorf("%d snapshots", n)
	}
}

func size(t *testing.T, s *Store) int64 {
	t.Helper()
	n, err := s.DiskSize()
	if err != nil {
		t.Fatal(err)
	}
	return n
}
