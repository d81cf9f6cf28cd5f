package main

import (
	"fmt"
	"html"
	"strings"
)

// drawing is an SVG picture that grows. Text is escaped here and nowhere else.
type drawing struct{ b strings.Builder }

// rect draws a box; tip is shown when somebody points at it.
func (d *drawing) rect(class string, x, y, w, h float64, tip string) {
	fmt.Fprintf(&d.b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2"`, class, x, y, max(w, 0.5), h)
	d.end("rect", tip)
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.b, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func (d *drawing) dot(class string, x, y, r float64, tip string) {
	fmt.Fprintf(&d.b, `<circle class="%s" cx="%.1f" cy="%.1f" r="%.1f"`, class, x, y, r)
	d.end("circle", tip)
}

func (d *drawing) text(class string, x, y float64, text string) {
	fmt.Fprintf(&d.b, `<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x, y, escaped(text))
}

func (d *drawing) end(name, tip string) {
	if tip == "" {
		d.b.WriteString("/>")
		return
	}
	fmt.Fprintf(&d.b, "><title>%s</title></%s>", escaped(tip), name)
}

// whole is the picture as an element of a page.
func (d *drawing) whole(class, label string, w, h float64) string {
	return fmt.Sprintf(`<svg class="%s" role="img" aria-label="%s" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">%s</svg>`,
		class, escaped(label), w, h, w, h, d.b.String())
}

// escaped is text for an element or an attribute in quotes.
func escaped(s string) string { return html.EscapeString(cleanText(s)) }

// textWide is about how wide a small text is.
func textWide(s string) float64 { return 6.1 * float64(len([]rune(s))) }
