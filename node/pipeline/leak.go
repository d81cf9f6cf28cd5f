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

// leakPattern is one kind of secret. The expression begins with a literal, which makes the search for
// it fast.
type leakPattern struct {
	name string
	re   *regexp.Regexp
	fold bool // in any case; the expression is for a text in lower case
	keys bool // the ends of private keys
}

// scanner finds secrets in texts. The patterns have no word boundary in front: a secret behind an
// escape ("\nsk-…") or a prefix is one too, and a name that looks like one costs little.
type scanner []leakPattern

func newScanner() scanner {
	p := func(name, re string) leakPattern { return leakPattern{name: name, re: regexp.MustCompile(re)} }
	s := scanner{
		p("anthropic_key", `sk-ant-[A-Za-z0-9_-]{20,}`),
		p("openrouter_key", `sk-or-v1-[0-9A-Fa-f]{64}`),
		p("openai_project_key", `sk-proj-[A-Za-z0-9_-]{20,}`),
		p("openai_key", `sk-[A-Za-z0-9]{20,}`),
		p("github_token", `ghp_[A-Za-z0-9]{36,}`),
		p("github_token", `ghs_[A-Za-z0-9]{36,}`),
		p("github_fine_grained_token", `github_pat_[A-Za-z0-9_]{22,}`),
		p("aws_access_key", `AKIA[0-9A-Z]{16}`),
		p("slack_token", `xox[bpoas]-[A-Za-z0-9-]{10,}`),
		p("sendgrid_key", `SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`),
		{name: "bearer_token", re: regexp.MustCompile(`bearer +[a-z0-9._~+/=-]{20,}`), fold: true},
		{re: regexp.MustCompile(`-----(?:BEGIN|END) (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`), keys: true},
	}
	for _, prefix := range []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"} {
		s = append(s, p("stripe_key", prefix+`[A-Za-z0-9]{20,}`))
	}
	return s
}

// lower is strings.ToLower for ASCII letters alone, so that places stay the same.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
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
		if p.keys {
			found = append(found, keyBlocks(text, p.re)...)
			continue
		}
		in := text
		if p.fold {
			in = lower(text)
		}
		for _, m := range p.re.FindAllStringIndex(in, -1) {
			found = append(found, span{m[0], m[1], p.name})
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
