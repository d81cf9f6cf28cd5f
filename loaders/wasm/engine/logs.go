package engine

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of what one call may log. What is beyond is counted and dropped.
const (
	maxLine  = 4 << 10 // bytes of one line
	maxLines = 1000
	maxLog   = 256 << 10 // bytes of all lines
)

// logs sends what a guest says to its [Host], line by line, made printable and bounded. One instance has
// one; it is not safe for concurrent use.
type logs struct {
	in          *instance
	lines, size int
	dropped     int
	out, err    partial
}

// begin starts the count of a call.
func (l *logs) begin() { l.lines, l.size, l.dropped = 0, 0, 0 }

// end sends what has no end of line yet, and says how much was dropped.
func (l *logs) end() {
	l.out.flush()
	l.err.flush()
	if l.dropped > 0 {
		l.send("warn", fmt.Sprintf("%d more lines of this call were dropped", l.dropped))
	}
}

// line sends one entry; the ends of lines in it are made visible like other control characters.
func (l *logs) line(level string, text []byte) {
	if l.lines >= maxLines || l.size >= maxLog {
		l.dropped++
		return
	}
	s := printable(text, maxLine)
	l.lines++
	l.size += len(s)
	l.send(level, s)
}

func (l *logs) send(level, text string) { l.in.pool.opt.Host.Log(level, text) }

// partial is standard output or standard error: a writer that makes lines.
type partial struct {
	logs  *logs
	level string
	buf   []byte // the line that has no end yet
}

// Write never fails: a guest can't learn from it what is logged.
func (p *partial) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		part := rest[:min(len(rest), workStep)]
		rest = rest[len(part):]
		p.logs.in.work(len(part))
		p.add(part)
	}
	return len(b), nil
}

func (p *partial) add(b []byte) {
	for {
		line, rest, ok := bytes.Cut(b, []byte{'\n'})
		if room := maxLine + 1 - len(p.buf); room > 0 {
			p.buf = append(p.buf, line[:min(room, len(line))]...)
		}
		if !ok {
			return
		}
		b = rest
		p.logs.line(p.level, bytes.TrimSuffix(p.buf, []byte{'\r'}))
		p.buf = p.buf[:0]
	}
}

func (p *partial) flush() {
	if len(p.buf) > 0 {
		p.logs.line(p.level, p.buf)
		p.buf = p.buf[:0]
	}
}

// printable is text as it can be shown anywhere: what is not a printable character becomes an escape
// such as \x1b or \u202e, and what is longer than limit bytes is cut.
func printable(text []byte, limit int) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if b.Len()+n > limit {
			b.WriteString("…")
			break
		}
		switch {
		case r == '\t' || r == utf8.RuneError && n > 1:
			b.Write(text[:n])
		case r == utf8.RuneError:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case !strconv.IsPrint(r):
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.Write(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}
