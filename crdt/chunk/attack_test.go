package chunk_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt/chunk"
)

// The attack feeds mutated chunks with right checksums to the core in throw-away processes: this
// test binary, told by the environment to be a child. Behind the gate no input may abort the process,
// be ignored, or leave a document that does not survive saving. The control feeds a sample of what
// the gate refuses and must see the core fail.
//
// CHAZ_ATTACK=N sets the number of mutations.
const (
	attackSize    = "CHAZ_ATTACK"
	attackChild   = "CHAZ_ATTACK_CHILD" // mode:first:end
	perWorld      = 40
	controlSample = 25 // every 25th refused mutation
)

func TestMain(m *testing.M) {
	if job := os.Getenv(attackChild); job != "" {
		runAttackChild(job)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// outcome of one input that reached the core.
const (
	outcomeKept     = "kept"
	outcomeIgnored  = "ignored"
	outcomePoisoned = "poisoned"
	outcomeAborted  = "aborted"
)

func TestAttack(t *testing.T) {
	total := 20000
	if s := os.Getenv(attackSize); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("%s: %v", attackSize, err)
		}
		total = n
	}
	t.Run("gated", func(t *testing.T) {
		t.Parallel()
		got := attack(t, "gated", total)
		t.Logf("%d tried, %v", total, got)
		if got[outcomeAborted]+got[outcomePoisoned]+got[outcomeIgnored] != 0 {
			t.Errorf("the core failed on changes that passed the gate")
		}
		if got[outcomeKept] < total/20 {
			t.Errorf("only %d of %d mutations passed the gate: too few to tell", got[outcomeKept], total)
		}
	})
	t.Run("control", func(t *testing.T) {
		t.Parallel()
		got := attack(t, "control", min(total/5, 40000))
		t.Logf("every %dth of what is refused: %v", controlSample, got)
		if got[outcomeAborted] == 0 || got[outcomePoisoned] == 0 {
			t.Errorf("the core took everything: the attack does not attack")
		}
	})
}

// attack runs inputs 0 to total in children and counts the outcomes. A child that dies is replaced by
// one that starts behind the input that killed it.
func attack(t *testing.T, mode string, total int) map[string]int {
	counts := map[string]int{}
	for next := 0; next < total; {
		job := fmt.Sprintf("%s:%d:%d", mode, next, total)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), attackChild+"="+job)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pending, ended := readChild(out, counts)
		err = cmd.Wait()
		var exit *exec.ExitError
		switch {
		case err == nil && ended:
			return counts
		case errors.As(err, &exit) && pending >= next:
			counts[outcomeAborted]++
			if mode == "gated" {
				t.Errorf("input %d killed the core: %s", pending, firstLines(stderr.String()))
			}
			next = pending + 1
		default:
			t.Fatalf("child %s: %v: %s", job, err, firstLines(stderr.String()))
		}
	}
	return counts
}

func readChild(r io.Reader, counts map[string]int) (pending int, ended bool) {
	pending = -1
	for s := bufio.NewScanner(r); s.Scan(); {
		f := strings.Fields(s.Text())
		switch {
		case len(f) == 1 && f[0] == "end":
			ended = true
		case len(f) == 2 && f[1] == "start":
			pending, _ = strconv.Atoi(f[0])
		case len(f) >= 2:
			counts[f[1]]++
			pending = -1
		}
	}
	return pending, ended
}

func firstLines(s string) string {
	if len(s) > 600 {
		return s[:600] + "…"
	}
	return s
}

func runAttackChild(job string) {
	f := strings.Split(job, ":")
	first, _ := strconv.Atoi(f[1])
	end, _ := strconv.Atoi(f[2])
	t := &childTB{}
	for id := first; id < end; {
		w := newWorld(t, uint64(id/perWorld))
		for stop := min(end, (id/perWorld+1)*perWorld); id < stop; id++ {
			raw := w.mutant(id)
			if raw == nil {
				continue
			}
			passes := w.judge(raw) == nil
			if passes != (f[0] == "gated") || !passes && id%controlSample != 0 {
				continue
			}
			fmt.Printf("%d start\n", id)
			fmt.Printf("%d %s\n", id, w.apply(raw))
		}
		runtime.GC()
	}
	fmt.Println("end")
}

// childTB lets the helpers of tests run in the child, where a failure is the end.
type childTB struct{ testing.TB }

func (*childTB) Helper() {}
func (*childTB) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(3)
}
func (c *childTB) Fatalf(format string, args ...any) { c.Fatal(fmt.Sprintf(format, args...)) }

// judge is the way of bytes from outside to the core.
func (w *world) judge(raw []byte) error {
	c, err := chunk.New().Decode(w.kind, raw)
	if err != nil {
		return err
	}
	return w.all.gate.Check(c)
}
