package badger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger"
	dsbadger "github.com/ipfs/go-ds-badger"
	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// chainStore returns a crash image of a store with n batches of the history in its log.
func chainStore(t testing.TB, n int) (dir string) {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{})
	appendChain(t, s, 0, n)
	dir = crashImage(t, s)
	mustClose(t, s)
	return dir
}

func appendChain(t testing.TB, s *Store, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := s.Append(t.Context(), chainBatch(i)); err != nil {
			t.Fatal(err)
		}
	}
}

func rewrite(t testing.TB, path string, fn func([]byte) []byte) (before []byte) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, fn(bytes.Clone(before)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return before
}

// damages of a log, and how many of 100 batches may be lost to them at most.
var damages = []struct {
	name string
	do   func([]byte) []byte
	lost int
}{
	{"cut tail", func(b []byte) []byte { return b[:len(b)-5] }, 1},
	{"cut off half", func(b []byte) []byte { return b[:len(b)/2] }, 60},
	{"garbage behind", func(b []byte) []byte { return append(b, "not an entry of a log, but long enough to be one"...) }, 0},
	{"zeros behind", func(b []byte) []byte { return append(b, make([]byte, 5000)...) }, 0},
	{"zeroed tail", func(b []byte) []byte { clear(b[len(b)-100:]); return b }, 1},
	{"flipped bit", func(b []byte) []byte { b[len(b)*9/10] ^= 4; return b }, 15},
	{"huge length", func(b []byte) []byte {
		return append(b, bytes.Repeat([]byte{0, 0, 0, 9, 0xff, 0xff, 0xff, 0xff}, 20)...)
	}, 0},
}

func TestTornLogIsRepaired(t *testing.T) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			dir := chainStore(t, 100)
			log := newestLog(t, dir)
			rewrite(t, log, d.do)
			damaged, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			var reports []string
			s := open(t, dir, Options{Report: func(msg string) { reports = append(reports, msg) }})
			n, err := countChain(s)
			if err != nil || n > 100 || n < 100-d.lost {
				t.Errorf("%d of 100 batches, %v; at most %d may be lost", n, err, d.lost)
			}
			folder, ok := s.Repaired()
			if !ok || len(reports) != 1 || !strings.Contains(reports[0], folder) {
				t.Fatalf("repaired %v in %q, reports: %q", ok, folder, reports)
			}
			aside, err := os.ReadFile(filepath.Join(folder, filepath.Base(log)))
			if err != nil || !bytes.Equal(aside, damaged) {
				t.Errorf("the copy set aside has %d bytes, the damaged file had %d: %v", len(aside), len(damaged), err)
			}
			goOnAfterRepair(t, s, n)
		})
	}
}

// goOnAfterRepair writes on after a repair, crashes, opens again, and acknowledges the repair.
func goOnAfterRepair(t *testing.T, s *Store, n int) {
	t.Helper()
	for crash := range 3 {
		appendChain(t, s, n, n+3)
		n += 3
		image := crashImage(t, s)
		mustClose(t, s)
		s = open(t, image, Options{Report: func(msg string) { t.Errorf("crash %d after the repair: %s", crash, msg) }})
		if got, err := countChain(s); err != nil || got != n {
			t.Errorf("crash %d after the repair: %d batches, %v; want %d", crash, got, err, n)
		}
		if _, ok := s.Repaired(); !ok {
			t.Error("the repair is forgotten before it was acknowledged")
		}
	}
	if err := s.AckRepair(t.Context()); err != nil {
		t.Fatal(err)
	}
	if folder, ok := s.Repaired(); ok {
		t.Errorf("acknowledged, but reported: %s", folder)
	}
	mustClose(t, s)
	if _, ok := open(t, s.dir, Options{}).Repaired(); ok {
		t.Error("acknowledged, but reported when opened again")
	}
}

func TestWholeLogIsNotRepaired(t *testing.T) {
	dir := chainStore(t, 100)
	s := open(t, dir, Options{Report: func(msg string) { t.Error(msg) }})
	if n, err := countChain(s); err != nil || n != 100 {
		t.Errorf("%d batches, %v", n, err)
	}
	if folder, ok := s.Repaired(); ok || !s.Unclean() {
		t.Errorf("repaired %v (%s), unclean %v", ok, folder, s.Unclean())
	}
}

// A log of several files, damaged in one that is not the last: the later files go too, or the
// history would have a hole.
func TestDamageInAnEarlierFile(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{NoSync: true, Reserve: -1})
	put(t, s, "a", "1")
	// Values of this size go to the log alone, so no table is flushed.
	ballast := op{key: []byte("\x00ballast"), value: make([]byte, 400_000)}
	for i := range 55 { // 22 MB: two log files
		var ops []op
		for _, w := range chainBatch(i).Writes {
			ops = expand(ops, w, s.split[string(w.Key)])
			s.setSplit(string(w.Key), pieces(len(w.Value)))
		}
		if err := s.commit(append(ops, ballast)); err != nil {
			t.Fatal(err)
		}
	}
	dir := crashImage(t, s)
	mustClose(t, s)
	db := filepath.Join(dir, badgerFolder)
	tables, err := readManifest(db)
	if err != nil {
		t.Fatal(err)
	}
	head, err := readHead(db, tables)
	files, err2 := logFiles(db)
	if err != nil || err2 != nil || len(files) < 2 || head.offset > 1<<20 {
		t.Fatalf("log files %v, tables go to %+v, %v, %v", files, head, err, err2)
	}
	rewrite(t, logPath(db, files[0]), func(b []byte) []byte { b[len(b)-2_000_000] ^= 1; return b })
	repaired := 0
	s = open(t, dir, Options{Report: func(string) { repaired++ }})
	n, err := countChain(s)
	if err != nil || n < 20 || n > 45 || repaired != 1 {
		t.Errorf("%d batches, %v, %d repairs", n, err, repaired)
	}
	folder, _ := s.Repaired()
	if aside, err := logFiles(folder); err != nil || len(aside) != len(files) {
		t.Errorf("set aside: %v of %v, %v", aside, files, err)
	}
	goOnAfterRepair(t, s, n)
}

// After a clean close everything is in tables: damage to the log costs nothing, but a log that is
// shorter than the tables say must not be written on.
func TestDamageAfterACleanClose(t *testing.T) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "store"), Options{})
			appendChain(t, s, 0, 100)
			mustClose(t, s)
			before := rewrite(t, newestLog(t, s.dir), d.do)
			after, err := os.ReadFile(newestLog(t, s.dir))
			if err != nil {
				t.Fatal(err)
			}
			s = open(t, s.dir, Options{Report: func(string) {}})
			if n, err := countChain(s); err != nil || n != 100 {
				t.Errorf("%d of 100 batches, %v", n, err)
			}
			_, repaired := s.Repaired()
			if want := len(before) != len(after); repaired != want {
				t.Errorf("repaired: %v, want %v", repaired, want)
			}
			if repaired {
				goOnAfterRepair(t, s, 100)
			}
		})
	}
}

func TestDamageBeyondRepairIsRefused(t *testing.T) {
	for name, do := range map[string]func(db string) error{
		"table": func(db string) error {
			tables, err := filepath.Glob(filepath.Join(db, "*.sst"))
			if err != nil || len(tables) == 0 {
				return fmt.Errorf("no tables: %w", err)
			}
			b, err := os.ReadFile(tables[0])
			if err != nil {
				return err
			}
			b[len(b)/2] ^= 1
			return os.WriteFile(tables[0], b, 0o600)
		},
		"table gone": func(db string) error {
			tables, err := filepath.Glob(filepath.Join(db, "*.sst"))
			return errors.Join(err, os.Remove(tables[0]))
		},
		"manifest":      func(db string) error { return os.WriteFile(filepath.Join(db, "MANIFEST"), []byte("not one"), 0o600) },
		"manifest gone": func(db string) error { return os.Remove(filepath.Join(db, "MANIFEST")) },
		"format": func(db string) error {
			return os.WriteFile(filepath.Join(db, "..", "FORMAT"), []byte("chaz-peer store\nform"), 0o600)
		},
	} {
		for _, clean := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, clean %v", name, clean), func(t *testing.T) {
				s := open(t, filepath.Join(t.TempDir(), "store"), Options{})
				appendChain(t, s, 0, 10)
				mustClose(t, s)
				if !clean {
					if err := os.Remove(filepath.Join(s.dir, cleanFile)); err != nil {
						t.Fatal(err)
					}
				}
				if err := do(s.badgerDir()); err != nil {
					t.Fatal(err)
				}
				if r, err := Open(s.dir, Options{}); !errors.Is(err, crdt.ErrTornStore) {
					t.Errorf("open: %v", err)
					if err == nil {
						mustClose(t, r)
					}
				}
				if r, err := Open(s.dir, Options{}); !errors.Is(err, crdt.ErrTornStore) { // and is not left locked
					t.Errorf("open again: %v", err)
					if err == nil {
						mustClose(t, r)
					}
				}
			})
		}
	}
}

// The reader of the log comes to the same verdict as Badger's own, whatever the damage.
func TestVerdictIsBadgers(t *testing.T) {
	clean := chainStore(t, 60)
	whole, torn := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		if whole+torn >= 25 { // each check opens a Badger
			return
		}
		dir := filepath.Join(t.TempDir(), fmt.Sprint(whole+torn))
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(clean, badgerFolder))); err != nil {
			t.Fatal(err)
		}
		files, err := logFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		rewrite(t, logPath(dir, files[0]), func(b []byte) []byte {
			at := rapid.IntRange(0, len(b)-1).Draw(r, "at")
			switch rapid.SampledFrom([]string{"cut", "flip", "insert", "none"}).Draw(r, "damage") {
			case "cut":
				return b[:at]
			case "flip":
				b[at] ^= 1 << rapid.IntRange(0, 7).Draw(r, "bit")
			case "insert":
				extra := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(r, "bytes")
				return append(b[:at:at], append(extra, b[at:]...)...)
			}
			return b
		})
		d, err := findDamage(dir, logPos{})
		if err != nil {
			t.Fatal(err)
		}
		o := dsbadger.DefaultOptions
		o.Truncate, o.GcInterval, o.EventLogging = false, 0, false
		o.ValueLogFileSize, o.MaxTableSize, o.NumMemtables = 16<<20, 8<<20, 2
		ds, err := dsbadger.NewDatastore(dir, &o)
		if err == nil {
			whole++
			if err := ds.Close(); err != nil {
				t.Fatal(err)
			}
		} else if !errors.Is(err, badger.ErrTruncateNeeded) {
			t.Fatal(err)
		} else {
			torn++
		}
		if (err != nil) != (d != nil) {
			r.Fatalf("Badger: %v; found: %+v", err, d)
		}
	})
	if whole == 0 || torn == 0 {
		t.Errorf("%d logs were whole, %d torn; the test needs both", whole, torn)
	}
}

func FuzzWholePart(f *testing.F) {
	log, err := os.ReadFile(newestLog(f, chainStore(f, 3)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(log)
	f.Add(log[:len(log)-9])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, log []byte) {
		n, err := wholePart(bytes.NewReader(log), int64(len(log)))
		if err != nil || n < 0 || n > int64(len(log)) {
			t.Fatalf("%d of %d bytes, %v", n, len(log), err)
		}
		// What was accepted is accepted again when it stands alone.
		if again, err := wholePart(bytes.NewReader(log), n); again != n || err != nil {
			t.Fatalf("scan of the accepted part: %d, %v; want %d", again, err, n)
		}
	})
}
