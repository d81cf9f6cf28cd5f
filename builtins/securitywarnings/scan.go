package securitywarnings

import (
	"context"
	"regexp"
	"strings"
)

// reach is how many bytes a finding may have.
const reach = 1 << 10

// pattern is one way of giving instructions. A finding begins with one of the words; the expression
// then decides. Looking for the words first is ten times as fast as the expressions alone.
type pattern struct {
	name      string
	words     []string // in lower case, begin a finding in any case
	lineStart bool     // counts at the beginning of a line alone
	re        *regexp.Regexp
}

func patterns() []pattern {
	re := regexp.MustCompile
	return []pattern{
		{
			"role_marker",
			[]string{"system", "assistant", "user"},
			true,
			re(`(?i)^(?:system|assistant|user)[ \t]*:`),
		}, {
			"chat_template_token",
			[]string{"<|", "[inst]", "[/inst]", "<<sys>>", "<</sys>>", "<start_of_turn>", "<end_of_turn>"},
			false,
			re(`(?i)^(?:<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|endofprompt|eot_id|begin_of_text|end_of_text|start_header_id|end_header_id|end)\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>)`),
		}, {
			"instruction_override",
			[]string{"ignore", "disregard", "forget"},
			false,
			re(`(?i)^(?:ignore|disregard|forget)\s+(?:(?:all|any|the|of|your|my|these|those)\s+){0,4}(?:previous|prior|above|earlier|preceding)\b`),
		}, {
			"role_hijack",
			[]string{"you"},
			false,
			re(`(?i)^you\s+are\s+now\s+an?\b`),
		}, {
			"system_injection",
			[]string{"<system", "</system", "system"},
			false,
			re(`(?i)^(?:</?system\s*>|system\s+prompt\s*:)`),
		},
	}
}

// scanner finds patterns. It is not changed once it is made.
type scanner struct {
	patterns []pattern
	// starts holds, for each first byte, the words that begin with it.
	starts [256][]start
}

type start struct {
	word    string
	pattern int
}

func newScanner() *scanner {
	s := &scanner{patterns: patterns()}
	for i, p := range s.patterns {
		for _, w := range p.words {
			s.starts[w[0]] = append(s.starts[w[0]], start{w, i})
			if upper := strings.ToUpper(w[:1])[0]; upper != w[0] {
				s.starts[upper] = append(s.starts[upper], start{w, i})
			}
		}
	}
	return s
}

// find returns the names of the patterns that occur, in a fixed order. A long text is given up when
// ctx ends.
func (s *scanner) find(ctx context.Context, text string) ([]string, error) {
	seen := make([]bool, len(s.patterns))
	for i := range len(text) {
		if i%(64<<10) == 0 {
			if err := ctx.Err(); err != nil {
				return s.names(seen), err
			}
		}
		for _, st := range s.starts[text[i]] {
			if !seen[st.pattern] && hasPrefixFold(text[i:], st.word) {
				seen[st.pattern] = s.patterns[st.pattern].at(text, i)
			}
		}
	}
	return s.names(seen), nil
}

// at reports whether a finding begins at byte i.
func (p pattern) at(text string, i int) bool {
	if p.lineStart && !lineStart(text, i) || !p.lineStart && i > 0 && word(text[i]) && word(text[i-1]) {
		return false
	}
	return p.re.MatchString(text[i:min(i+reach, len(text))])
}

// lineStart reports whether only blanks stand between byte i and the beginning of its line.
func lineStart(text string, i int) bool {
	for i--; i >= 0; i-- {
		switch text[i] {
		case ' ', '\t':
		case '\n', '\r':
			return true
		default:
			return false
		}
	}
	return true
}

func word(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// hasPrefixFold is [strings.HasPrefix] for a prefix in lower case, in any case of ASCII.
func hasPrefixFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != prefix[i] {
			return false
		}
	}
	return true
}

func (s *scanner) names(seen []bool) []string {
	var out []string
	for i, p := range s.patterns {
		if seen[i] {
			out = append(out, p.name)
		}
	}
	return out
}
