package schedule

import (
	"strings"
	"unicode"
)

// word takes the first word of a text: up to the next blank, or what stands between two equal
// quotes. It is "" at the end. rest has no blanks at its start.
func word(text string) (w, rest string, quoted bool, err error) {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	if text == "" {
		return "", "", false, nil
	}
	if q := text[0]; q == '"' || q == '\'' {
		end := strings.IndexByte(text[1:], q)
		if end < 0 {
			return "", "", true, refuse("read words: the quote %c is not closed", q)
		}
		w, rest = text[1:end+1], text[end+2:]
		if trimmed := strings.TrimLeftFunc(rest, unicode.IsSpace); trimmed == rest && rest != "" {
			return "", "", true, refuse("read words: after the closing quote %c there must be a blank", q)
		}
		return w, strings.TrimLeftFunc(rest, unicode.IsSpace), true, nil
	}
	i := strings.IndexFunc(text, unicode.IsSpace)
	if i < 0 {
		return text, "", false, nil
	}
	return text[:i], strings.TrimLeftFunc(text[i:], unicode.IsSpace), false, nil
}

// cronWords takes a cron expression: quoted, or six words.
func cronWords(text string) (expr, rest string, quoted bool, err error) {
	expr, rest, quoted, err = word(text)
	if err != nil || quoted {
		return expr, rest, quoted, err
	}
	for range 5 {
		var next string
		if next, rest, quoted, err = word(rest); err != nil {
			return "", "", false, err
		}
		if quoted {
			return "", "", false, refuse("read cron: six fields were expected before %.60q; put the whole cron in quotes, or none of it", next)
		}
		expr += " " + next
	}
	return expr, rest, false, nil
}
