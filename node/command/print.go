package command

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// clean makes a text from elsewhere fit for one line of a reply: runs of white space become one
// blank, control and formatting characters go, and it is cut to so many characters.
func clean(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf):
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// version prints the version of a reference; hashes are cut.
func version(ref extension.Ref) string {
	most := 64
	if k := ref.Kind(); k == extension.IPLD || k == extension.Git {
		most = 16
	}
	if v := clean(ref.Version(), most); v != "" {
		return v
	}
	return "?"
}

// ahead says how far a stamp lies in the future of this clock, or nothing.
func ahead(ts, now int64) string {
	if ts <= now {
		return ""
	}
	return fmt.Sprintf(" (ahead of this clock by %s)", span(uint64(ts)-uint64(now)))
}

// span prints a length of time given in milliseconds.
func span(ms uint64) string {
	const minute, hour, day = 60_000, 3_600_000, 86_400_000
	switch {
	case ms < minute:
		return fmt.Sprintf("%d.%03ds", ms/1000, ms%1000)
	case ms < hour:
		return fmt.Sprintf("%dm%ds", ms/minute, ms%minute/1000)
	case ms < 2*day:
		return fmt.Sprintf("%dh%dm", ms/hour, ms%hour/minute)
	}
	return fmt.Sprintf("%d days", ms/day)
}

// signer prints who signed a row, with the offset of his clock where it is known.
func (r *Runner) signer(id crdt.PeerID) string {
	if id == r.cfg.Self {
		return "this peer"
	}
	if id.IsZero() {
		return "an unknown peer"
	}
	who := "peer …" + id.Short()
	if name := clean(r.cfg.Peers.Petname(id), 64); name != "" {
		who = name
	}
	ms, known := r.cfg.Peers.ClockOffset(id)
	switch {
	case !known || ms == 0:
		return who
	case ms < 0:
		return fmt.Sprintf("%s (its clock is %s behind)", who, span(-uint64(ms)))
	}
	return fmt.Sprintf("%s (its clock is %s ahead)", who, span(uint64(ms)))
}

// cleanText takes control characters out of a text of several lines.
func cleanText(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf) {
			return -1
		}
		return r
	}, strings.TrimRight(s, "\n"))
}
