package wasm

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// invisible reports whether a character shows nothing or changes how others are shown: control and
// format characters (bidirectional ones among them), variants, fillers, and what Unicode leaves for
// private use. They have no place in a text that people judge and models obey.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || r == utf8.RuneError ||
		0xfe00 <= r && r <= 0xfe0f || 0x180b <= r && r <= 0x180f || 0xe0100 <= r && r <= 0xe01ef || // variants
		r == 0x034f || r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 // fillers
}

// visible takes invisible characters out but for line ends and tabs, and cuts to limit characters.
func visible(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && invisible(r) {
			return -1
		}
		return r
	}, s)
	return cut(s, limit)
}

// line makes one line of a text: white space runs become one space, invisible characters go.
func line(s string, limit int) string {
	if len(s) > 4*limit+utf8.UTFMax { // what lies behind is cut off anyway
		s = s[:4*limit+utf8.UTFMax]
	}
	return cut(strings.Join(strings.Fields(visible(s, len(s))), " "), limit)
}

// cut shortens to limit characters.
func cut(s string, limit int) string {
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// redactor knows the values of the secrets that a guest was given, and takes them out of what it says.
// It finds a value as it was given, not one that was encoded.
type redactor struct {
	mu    sync.RWMutex
	names map[string]string // by value
	hider *strings.Replacer
}

// shortest is the length of the shortest value that is hidden; shorter ones are in every text.
const shortest = 4

// longLine is the length from which one line of a value counts as much as the whole.
const longLine = 16

func (r *redactor) add(name, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.names[value]; known || len(value) < shortest {
		return
	}
	if r.names == nil {
		r.names = map[string]string{}
	}
	r.names[value] = name
	for part := range strings.SplitSeq(value, "\n") { // it may be logged line by line
		if part = strings.TrimSpace(part); len(part) >= longLine {
			r.names[part] = name
		}
	}
	var pairs []string
	longest := func(a, b string) int { return len(b) - len(a) } // where one begins with another
	for _, v := range slices.SortedFunc(maps.Keys(r.names), longest) {
		pairs = append(pairs, v, "[secret "+strings.Trim(r.names[v], `"\`)+"]")
	}
	r.hider = strings.NewReplacer(pairs...)
}

func (r *redactor) hide(text string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.hider == nil {
		return text
	}
	return r.hider.Replace(text)
}

// hideJSON is hide for a JSON text; it reports whether something was hidden. A text that is none any
// more becomes null.
func (r *redactor) hideJSON(text json.RawMessage) (json.RawMessage, bool) {
	hidden := json.RawMessage(r.hide(string(text)))
	switch {
	case string(hidden) == string(text):
		return text, false
	case !json.Valid(hidden):
		return json.RawMessage("null"), true
	}
	return hidden, true
}
