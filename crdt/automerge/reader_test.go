package automerge

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	binding "github.com/automerge/automerge-go"
)

func TestChildReadsEveryValue(t *testing.T) {
	child := again(t, readMode)
	for _, kind := range kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel() // under the race detector a process takes a second to end
			doc, want := sample(t, kind)
			got, err := child.Values(t.Context(), doc.Save())
			check(t, err)
			sameStores(t, string(kind), got, want)
		})
	}
}

func TestChildReadsTextsAndDocumentsWithoutStores(t *testing.T) {
	child := again(t, readMode)
	doc := binding.New()
	check(t, doc.Path("entries", "a").Set(binding.NewText("“ünïcode” 🙂")))
	check(t, doc.Path("entries", "b").Set("plain <&> \x00"))
	got, err := child.Values(t.Context(), doc.Save())
	check(t, err)
	sameStores(t, "texts", got, Stores{"entries": {"a": "“ünïcode” 🙂", "b": "plain <&> \x00"}})

	got, err = child.Values(t.Context(), binding.New().Save())
	check(t, err)
	sameStores(t, "nothing", got, Stores{})
}

func TestChildRefuses(t *testing.T) {
	child := again(t, readMode)
	good := binding.New()
	check(t, good.Path("entries", "a").Set("text"))
	_, err := child.Values(t.Context(), good.Save())
	check(t, err)

	withRoot := func(value any) []byte {
		doc := binding.New()
		check(t, doc.RootMap().Set("entries", value))
		return doc.Save()
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":       {nil, "it is empty"},
		"garbage":     {[]byte("{}"), "read Automerge file"},
		"truncated":   {good.Save()[:len(good.Save())-1], "read Automerge file"},
		"flipped":     {flipped(good.Save()), "read Automerge file"},
		"number":      {withRoot(map[string]any{"a": int64(1)}), `key "a" holds KindInt64, want a string`},
		"nested":      {withRoot(map[string]any{"a": map[string]any{}}), `key "a" holds KindMap, want a string`},
		"list":        {withRoot([]any{"a"}), `"entries" holds KindList, want a map`},
		"root scalar": {withRoot("a"), `"entries" holds KindStr, want a map`},
		"too large":   {make([]byte, MaxFile+1), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := child.Values(t.Context(), c.file)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "died") {
				t.Errorf("got %v and %v, want an error with %q", got, err, c.want)
			}
		})
	}
}

// testdata/aborts.automerge is a small document with a few bytes changed and the checksum put right;
// the core ends the process that loads it.
func TestChildDiesInsteadOfThisProcess(t *testing.T) {
	file, err := os.ReadFile("testdata/aborts.automerge")
	check(t, err)
	_, err = again(t, readMode).Values(t.Context(), file)
	if err == nil || !strings.Contains(err.Error(), "died") || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("got %v, want that the process died, and of what", err)
	}
}

func TestChildIsStopped(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := again(t, hangMode).Values(ctx, []byte("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestChildThatIsNoReader(t *testing.T) {
	child := again(t, limitMode)
	child.Args = append(child.Args, "1")
	if _, err := child.Values(t.Context(), []byte("x")); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("got %v, want a complaint about its answer", err)
	}
	child.Path += "-is-not-there"
	if _, err := child.Values(t.Context(), []byte("x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
}

func TestReadingProcessIsLimitedInMemory(t *testing.T) {
	path := again(t, limitMode).Path
	if out, err := exec.Command(path, limitMode, "64").CombinedOutput(); err != nil {
		t.Fatalf("64 MiB: %v\n%s", err, out)
	}
	if out, err := exec.Command(path, limitMode, "4096").CombinedOutput(); err == nil {
		t.Errorf("4 GiB were given: %s", out)
	} else if !strings.Contains(string(out), "out of memory") && !strings.Contains(string(out), "failed to allocate") {
		// (the second are the words of the race detector)
		t.Errorf("the process ended, but not for want of memory: %s", out)
	}
}

func TestLimitedBuffer(t *testing.T) {
	calls := 0
	b := &limitedBuffer{limit: 4, full: func() { calls++ }}
	for _, s := range []string{"ab", "cd", "ef", "g"} {
		if n, err := b.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("write %q: %d, %v", s, n, err)
		}
		if wantOver := s >= "ef"; b.over != wantOver {
			t.Errorf("after %q: over %v, want %v", s, b.over, wantOver)
		}
	}
	if got := b.kept.String(); got != "abcd" || calls != 1 {
		t.Errorf("kept %q and told %d times, want \"abcd\" and 1", got, calls)
	}
}

func sameStores(t testing.TB, what string, got, want Stores) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d stores, want %d", what, len(got), len(want))
	}
	for name := range want {
		if !maps.Equal(got[name], want[name]) {
			t.Errorf("%s: store %s holds\n%q, want\n%q", what, name, got[name], want[name])
		}
	}
}
