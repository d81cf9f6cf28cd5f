package automerge

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

const (
	cycles      = 3000
	leaks       = 1000
	smallRows   = 50
	flatBytes   = 12 << 20 // what closed documents may leave behind, race detector included
	leakedBytes = 60 << 20 // what they must at least leave behind when nobody closes them
)

func TestClosedDocumentsLeaveNoMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("resident memory is read from /proc/self/statm")
	}
	genesis, list := smallDocument(t)
	grown, err := growth(genesis, list, cycles, true)
	check(t, err)
	t.Logf("%d documents of %d rows built, saved and closed: %+d KiB", cycles, smallRows, grown>>10)
	if grown > flatBytes {
		t.Errorf("memory grew by %d bytes, want at most %d", grown, flatBytes)
	}

	// The control: the same measure, in a process of its own, sees documents that nobody closes.
	child := again(t, leakMode)
	out, err := exec.Command(child.Path, child.Args...).Output()
	check(t, err)
	var leaked int
	_, err = fmt.Sscan(string(out), &leaked)
	check(t, err)
	t.Logf("%d of them without Close: %+d KiB", leaks, leaked>>10)
	if leaked < leakedBytes {
		t.Errorf("documents that nobody closes take %d bytes, want at least %d: the measure is blind", leaked, leakedBytes)
	}
}

func leak() (int, error) {
	var t testing.T // only asked to fail by a mistake of this package, which then panics
	genesis, list := smallDocument(&t)
	return growth(genesis, list, leaks, false)
}

func smallDocument(t testing.TB) (*crdt.Change, []change) {
	a := newAuthor(t, crdt.Session, 1)
	return a.genesis, a.rows(smallRows)
}

// growth is how many bytes this process grows by while it builds and saves many documents.
func growth(genesis *crdt.Change, list []change, documents int, closing bool) (int, error) {
	core := New()
	cycle := func(n int, closing bool) error {
		for range n {
			doc, err := core.Build(genesis, sequence(list[:smallRows/2]))
			if err != nil {
				return err
			}
			for _, c := range list[smallRows/2:] {
				if err := doc.Apply(c.hash, c.raw); err != nil {
					return err
				}
			}
			for range 4 { // often enough that an answer not freed shows
				doc.Save()
			}
			for range 10 {
				doc.Heads()
			}
			if closing {
				doc.Close()
			}
		}
		Trim()
		return nil
	}
	if err := cycle(documents/10, true); err != nil { // first the heaps grow to their size
		return 0, err
	}
	before, err := resident()
	if err != nil {
		return 0, err
	}
	if err := cycle(documents, closing); err != nil {
		return 0, err
	}
	after, err := resident()
	return after - before, err
}

// resident is the resident memory of this process in bytes, Go's own garbage collected.
func resident() (int, error) {
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, pages int
	_, err = fmt.Sscan(string(b), &size, &pages)
	return pages * os.Getpagesize(), err
}
