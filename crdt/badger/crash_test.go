package badger

import (
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger"
)

// A child kills itself after each transaction of a large batch in turn: up to the marker nothing of
// the batch is found, from the marker on all of it.
func TestKillAtEachStepOfALargeBatch(t *testing.T) {
	const keys, size = 5000, 600 // 3 records, a marker, 4 transactions of the copy, the removal
	nothing, all := 0, 0
	for at := 1; ; at++ {
		dir := filepath.Join(t.TempDir(), "store")
		s := open(t, dir, Options{})
		put(t, s, "before", "1")
		mustClose(t, s)
		cmd, out := child(t, "large", dir, keys, size, at)
		finished := false
		for !finished && out.Scan() {
			if line := out.Text(); strings.HasPrefix(line, "error") {
				t.Fatal(line)
			} else {
				finished = strings.HasPrefix(line, "done")
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()

		s = open(t, dir, Options{})
		switch n := countNumbered(t, s, size); n {
		case 0:
			nothing++
			if all > 0 {
				t.Errorf("step %d: nothing is left of a batch that was valid a step earlier", at)
			}
		case keys:
			all++
		default:
			t.Errorf("step %d: %d of %d keys", at, n, keys)
		}
		if v, err := s.Get(t.Context(), []byte("before")); err != nil || string(v) != "1" {
			t.Errorf("step %d: the batch before: %q, %v", at, v, err)
		}
		if !s.Unclean() {
			t.Errorf("step %d: the store says that it was closed", at)
		}
		if n := countSpace(t, s, spaceStage) + countSpace(t, s, spaceMarker); n != 0 {
			t.Errorf("step %d: %d keys of stages remain", at, n)
		}
		put(t, s, "after", "1")
		mustClose(t, s)
		if finished {
			break
		}
	}
	if nothing < 3 || all < 5 {
		t.Errorf("%d kills left nothing, %d all: the kills missed their places", nothing, all)
	}
}

// A child is killed from outside, at any moment of a batch of 30 MB.
func TestKillInALargeBatch(t *testing.T) {
	if testing.Short() {
		t.Skip("writes more than 100 MB")
	}
	const keys, size = 60_000, 490
	rnd := rand.New(rand.NewPCG(1, 2))
	nothing, all := 0, 0
	var took time.Duration
	for round := range 4 {
		dir := filepath.Join(t.TempDir(), "store")
		cmd, out := child(t, "large", dir, keys, size, 0)
		if !out.Scan() || out.Text() != "ready" {
			t.Fatalf("the child says %q", out.Text())
		}
		start := time.Now()
		switch round {
		case 0: // measures, and is killed after the acknowledgement
			if !out.Scan() || !strings.HasPrefix(out.Text(), "done") {
				t.Fatalf("the child says %q", out.Text())
			}
			took = time.Since(start)
		case 1: // killed at once
		default:
			timer := time.NewTimer(time.Duration(float64(took) * (0.1 + 0.9*rnd.Float64())))
			<-timer.C
		}
		_ = cmd.Process.Kill()
		acked := round == 0
		for out.Scan() {
			acked = acked || strings.HasPrefix(out.Text(), "done")
		}
		_ = cmd.Wait()
		s := open(t, dir, Options{})
		switch n := countNumbered(t, s, size); {
		case n == keys:
			all++
		case n != 0 || acked:
			t.Errorf("round %d: %d of %d keys, acknowledged: %v", round, n, keys, acked)
		default:
			nothing++
		}
		mustClose(t, s)
	}
	t.Logf("a batch took %s; %d kills left nothing, %d all", took, nothing, all)
	if nothing == 0 || all == 0 {
		t.Error("the kills missed one of the outcomes")
	}
}

// A child is killed while it appends; every batch it called durable is there, and none is missing
// before the last.
func TestKillWhileAppending(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	rnd := rand.New(rand.NewPCG(3, 4))
	total, torn := 0, 0
	for round := range 8 {
		cmd, out := child(t, "small", dir)
		acked := -1
		for wait := 20 + rnd.IntN(150); out.Scan(); {
			line := out.Text()
			if line == "ready" {
				continue
			}
			n, err := strconv.Atoi(line)
			if err != nil {
				t.Fatalf("the child says %q", line)
			}
			acked = n
			if wait--; wait == 0 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		s := open(t, dir, Options{Report: func(string) { torn++ }})
		n, err := countChain(s)
		if err != nil || n <= acked {
			t.Errorf("round %d: %d batches found, the last acknowledged is number %d, %v", round, n, acked, err)
		}
		if acked < total {
			t.Errorf("round %d: acknowledged %d after %d were found", round, acked, total)
		}
		total = n
		mustClose(t, s)
	}
	t.Logf("%d batches over 8 kills; the log was torn %d times", total, torn)
}

// Open holds while the stage of a crash is copied, so the large value of a stage is read back too.
func TestStageWithSplitValuesIsFinished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	var images []string
	s.step = func() { images = append(images, crashImage(t, s)) }
	if err := s.Append(t.Context(), numbered(7, 400_000)); err != nil {
		t.Fatal(err)
	}
	all := 0
	for i, image := range images {
		r := open(t, image, Options{})
		n := countNumbered(t, r, 400_000)
		if n == 7 {
			all++
		} else if n != 0 {
			t.Errorf("image %d: %d of 7 keys", i, n)
		}
		mustClose(t, r)
	}
	if all < 3 || all == len(images) {
		t.Errorf("%d of %d images have the batch", all, len(images))
	}
}

func countSpace(t *testing.T, s *Store, space byte) int {
	t.Helper()
	n := 0
	if err := s.each([]byte{space}, countItem(&n)); err != nil {
		t.Error(err)
	}
	return n
}

func countItem(n *int) func(*badger.Txn, *badger.Item) error {
	return func(*badger.Txn, *badger.Item) error {
		*n++
		return nil
	}
}
