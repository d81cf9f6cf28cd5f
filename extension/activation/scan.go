package activation

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a row, so that every implementation can read what one can.
const maxDepth = 32

var errNotCanonical = errors.New("not canonical JSON")

// scanObject visits the members of a JSON object in canonical form (see crdt.Canonical: no white
// space, keys ascending and so without duplicates, the one way to escape). Anything else is an
// error. It exists because a decoder would let through texts that other implementations read
// differently, and because logs are long.
func scanObject(text string, member func(key, value string)) error {
	if !utf8.ValidString(text) {
		return errNotCanonical
	}
	s := scanner{text: text}
	if !s.object(1, member) || s.at != len(text) {
		return errNotCanonical
	}
	return nil
}

type scanner struct {
	text string
	at   int
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) object(depth int, member func(key, value string)) bool {
	if depth > maxDepth || !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	last := ""
	for first := true; ; first = false {
		key, ok := s.key()
		if !ok || !first && key <= last || !s.take(':') {
			return false
		}
		start := s.at
		if !s.value(depth) {
			return false
		}
		if member != nil {
			member(key, s.text[start:s.at])
		}
		last = key
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) array(depth int) bool {
	if depth > maxDepth || !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	for {
		if !s.value(depth) {
			return false
		}
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) value(depth int) bool {
	if s.at == len(s.text) {
		return false
	}
	switch s.text[s.at] {
	case '{':
		return s.object(depth+1, nil)
	case '[':
		return s.array(depth + 1)
	case '"':
		return s.str()
	}
	start := s.at
	for s.at < len(s.text) && !strings.ContainsRune(`,]}`, rune(s.text[s.at])) {
		s.at++
	}
	word := s.text[start:s.at]
	if word == "true" || word == "false" || word == "null" {
		return true
	}
	return isNumber(word)
}

// key reads a string and decodes it: keys are ordered by what they mean.
func (s *scanner) key() (string, bool) {
	start := s.at
	if !s.str() {
		return "", false
	}
	raw := s.text[start:s.at]
	if !strings.Contains(raw, `\`) {
		return raw[1 : len(raw)-1], true
	}
	var key string
	err := json.Unmarshal([]byte(raw), &key)
	return key, err == nil
}

func (s *scanner) str() bool {
	if !s.take('"') {
		return false
	}
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '"':
			s.at++
			return true
		case c < 0x20:
			return false
		case c == '\\':
			if !s.escape() {
				return false
			}
		case strings.HasPrefix(s.text[s.at:], "\u2028"), strings.HasPrefix(s.text[s.at:], "\u2029"):
			return false
		default:
			s.at++
		}
	}
	return false
}

// escape reads one escape sequence, if it is the canonical one for its character.
func (s *scanner) escape() bool {
	rest := s.text[s.at:]
	if len(rest) >= 2 && strings.IndexByte(`"\bfnrt`, rest[1]) >= 0 {
		s.at += 2
		return true
	}
	if len(rest) < 6 || rest[1] != 'u' {
		return false
	}
	s.at += 6
	switch hex := rest[2:6]; {
	case hex == "2028", hex == "2029":
		return true
	case hex[:2] != "00", hex[2] != '0' && hex[2] != '1':
		return false
	case hex[2] == '0' && strings.IndexByte("89acd", hex[3]) >= 0: // \b \t \n \f \r
		return false
	default:
		return strings.IndexByte("0123456789abcdef", hex[3]) >= 0
	}
}

// isNumber reports whether a word is a JSON number.
func isNumber(word string) bool {
	w := strings.TrimPrefix(word, "-")
	digits := func() bool {
		n := 0
		for n < len(w) && '0' <= w[n] && w[n] <= '9' {
			n++
		}
		zero := strings.HasPrefix(w, "0")
		w = w[n:]
		return n > 0 && (!zero || n == 1)
	}
	anyDigits := func() bool {
		rest := strings.TrimLeft(w, "0123456789")
		ok := len(rest) < len(w)
		w = rest
		return ok
	}
	if !digits() {
		return false
	}
	if strings.HasPrefix(w, ".") {
		if w = w[1:]; !anyDigits() {
			return false
		}
	}
	if w != "" && (w[0] == 'e' || w[0] == 'E') {
		w = w[1:]
		if w != "" && (w[0] == '+' || w[0] == '-') {
			w = w[1:]
		}
		if !anyDigits() {
			return false
		}
	}
	return w == ""
}
