package bank

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes text from elsewhere fit for one line: valid UTF-8, control and bidirectional characters
// replaced, since they could move the cursor or reorder what is read, line breaks and tabs as blanks,
// at most n characters and then "…".
func Line(s string, n int) string {
	return clean(s, n, func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	})
}

// Text is [Line] for text of several lines.
func Text(s string, n int) string {
	return clean(strings.ReplaceAll(s, "\r\n", "\n"), n, func(r rune) rune { return r })
}

// Name is the form in which names and ids from elsewhere are shown.
func Name(s string) string { return strings.TrimSpace(Line(s, maxName)) }

const maxName = 80

func clean(s string, n int, breaks func(rune) rune) string {
	var b strings.Builder
	b.Grow(min(len(s), n+utf8.UTFMax))
	for _, r := range s { // bytes that are no UTF-8 come as U+FFFD
		if n--; n < 0 {
			b.WriteRune('…')
			break
		}
		if r = breaks(r); r != '\n' && r != '\t' && hostile(r) {
			r = unicode.ReplacementChar
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hostile(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
