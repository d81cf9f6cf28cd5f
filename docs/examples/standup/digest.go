// Command standup is an extension for chaz-peer: who wrote how much in a session, and a second look before
// a tool does something that can't be taken back. It is built as a WebAssembly module.
//
// What it does lives in digest.go, plain Go; its exports, each of which takes one JSON object and returns
// one, in main.go; asking the host for something in host.go. What may not live here: anything that the
// manifest does not declare.
package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// entry is one entry of the session as the host gives it.
type entry struct {
	Sender    string `json:"sender"`
	Content   string `json:"content"`
	Timestamp string `json:"timestamp"` // RFC 3339
	EntryType string `json:"entry_type"`
}

// share is what one person wrote.
type share struct {
	who      string
	messages int
	last     entry
}

// shares counts the messages of each sender, the busiest first.
func shares(entries []entry) []share {
	var out []share
	for _, e := range entries {
		if e.EntryType != "message" {
			continue
		}
		i := slices.IndexFunc(out, func(s share) bool { return s.who == e.Sender })
		if i < 0 {
			out = append(out, share{who: e.Sender})
			i = len(out) - 1
		}
		out[i].messages++
		out[i].last = e
	}
	slices.SortStableFunc(out, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.messages, a.messages), cmp.Compare(a.who, b.who))
	})
	return out
}

// digest writes the shares for people and models.
func digest(entries []entry, who string) string {
	var b strings.Builder
	for _, s := range shares(entries) {
		if who != "" && !strings.EqualFold(s.who, who) {
			continue
		}
		fmt.Fprintf(&b, "%s: %d, last: %s\n", s.who, s.messages, short(s.last.Content))
	}
	if b.Len() == 0 {
		return "Nobody has written anything yet."
	}
	return strings.TrimRight(b.String(), "\n")
}

// summary is the one line behind the conversation.
func summary(entries []entry) string {
	all := shares(entries)
	n := 0
	for _, s := range all {
		n += s.messages
	}
	return fmt.Sprintf("Standup: %d messages by %d people.", n, len(all))
}

// danger returns the first phrase that a tool call contains.
func danger(args string, phrases []string) (string, bool) {
	for _, p := range phrases {
		if p != "" && strings.Contains(args, p) {
			return p, true
		}
	}
	return "", false
}

func short(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	if r := []rune(line); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return line
}
