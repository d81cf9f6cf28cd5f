package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// style is how a line looks on a terminal.
type style string

const (
	plain style = ""
	bold  style = "1"
	dim   style = "2"
	bad   style = "31"
	good  style = "32"
	warn  style = "33"
)

// paint colours text for a terminal, unless the person has asked for none.
func (a *app) paint(tty bool, s style, text string) string {
	if !tty || s == plain || a.env("NO_COLOR") != "" || a.env("TERM") == "dumb" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// show writes a result: with --json as one line, else what fill puts on the page.
func (a *app) show(v any, fill func(*page)) error {
	if a.json {
		return writeJSON(a.out, v)
	}
	p := &page{a: a}
	fill(p)
	if _, err := p.b.WriteTo(a.out); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// writeJSON writes one line of JSON with <, > and & left readable.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// page collects output for a person.
type page struct {
	a *app
	b bytes.Buffer
}

// line writes one line. Arguments that come from other peers must have gone through [clean].
func (p *page) line(s style, format string, args ...any) {
	fmt.Fprintln(&p.b, p.a.paint(p.a.outTTY, s, fmt.Sprintf(format, args...)))
}

// row is one line of a table.
type row struct {
	style style
	cells []string
	below []string // lines under the row: warnings, remedies
}

// table writes aligned columns under a head; cells are cleaned.
func (p *page) table(indent string, head []string, rows []row) {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	writeCells := func(cells []string) {
		for i, c := range cells {
			if c = clean(c); c == "" {
				c = "-"
			}
			if i > 0 {
				c = "\t" + c
			}
			fmt.Fprint(w, c)
		}
		fmt.Fprintln(w)
	}
	writeCells(head)
	for _, r := range rows {
		writeCells(r.cells)
	}
	_ = w.Flush() // into memory
	for i, l := range strings.Split(strings.TrimRight(b.String(), "\n"), "\n") {
		l = strings.TrimRight(l, " ")
		if i == 0 {
			p.line(dim, "%s%s", indent, l)
			continue
		}
		p.line(rows[i-1].style, "%s%s", indent, l)
		for _, below := range rows[i-1].below {
			p.line(plain, "%s    %s", indent, clean(below))
		}
	}
}

// clean makes text from elsewhere safe to show on one line of a terminal: control and bidirectional
// characters could move the cursor or reorder what is read. A line break becomes a blank.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case isHostile(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.TrimRight(s, "\r\n"))
}

// cleanText is [clean] for text of several lines.
func cleanText(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && isHostile(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

func isHostile(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// shortDoc is a document id cut to what a person types.
func shortDoc(id string) string { return cut(id, 10) }

// shortPeer is a peer id cut to a prefix that is still unique: all of them begin with the same 8
// characters.
func shortPeer(id string) string { return cut(id, 16) }

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n]
}

// called is a name with its id, or the id alone.
func called(name, short string) string {
	if name == "" {
		return short
	}
	return clean(name) + " (" + short + ")"
}

func plural(n int64, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(one, "y"))
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// when is a moment for a person; one that this clock has not reached is marked.
func (a *app) when(t control.Time) string {
	s := moment(t)
	if int64(t) > a.nowMS() {
		s += " (ahead of this clock)"
	}
	return s
}

// moment is a time to the second.
func moment(t control.Time) string {
	s := t.String()
	if len(s) == len("2006-01-02T15:04:05.000Z") {
		return s[:19] + "Z"
	}
	return s
}
