package extension

import (
	"strings"
	"unicode"
)

// VisibleText is what people are shown and models are told of a text that came with code: valid UTF-8, at
// most limit characters and a "…", without control, bidirectional and invisible characters. Line breaks
// stay as "\n", all other white space becomes a blank.
func VisibleText(s string, limit int) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(s, ""))
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t' || unicode.Is(unicode.Zs, r):
			return ' '
		case invisible(r):
			return -1
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// invisible reports whether r shows nothing of its own: controls, format characters (bidi, zero width,
// tags), line separators, fillers, variation selectors, and what is not assigned.
func invisible(r rune) bool {
	switch {
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x2800, r == 0x3164, r == 0xFFA0, r == unicode.ReplacementChar,
		r >= 0x180B && r <= 0x180F, r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	return !unicode.IsGraphic(r)
}
