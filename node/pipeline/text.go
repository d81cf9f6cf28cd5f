package pipeline

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Status says how a call ended.
type Status string

// The statuses.
const (
	StatusOK      Status = "ok"
	StatusError   Status = "error"   // the tool failed, or a door of the host refused
	StatusTimeout Status = "timeout" // the tool took too long
	StatusDenied  Status = "denied"  // by a hook, by a person, or because nobody could be asked
	StatusLimited Status = "limited" // the rate limit
	StatusUnknown Status = "unknown" // no such tool for this caller
	StatusInvalid Status = "invalid" // the arguments
	StatusBlocked Status = "blocked" // the result was withheld
)

// previewLength is how many characters of a result its ToolResult entry holds.
const previewLength = 500

// wrap makes a text recognisable for the model as the output of a tool.
func wrap(tool, text string) string {
	name := firstRunes(tool, 100)
	if strings.ContainsAny(name, "&<>\"\n\r") { // a replacer costs more than all the rest of a call
		name = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", " ", "\r", " ").Replace(name)
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "<", "&lt;"), ">", "&gt;")
	return "<tool_output tool=\"" + name + "\">\n" + text + "\n</tool_output>"
}

// Preview is the first n characters of a text, with a mark if there was more.
func Preview(text string, n int) string {
	short := firstRunes(text, n)
	if len(short) < len(text) {
		return short + "…"
	}
	return short
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// runeStart is the last start of a character at or before i.
func runeStart(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for back := 0; back < utf8.UTFMax && i-back > 0; back++ {
		if utf8.RuneStart(s[i-back]) {
			return i - back
		}
	}
	return i
}

func cutBytes(s string, limit int) string { return s[:runeStart(s, limit)] }

// The texts for the model. Each says one thing, and no two say the same.

func textUnknown(tool string) string {
	return fmt.Sprintf("Error: there is no tool named %q here.", firstRunes(tool, 100))
}

func textInvalid(why error) string { return "Error: invalid arguments: " + why.Error() }

func textLimited(tool string, limit int, wait time.Duration) string {
	if limit <= 0 {
		return fmt.Sprintf("Error: the tool %s is switched off on this peer (its rate limit is 0).", tool)
	}
	return fmt.Sprintf("Error: the tool %s may be called %d times a minute; wait %d s.", tool, limit, int(math.Ceil(wait.Seconds())))
}

func textDeniedBy(extension, reason string) string {
	return fmt.Sprintf("Error: the call was denied by the extension %s: %s", extension, reason)
}

const (
	textDenied   = "Error: the call was denied by the user."
	textTooLate  = "Error: approval was not given in time."
	textNobody   = "Error: the call needs approval, and there is nobody to ask."
	textCanceled = "Error: the call was cancelled."
)

func textApprovalFailed(err error) string {
	return "Error: approval could not be asked for: " + err.Error()
}

func textTimeout(d time.Duration) string {
	return fmt.Sprintf("Error: the tool did not finish within %g s.", d.Seconds())
}

func textFailed(err error) string { return "Error: " + err.Error() }

func textLeak(names []string) string {
	return "Error: the output was withheld: it holds what looks like secrets (" + strings.Join(names, ", ") + ")."
}

func textBlockedBy(extension, reason string) string {
	return fmt.Sprintf("The output was withheld by the extension %s: %s", extension, reason)
}

func textCut(limit int) string { return fmt.Sprintf("\n… (cut at %d bytes)", limit) }
