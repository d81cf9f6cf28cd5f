package wasm

import (
	"fmt"
	"strings"
	"sync"
)

// LogLine is one line that a guest wrote.
type LogLine struct {
	Level string `json:"level"` // trace, debug, info, warn, error, stdout or stderr
	Text  string `json:"text"`
}

// How much of a guest's lines is kept.
const (
	maxLines    = 200
	maxLogBytes = 64 << 10
	maxLine     = 2 << 10
)

// ring keeps the last lines. The zero value is ready.
type ring struct {
	mu   sync.Mutex
	list []LogLine
	size int
}

// add takes a text of one or more lines. Only the end of a very long one is looked at.
func (r *ring) add(level, text string) {
	if over := len(text) - 2*maxLogBytes; over > 0 {
		text = text[over:]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for part := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		l := LogLine{Level: level, Text: escape(strings.TrimRight(part, "\r"))}
		r.list = append(r.list, l)
		r.size += len(l.Text)
		for len(r.list) > maxLines || r.size > maxLogBytes {
			r.size -= len(r.list[0].Text)
			r.list = r.list[1:]
		}
	}
}

func (r *ring) lines() []LogLine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]LogLine(nil), r.list...)
}

// escape writes what a terminal would obey in digits, and cuts.
func escape(s string) string {
	var b strings.Builder
	for _, c := range strings.ToValidUTF8(s, "�") {
		if b.Len() > maxLine {
			b.WriteString("…")
			break
		}
		switch {
		case c == '\t' || c == '�':
			b.WriteRune(c)
		case invisible(c):
			fmt.Fprintf(&b, `\u{%x}`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
