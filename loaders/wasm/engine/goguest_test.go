package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// goGuests are built once for all tests of a run.
var goGuests = struct {
	sync.Mutex
	built map[string][]byte
}{built: map[string][]byte{}}

// goGuest builds the guest in a folder of testdata.
func goGuest(t testing.TB, name string) []byte {
	t.Helper()
	goGuests.Lock()
	defer goGuests.Unlock()
	if wasm := goGuests.built[name]; wasm != nil {
		return wasm
	}
	out := filepath.Join(t.TempDir(), name+".wasm")
	c := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildmode=c-shared", "-o", out, "./testdata/"+name)
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build guest: %v\n%s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	goGuests.built[name] = wasm
	return wasm
}
