package badger

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Tests start this test binary again as a child that they can kill. childEnv names what it does.
const childEnv = "CHAZ_BADGER_TEST_CHILD"

func TestMain(m *testing.M) {
	if what, ok := os.LookupEnv(childEnv); ok {
		if err := runChild(strings.Fields(what)); err != nil {
			fmt.Println("error:", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runChild: "open DIR", "small DIR", "large DIR KEYS SIZE KILL-AT-STEP".
func runChild(args []string) error {
	s, err := Open(args[1], Options{})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	switch args[0] {
	case "open":
		return s.Close()
	case "small":
		return childSmall(s)
	}
	keys, _ := strconv.Atoi(args[2])
	size, _ := strconv.Atoi(args[3])
	at, _ := strconv.Atoi(args[4])
	steps := 0
	s.step = func() {
		if steps++; steps == at {
			killSelf()
		}
	}
	if err := s.Append(context.Background(), numbered(keys, size)); err != nil {
		return err
	}
	fmt.Println("done", steps)
	_, err = bufio.NewReader(os.Stdin).ReadByte() // until killed
	return err
}

func killSelf() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

// childSmall appends for ever, batch n after the last one found, and says which are durable.
func childSmall(s *Store) error {
	n, err := countChain(s)
	if err != nil {
		return err
	}
	for ; ; n++ {
		if err := s.Append(context.Background(), chainBatch(n)); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// chainBatch is the n-th batch of a history: a key of its own and, at times, a split value.
func chainBatch(n int) *crdt.Batch {
	var b crdt.Batch
	b.Put(fmt.Appendf(nil, "chain/%08d", n), fmt.Appendf(make([]byte, 300), "%d", n))
	if n%40 == 7 {
		b.Put([]byte("chain-split"), binary.BigEndian.AppendUint64(make([]byte, 100_000+n), uint64(n)))
	}
	return &b
}

// countChain returns how many batches of the history are there, or what is wrong with it.
func countChain(s *Store) (int, error) {
	n := 0
	err := s.Scan(context.Background(), []byte("chain/"), nil, func(key, value []byte) error {
		if string(key) != fmt.Sprintf("chain/%08d", n) || string(value[300:]) != strconv.Itoa(n) {
			return fmt.Errorf("batch %d is missing, %s follows", n, key)
		}
		n++
		return nil
	})
	if err != nil {
		return n, err
	}
	last := (n-1-7)/40*40 + 7
	if n <= 7 {
		last = -1
	}
	v, err := s.Get(context.Background(), []byte("chain-split"))
	switch {
	case errors.Is(err, crdt.ErrNotFound) && last < 0:
		return n, nil
	case err != nil:
		return n, err
	case len(v) != 100_000+last+8 || binary.BigEndian.Uint64(v[len(v)-8:]) != uint64(last):
		return n, fmt.Errorf("with %d batches the split value has %d bytes", n, len(v))
	}
	return n, nil
}

// numbered is a batch of keys "n000000"…, each value of size bytes and ending in its number.
func numbered(keys, size int) *crdt.Batch {
	var b crdt.Batch
	for i := range keys {
		b.Put(fmt.Appendf(nil, "n%06d", i), binary.BigEndian.AppendUint32(make([]byte, size-4), uint32(i)))
	}
	return &b
}

// countNumbered returns how many keys of numbered are there, all with their value.
func countNumbered(t *testing.T, s *Store, size int) int {
	t.Helper()
	n := 0
	if err := s.Scan(context.Background(), []byte("n"), nil, func(key, v []byte) error {
		if len(v) != size || binary.BigEndian.Uint32(v[size-4:]) != uint32(n) || string(key) != fmt.Sprintf("n%06d", n) {
			return fmt.Errorf("%s has %d bytes, expected key %d", key, len(v), n)
		}
		n++
		return nil
	}); err != nil {
		t.Error(err)
	}
	return n
}

// child starts the test binary as a child; the lines it prints come from the scanner.
func child(t *testing.T, args ...any) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.TrimSpace(fmt.Sprintln(args...)))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil { // stays open until the child ends
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewScanner(out)
}

// open opens a store and closes it at the end of the test if the test has not.
func open(t testing.TB, dir string, opt Options) *Store {
	t.Helper()
	s, err := Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, errClosed) {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// mustClose closes the store inside a test.
func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, s *Store, key, value string) {
	t.Helper()
	var b crdt.Batch
	b.Put([]byte(key), []byte(value))
	if err := s.Append(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
}

// crashImage copies the directory of an open store: what a process killed now leaves behind.
func crashImage(t testing.TB, s *Store) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "image")
	if err := os.CopyFS(dir, os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// newestLog is the path of the last value log file of a store.
func newestLog(t testing.TB, dir string) string {
	t.Helper()
	files, err := logFiles(filepath.Join(dir, badgerFolder))
	if err != nil || len(files) == 0 {
		t.Fatalf("log files: %v, %v", files, err)
	}
	return logPath(filepath.Join(dir, badgerFolder), files[len(files)-1])
}
