package pipeline

import (
	"regexp"
	"slices"
	"strings"
)

// LeakMode is what happens to what looks like a secret.
type LeakMode string

// The modes. Redact puts "[REDACTED:<pattern>]" in its place; Block withholds the whole text.
const (
	Redact LeakMode = "redact"
	Block  LeakMode = "block"
)

// leakPattern is one kind of secret. The literal is what every match holds, for a quick no.
type leakPattern struct {
	name, literal string
	re            *regexp.Regexp
}

// scanner finds secrets in texts. The patterns have no word boundary in front: a secret behind an
// escape ("\nsk-…") or a prefix is one too, and a name that looks like one costs little.
type scanner []leakPattern

func newScanner() scanner {
	p := func(name, literal, re string) leakPattern {
		return leakPattern{name, literal, regexp.MustCompile(re)}
	}
	return scanner{
		p("anthropic_key", "sk-ant-", `sk-ant-[A-Za-z0-9_-]{20,}`),
		p("openrouter_key", "sk-or-v1-", `sk-or-v1-[0-9A-Fa-f]{64}`),
		p("openai_project_key", "sk-proj-", `sk-proj-[A-Za-z0-9_-]{20,}`),
		p("openai_key", "sk-", `sk-[A-Za-z0-9]{20,}`),
		p("github_token", "gh", `gh[ps]_[A-Za-z0-9]{36,}`),
		p("github_fine_grained_token", "github_pat_", `github_pat_[A-Za-z0-9_]{22,}`),
		p("aws_access_key", "AKIA", `AKIA[0-9A-Z]{16}`),
		p("stripe_key", "k_", `[sr]k_(?:live|test)_[A-Za-z0-9]{20,}`),
		p("slack_token", "xox", `xox[bpoas]-[A-Za-z0-9-]{10,}`),
		p("bearer_token", "", `(?i:bearer) +[A-Za-z0-9._~+/=-]{20,}`),
		p("sendgrid_key", "SG.", `SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`),
		p("", "PRIVATE KEY", `-----(?:BEGIN|END) (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`), // the ends of a block
	}
}

// leakSlack is how far behind the end of what is kept the scan looks, so that a secret that is cut
// there is found. Longer than the shortest match of any pattern.
const leakSlack = 4 << 10

type span struct {
	from, to int
	name     string
}

// clean returns the first limit bytes of a text with secrets replaced, the names of the patterns that
// were found, sorted, and whether the text was longer.
func (s scanner) clean(text string, limit int) (out string, names []string, cut bool) {
	if len(text) > limit+leakSlack {
		text, cut = text[:limit+leakSlack], true
	}
	found := s.find(text)
	end := len(text)
	if end > limit {
		end, cut = runeStart(text, limit), true
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		if f.from >= end {
			break
		}
		names = append(names, f.name)
		if f.from < at {
			at = max(at, f.to) // overlaps the one before
			continue
		}
		b.WriteString(text[at:f.from])
		b.WriteString("[REDACTED:" + f.name + "]")
		at = f.to
	}
	if at < end {
		b.WriteString(text[at:end])
	}
	slices.Sort(names)
	return b.String(), slices.Compact(names), cut
}

// find returns all matches by their start, of equal starts the longest first.
func (s scanner) find(text string) []span {
	var found []span
	for _, p := range s {
		switch {
		case !strings.Contains(text, p.literal):
		case p.name == "":
			found = append(found, keyBlocks(text, p.re)...)
		default:
			for _, m := range p.re.FindAllStringIndex(text, -1) {
				found = append(found, span{m[0], m[1], p.name})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	return found
}

// keyBlocks finds private keys as whole blocks. One that is not ended goes as far as its text looks
// like a key. By hand, since one regular expression for it all needs quadratic time for many heads.
func keyBlocks(text string, mark *regexp.Regexp) (found []span) {
	marks := mark.FindAllStringIndex(text, -1)
	ends := func(i int) bool { return strings.HasPrefix(text[marks[i][0]:], "-----END") }
	lastEnd := len(marks) - 1
	for lastEnd >= 0 && !ends(lastEnd) {
		lastEnd--
	}
	for i := 0; i < len(marks); i++ {
		if ends(i) {
			continue
		}
		from, to := marks[i][0], marks[i][1]
		name := "pem_private_key"
		if strings.Contains(text[from:to], "OPENSSH") {
			name = "openssh_private_key"
		}
		if i < lastEnd {
			for !ends(i) {
				i++
			}
			to = marks[i][1]
		} else {
			next := len(text)
			if i+1 < len(marks) {
				next = marks[i+1][0]
			}
			to += keyText(text[to:next])
		}
		found = append(found, span{from, to, name})
	}
	return found
}

// keyText is the length of what looks like the inside of a key: lines of base64, perhaps quoted, and
// headers such as "Proc-Type: 4,ENCRYPTED". Line ends may be escaped.
func keyText(s string) int {
	end, inKey := 0, false
	for at := 0; at < len(s); {
		line, width := firstLine(s[at:])
		text := strings.Trim(line, " \t\r\"'`,+|>#*")
		base64 := text != "" && strings.IndexFunc(text, func(r rune) bool { return !base64Rune(r) }) < 0
		switch {
		case base64 && len(text) >= 16:
			end, inKey = at+len(line), true
		case base64 && (inKey || at+len(line) == len(s)):
			return at + len(line) // the last line is shorter
		case text != "" && (inKey || !keyHeader(text)):
			return end
		}
		at += width
	}
	return end
}

// firstLine returns the first line and its length with its end, a real or an escaped one.
func firstLine(s string) (line string, width int) {
	line, _, _ = strings.Cut(s, "\n")
	if i := strings.Index(line, `\n`); i >= 0 {
		return strings.TrimSuffix(line[:i], `\r`), i + 2
	}
	return line, len(line) + 1
}

func keyHeader(line string) bool {
	name, _, ok := strings.Cut(line, ": ")
	return ok && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz-") == ""
}

func base64Rune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '+' || r == '/' || r == '='
}
