package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A skill file begins with its front matter, a small part of YAML between two lines "---":
//
//	---
//	name: pdf                  # required
//	description: Read and write PDF files
//	triggers: [pdf, "forms"]   # or one item a line, each behind "- "
//	requires_tools:
//	  - shell
//	---
//
// Values are plain or quoted scalars and lists of them; a description may be a block (">" or "|").
// Other keys are skipped with what is indented below them. Whatever else YAML has is refused, so
// that nothing means here what it does not mean there.

// parseFile reads a skill file.
func parseFile(text string) (skill, error) {
	var s skill
	if !utf8.ValidString(text) {
		return s, errors.New("it is not UTF-8 text")
	}
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\n")
	if !isFence(lines[0]) {
		return s, errors.New("it does not begin with a line ---")
	}
	below := slices.IndexFunc(lines[1:], isFence) + 1
	if below == 0 {
		return s, errors.New("there is no second line ---")
	}
	p := matter{lines: lines[1:below], seen: map[string]bool{}}
	for p.at < len(p.lines) {
		if err := p.entry(&s); err != nil {
			return s, fmt.Errorf("line %d: %w", p.at+1, err) // p.at is behind the line; the fence counts
		}
	}
	if !p.seen["name"] {
		return s, errors.New("there is no name")
	}
	s.body = strings.TrimSpace(strings.Join(lines[below+1:], "\n"))
	return s, s.check()
}

func isFence(line string) bool { return strings.TrimRight(line, " ") == "---" }

// matter is front matter that is being read.
type matter struct {
	lines []string
	at    int // the next line
	seen  map[string]bool
}

// entry reads one key with its value.
func (p *matter) entry(s *skill) error {
	line := p.lines[p.at]
	p.at++
	if blank(line) {
		return nil
	}
	key, value, ok := strings.Cut(line, ":")
	switch {
	case strings.ContainsRune(line, '\t'):
		return errors.New("a tab")
	case line[0] == ' ' || line[0] == '-':
		return errors.New("it is indented below nothing")
	case !ok || key == "" || strings.ContainsAny(key, " \"'{}[]&*!|>%@`#,?") || value != "" && value[0] != ' ':
		return errors.New(`it is not of the form "key: value"`)
	case p.seen[key]:
		return fmt.Errorf("%s is there twice", key)
	}
	p.seen[key] = true
	value = strings.TrimSpace(value)
	var err error
	switch key {
	case "name":
		s.name, err = scalar(value)
	case "description":
		s.description, err = p.text(value)
	case "triggers":
		s.triggers, err = p.list(value)
	case "requires_tools":
		s.requires, err = p.list(value)
	default:
		p.below(false)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func blank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// below takes the lines that belong to the key before: what is indented, items, blank lines.
func (p *matter) below(block bool) []string {
	start := p.at
	for p.at < len(p.lines) {
		line := p.lines[p.at]
		if strings.TrimSpace(line) != "" && line[0] != ' ' && (block || line[0] != '-' && line[0] != '\t' && line[0] != '#') {
			break
		}
		p.at++
	}
	return p.lines[start:p.at]
}

// text reads a scalar that may be a block, folded to one line either way: it is shown on one.
func (p *matter) text(value string) (string, error) {
	switch value {
	case ">", "|", ">-", "|-", ">+", "|+":
		return strings.Join(strings.Fields(strings.Join(p.below(true), " ")), " "), nil
	}
	return scalar(value)
}

// list reads a list, on one line or one item a line; a scalar is a list of one.
func (p *matter) list(value string) ([]string, error) {
	if strings.HasPrefix(value, "[") {
		return flow(value)
	}
	if value = uncomment(value); value == "" {
		return p.items()
	}
	one, err := scalar(value)
	return []string{one}, err
}

// flow reads a list on one line.
func flow(s string) ([]string, error) {
	errOpen := errors.New(`a list on one line ends with "]"`)
	var out []string
	rest := strings.TrimSpace(s[1:])
	for rest != "" && rest[0] != ']' {
		item, after, err := flowItem(rest)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
		if rest = strings.TrimSpace(after); strings.HasPrefix(rest, ",") {
			rest = strings.TrimSpace(rest[1:])
		} else if !strings.HasPrefix(rest, "]") {
			return nil, errOpen
		}
	}
	if rest == "" {
		return nil, errOpen
	}
	return out, end(rest[1:])
}

func (p *matter) items() ([]string, error) {
	var out []string
	indent := -1
	for _, line := range p.below(false) {
		if blank(line) {
			continue
		}
		item := strings.TrimLeft(line, " ")
		if at := len(line) - len(item); indent < 0 {
			indent = at
		} else if at != indent {
			return nil, errors.New("the items of a list are not below each other")
		}
		item, ok := strings.CutPrefix(item, "- ")
		if !ok {
			return nil, errors.New(`an item of a list begins with "- "`)
		}
		one, err := scalar(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		if one == "" {
			return nil, errors.New("an empty item")
		}
		out = append(out, one)
	}
	return out, nil
}

// flowItem reads one item of a list on one line.
func flowItem(s string) (item, rest string, err error) {
	if s[0] == '"' || s[0] == '\'' {
		return quoted(s)
	}
	stop := strings.IndexAny(s, ",]")
	if stop < 0 {
		stop = len(s)
	}
	item, err = plain(strings.TrimSpace(s[:stop]))
	if err == nil && (item == "" || strings.ContainsAny(item, "{}[") || uncomment(item) != item) {
		err = errors.New("put an item that is empty or has #, [, { or } into quotes")
	}
	return item, s[stop:], err
}

// scalar reads a value that is all of its line.
func scalar(s string) (string, error) {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return plain(uncomment(s))
	}
	value, rest, err := quoted(s)
	if err == nil {
		err = end(rest)
	}
	return value, err
}

// end checks that nothing but a comment is left.
func end(rest string) error {
	if rest != "" && (rest[0] != ' ' || uncomment(rest) != "") {
		return errors.New("there is more behind the value")
	}
	return nil
}

// uncomment drops a comment: a # at the beginning or behind a blank.
func uncomment(s string) string {
	if i := strings.Index(" "+s, " #"); i >= 0 && (s[0] != '"' && s[0] != '\'' || i == 0) {
		s = s[:i]
	}
	return strings.TrimSpace(s)
}

// plain checks a scalar without quotes.
func plain(s string) (string, error) {
	switch {
	case s == "":
		return "", nil
	case strings.ContainsRune("&*!|>{}[]%@`?,\"'", rune(s[0])), s == "-", strings.HasPrefix(s, "- "):
		return "", fmt.Errorf("put a value that begins with %q into quotes", s[:1])
	case strings.Contains(s, ": "), strings.HasSuffix(s, ":"):
		return "", errors.New(`put a value with ": " into quotes`)
	}
	return s, nil
}

// quoted reads a quoted scalar at the beginning of s.
func quoted(s string) (value, rest string, err error) {
	if s[0] == '"' {
		return doubleQuoted(s)
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '\'':
		case i+1 < len(s) && s[i+1] == '\'':
			i++
		default:
			return strings.ReplaceAll(s[1:i], "''", "'"), s[i+1:], nil
		}
	}
	return "", "", errors.New("the single quotes do not close")
}

// doubleQuoted takes the escapes of JSON, which mean the same in YAML.
func doubleQuoted(s string) (value, rest string, err error) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			if json.Unmarshal([]byte(s[:i+1]), &value) != nil {
				return "", "", errors.New("the double quotes hold an unknown escape")
			}
			return value, s[i+1:], nil
		}
	}
	return "", "", errors.New("the double quotes do not close")
}
