package fs

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
)

func TestRead(t *testing.T) {
	const mark = "\n[cut here: the file has more than 50000 characters]"
	big := bytes.Repeat([]byte{0xff}, 100<<20)
	for name, c := range map[string]struct{ file, want string }{
		"empty":               {"", ""},
		"text":                {"a\nß\n", "a\nß\n"},
		"invalid bytes":       {"a\xffb\xc3", "a\uFFFDb\uFFFD"},
		"exactly full":        {strings.Repeat("€", 50_000), strings.Repeat("€", 50_000)},
		"one more":            {strings.Repeat("€", 50_001), strings.Repeat("€", 50_000) + mark},
		"four bytes each":     {strings.Repeat("🙂", 50_001), strings.Repeat("🙂", 50_000) + mark},
		"a character across":  {"x" + strings.Repeat("🙂", 60_000), "x" + strings.Repeat("🙂", 49_999) + mark},
		"100 MB of no UTF-8":  {string(big), strings.Repeat("\uFFFD", 50_000) + mark},
		"full with bad bytes": {strings.Repeat("\xff", 50_000), strings.Repeat("\uFFFD", 50_000)},
	} {
		w := newDesk(t, map[string]string{"f": c.file})
		got, err := w.call(t.Context(), "read_file", map[string]string{"path": "f"})
		if err != nil || got != c.want {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(c.want))
		}
	}
	w := newDesk(t, nil)
	if _, err := w.call(t.Context(), "read_file", map[string]string{"path": "f"}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "read f") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := w.call(t.Context(), "read_file", map[string]string{"path": "/etc/passwd"}); !errors.Is(err, extension.ErrGrant) || !strings.Contains(err.Error(), "read /etc/passwd") {
		t.Errorf("a file that is not granted: %v", err)
	}
}

func TestFirstChars(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "data")
		n := rapid.IntRange(0, 40).Draw(t, "n")
		all := []rune(string(data))
		got, cut := firstChars(data, n)
		want := string(all[:min(n, len(all))])
		if got != want || cut != (len(all) > n) || !utf8.ValidString(got) {
			t.Fatalf("%q, %v, want %q of %q", got, cut, want, string(all))
		}
	})
}
