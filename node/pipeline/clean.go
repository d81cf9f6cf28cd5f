package pipeline

import (
	"strings"
	"unicode/utf8"
)

// hookRoom is what the tool_result hooks may add to a text that is as long as it may be.
const hookRoom = 16 << 10

// clean makes a text fit for the model: valid UTF-8, within the limit, without secrets. Where those
// block, the status of a call that ran says so.
func (r *Runner) clean(text string, status Status, limit int) (string, Status) {
	text, more := validPrefix(text, limit+leakSlack)
	clean, names, cut := r.leaks.clean(text, limit)
	if len(names) > 0 && r.cfg.Leaks == Block {
		switch status {
		case StatusOK, StatusError, StatusTimeout:
			status = StatusBlocked
		}
		return textLeak(names), status
	}
	if more || cut {
		clean += textCut(limit)
	}
	return clean, status
}

// validPrefix returns at least the first limit bytes of a text with U+FFFD in the place of every
// invalid byte, and whether there is more.
func validPrefix(s string, limit int) (text string, more bool) {
	if len(s) <= limit && utf8.ValidString(s) {
		return s, false
	}
	var b strings.Builder
	for i, r := range s {
		if b.Len() > limit {
			return b.String(), i < len(s)
		}
		b.WriteRune(r) // U+FFFD for an invalid byte
	}
	return b.String(), false
}
