package fs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// replacement puts one text in the place of another.
type replacement struct{ old, new string }

// errOnce: an old text does not name exactly one place.
var errOnce = errors.New("old_text must occur exactly once")

// splice makes all replacements or none. Each old text is looked for in the text as it was, so that
// no replacement can hit what another one has put there; two that would overlap are an error. The
// original is not changed.
func splice(text []byte, edits []replacement) ([]byte, error) {
	type span struct{ from, to, edit int }
	spans := make([]span, len(edits))
	for i, e := range edits {
		if e.old == "" {
			return nil, fmt.Errorf("%sold_text is empty: %w", label(i, len(edits)), errOnce)
		}
		old := []byte(e.old)
		switch n := bytes.Count(text, old); n {
		case 0:
			return nil, fmt.Errorf("%sold_text was not found: %w", label(i, len(edits)), errOnce)
		case 1:
			from := bytes.Index(text, old)
			spans[i] = span{from, from + len(old), i}
		default:
			return nil, fmt.Errorf("%sold_text occurs %d times: %w", label(i, len(edits)), n, errOnce)
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out []byte
	at := 0
	for i, s := range spans {
		if s.from < at {
			a, b := min(s.edit, spans[i-1].edit), max(s.edit, spans[i-1].edit)
			return nil, fmt.Errorf("edits %d and %d overlap", a+1, b+1)
		}
		out = append(append(out, text[at:s.from]...), edits[s.edit].new...)
		at = s.to
	}
	return append(out, text[at:]...), nil
}

// label names edit i, from 1, where there are several.
func label(i, n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("edit %d: ", i+1)
}
