package loaders

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Text is the card for a terminal: plain text, no line of which could have come from the package itself
// without a mark before it.
func (c *Card) Text() string {
	var b strings.Builder
	title := c.Name
	if c.Version != "" {
		title += " " + c.Version
	}
	fmt.Fprintf(&b, "%s: %s\n", title, c.State)
	row := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-10s %s\n", key, value)
		}
	}
	row("why", c.Reason)
	row("yanked", c.Yanked)
	row("from", RefText(c.Ref))
	row("package", c.Root)
	row("sha256", c.SHA256)
	row("size", sizeText(c.Size)+", "+c.ABI)
	if c.Publisher == "" {
		row("publisher", "UNSIGNED: nobody vouches for it")
	} else {
		row("publisher", c.Publisher+" (the signature holds)")
	}
	if c.Synthetic {
		row("manifest", "none: a bare module, which gets tools and no powers")
	}
	row("license", oneLine(c.License))
	row("homepage", oneLine(c.Homepage))
	row("source", oneLine(c.Source))
	c.writeChanges(&b)
	section(&b, "It asks for", c.Powers, "no powers: no network, no files, no secrets, nothing of the conversation")
	if c.State == StateTrusted {
		section(&b, "It has here", c.Granted, "no powers")
	}
	section(&b, "Besides", c.Always, "")
	section(&b, "Where it lives", c.Scopes, "")
	c.writeTools(&b)
	var commands []string
	for _, cmd := range c.Commands {
		commands = append(commands, "/"+cmd.Name+"  "+cmd.Help)
	}
	section(&b, "Commands", commands, "")
	section(&b, "Settings and their defaults", c.Settings, "")
	section(&b, "Limits", c.Limits, "")
	c.writeNext(&b)
	return b.String()
}

// writeNext says what a person can do now.
func (c *Card) writeNext(b *strings.Builder) {
	if c.State != StatePending && c.State != StateNeedsReview {
		if c.Remedy != "" {
			b.WriteString("\nNext\n  " + c.Remedy + "\n")
		}
		return
	}
	b.WriteString("\nTo decide\n")
	powers := ""
	if len(c.Flags) > 0 {
		powers = "  with some of these, --caps all-requested or --no-caps"
	}
	b.WriteString("  chaz-peer ext trust " + c.Name + powers + "\n")
	for _, f := range c.Flags {
		b.WriteString("      --cap " + f + "\n")
	}
	b.WriteString("  chaz-peer ext deny " + c.Name + "\n")
}

func (c *Card) writeChanges(b *strings.Builder) {
	if c.Changes == nil {
		return
	}
	fmt.Fprintf(b, "\nChanged since it was trusted on %s: %s\n", when(c.Changes.Since), strings.Join(c.Changes.Parts, ", "))
	for _, s := range c.Changes.Added {
		item(b, "+", s)
	}
	for _, s := range c.Changes.Removed {
		item(b, "-", s)
	}
}

func (c *Card) writeTools(b *strings.Builder) {
	if len(c.Tools) == 0 && !c.Declared {
		b.WriteString("\nTools\n  not known yet: it lists them itself when it runs\n")
		return
	}
	var tools []string
	for _, t := range c.Tools {
		tools = append(tools, t.Name+"\n"+t.Description)
	}
	title := "Tools, with the words that the model reads"
	if !c.Declared {
		title += " (as it listed them now)"
	}
	section(b, title, tools, "none")
}

// section writes a list under a title; empty says what an empty one means, "" leaves it out.
func section(b *strings.Builder, title string, lines []string, empty string) {
	if len(lines) == 0 {
		if empty != "" {
			b.WriteString("\n" + title + "\n  " + empty + "\n")
		}
		return
	}
	b.WriteString("\n" + title + "\n")
	for _, l := range lines {
		item(b, "*", l)
	}
}

// item writes one entry; further lines of it are marked, so that none can pass for one of the card's own.
func item(b *strings.Builder, mark, text string) {
	b.WriteString("  " + mark + " " + strings.ReplaceAll(text, "\n", "\n    | ") + "\n")
}

// RefText is a reference as people type it: ipld:<cid>, git:<repo>@<sha>[#path=…], registry:<doc>@<version>;
// the JSON text where it is of another kind.
func RefText(ref extension.Ref) string {
	switch ref.Kind() {
	case extension.IPLD:
		return oneLine("ipld:" + ref.Version())
	case extension.Git:
		repo, fragment, has := strings.Cut(ref.Field("repo"), "#")
		text := "git:" + repo + "@" + ref.Version()
		if has {
			text += "#" + fragment
		}
		return oneLine(text)
	case extension.Eidetica:
		return oneLine("registry:" + ref.Field("db_id") + "@" + ref.Version())
	}
	return oneLine(ref.String())
}

func sizeText(n int64) string {
	unit := func(size float64, name string) string {
		return strings.TrimSuffix(strconv.FormatFloat(float64(n)/size, 'f', 1, 64), ".0") + " " + name
	}
	switch {
	case n >= 1<<20:
		return unit(1<<20, "MiB")
	case n >= 1<<10:
		return unit(1<<10, "KiB")
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
