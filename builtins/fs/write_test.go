package fs

import (
	"errors"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
)

func TestWrite(t *testing.T) {
	w := newDesk(t, map[string]string{"f": "what was there before"})
	for path, content := range map[string]string{"f": "größer\n", "new": "", "zero": "\x00"} {
		got, err := w.call(t.Context(), "write_file", map[string]string{"path": path, "content": content})
		if err != nil || string(w.files[path]) != content {
			t.Errorf("%s: %v, holds %q", path, err, w.files[path])
		}
		if want := map[string]string{"f": "Wrote 9 bytes to f.", "new": "Wrote 0 bytes to new.", "zero": "Wrote 1 bytes to zero."}[path]; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	_, err := w.call(t.Context(), "write_file", map[string]string{"path": "/etc/passwd", "content": "x"})
	if !errors.Is(err, extension.ErrGrant) || !strings.Contains(err.Error(), "write /etc/passwd") {
		t.Errorf("a file that is not granted: %v", err)
	}
	if _, err := w.call(t.Context(), "write_file", map[string]string{"path": "f"}); !errors.Is(err, extension.ErrArgument) || string(w.files["f"]) != "größer\n" {
		t.Errorf("without content: %v", err)
	}
}
