package securitywarnings

import (
	"context"
	"regexp"
)

// Texts are looked at in windows, so that a long one can be given up in time. A finding that is
// longer than the overlap can hide between two.
const (
	window  = 256 << 10
	overlap = 1 << 10
)

type pattern struct {
	name      string
	lineStart bool // counts at the beginning of a line alone
	re        *regexp.Regexp
}

type scanner []pattern

func newScanner() scanner {
	return scanner{
		{"role_marker", true, regexp.MustCompile(`(?im)^[ \t]*(?:system|assistant|user)[ \t]*:`)},
		{"chat_template_token", false, regexp.MustCompile(`(?i)<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|begin_of_text|end_of_text|start_header_id|end_header_id|end_of_turn|end)\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>`)},
		{"instruction_override", false, regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget)\s+(?:(?:all|any|the|of|your|my|these|those)\s+){0,4}(?:previous|prior|above|earlier|preceding)\b`)},
		{"role_hijack", false, regexp.MustCompile(`(?i)\byou\s+are\s+now\s+an?\b`)},
		{"system_injection", false, regexp.MustCompile(`(?i)</?system\s*>|\bsystem\s+prompt\s*:`)},
	}
}

// find returns the names of the patterns that occur, in a fixed order.
func (s scanner) find(ctx context.Context, text string) ([]string, error) {
	seen := make([]bool, len(s))
	for from := 0; from < len(text); from += window - overlap {
		if err := ctx.Err(); err != nil {
			return s.names(seen), err
		}
		part := text[from:min(from+window, len(text))]
		for i, p := range s {
			if !seen[i] {
				seen[i] = p.in(part, from == 0 || text[from-1] == '\n')
			}
		}
		if from+window >= len(text) {
			break
		}
	}
	return s.names(seen), nil
}

// in reports whether the pattern occurs in a window. atStart says that a line begins where the window
// does.
func (p pattern) in(part string, atStart bool) bool {
	if !p.lineStart || atStart {
		return p.re.MatchString(part)
	}
	for _, at := range p.re.FindAllStringIndex(part, 2) {
		if at[0] > 0 {
			return true
		}
	}
	return false
}

func (s scanner) names(seen []bool) []string {
	var out []string
	for i, p := range s {
		if seen[i] {
			out = append(out, p.name)
		}
	}
	return out
}
