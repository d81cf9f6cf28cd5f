package main

import (
	"regexp"
	"strings"
)

// pageWidth is how wide running text is drawn.
const pageWidth = 78

// field is a label and its value.
type field struct{ label, value string }

// fields draws labels in a column, values beside them; empty values are left out. A line holds a
// SHA-256 in hex.
func (p *page) fields(all []field) {
	for _, f := range all {
		for i, l := range wrap(f.value, 64) {
			if i > 0 {
				f.label = ""
			}
			p.line(plain, "  %-12s %s", f.label, l)
		}
	}
}

// head is a heading with a free line above it.
func (p *page) head(text string) {
	p.line(plain, "")
	p.line(bold, "%s", clean(text))
}

// bullet is one item of a list.
func (p *page) bullet(s style, text string) { p.mark(s, "• ", text) }

// mark is an item behind a mark of two columns.
func (p *page) mark(s style, mark, text string) {
	for i, l := range wrap(text, pageWidth-4) {
		if i > 0 {
			mark = "  "
		}
		p.line(s, "  %s%s", mark, l)
	}
}

// wrapped is running text under an indent.
func (p *page) wrapped(s style, indent, text string) {
	for _, l := range wrap(text, pageWidth-len(indent)) {
		p.line(s, "%s%s", indent, l)
	}
}

// wrap cleans text and breaks it into lines of at most width columns, in the middle of a word if it
// must: text of a stranger that the terminal breaks would begin at the left edge, where headings are.
func wrap(text string, width int) []string {
	var lines []string
	var b strings.Builder
	used := 0
	flush := func() {
		if used > 0 {
			lines = append(lines, b.String())
		}
		b.Reset()
		used = 0
	}
	for _, word := range strings.Fields(clean(text)) {
		if n := columns(word); used > 0 && used+1+n > width {
			flush()
		}
		if used > 0 {
			b.WriteByte(' ')
			used++
		}
		for _, r := range word {
			if used+runeColumns(r) > width {
				flush()
			}
			b.WriteRune(r)
			used += runeColumns(r)
		}
	}
	flush()
	return lines
}

func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// runeColumns is how wide a character is at most. From the first wide block on all count as wide.
func runeColumns(r rune) int {
	if r >= 0x1100 {
		return 2
	}
	return 1
}

// bare is an argument that every shell takes as it stands.
var bare = regexp.MustCompile(`^[A-Za-z0-9_@+:,./-][A-Za-z0-9_@%+=:,./#-]*$`)

// shellWord is an argument as it is typed in a shell.
func shellWord(s string) string {
	if bare.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shellLine are arguments as they are typed.
func shellLine(words []string) string {
	typed := make([]string, len(words))
	for i, w := range words {
		typed[i] = shellWord(w)
	}
	return clean(strings.Join(typed, " "))
}

// commandLine is a command of this program as a person types it.
func commandLine(words ...string) string { return "chaz-peer " + shellLine(words) }
