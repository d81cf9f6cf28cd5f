package core

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/extension"
)

const (
	maxOutput    = 10_000 // bytes of output that are shown
	shellTimeout = 30 * time.Second
)

func shellTool() extension.Tool {
	return extension.Tool{
		Name:        "shell",
		Description: fmt.Sprintf("Run a command with sh -c and return what it printed, at most %d bytes.", maxOutput),
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"command": {"type": "string", "description": "The command line."},
				"working_dir": {"type": "string", "description": "Folder to run it in, below the work folder; the work folder if not given."}
			},
			"required": ["command"],
			"additionalProperties": false
		}`),
		Policy: extension.Policy{Risk: extension.HighRisk, Approval: extension.AlwaysAsk, Timeout: shellTimeout},
		Run:    extension.Typed(shell),
	}
}

type shellArgs struct {
	Command    string `json:"command"`
	WorkingDir string `json:"working_dir"`
}

func shell(ctx context.Context, c extension.Call, a shellArgs) (string, error) {
	if strings.TrimSpace(a.Command) == "" {
		return "", fmt.Errorf("run command: the command is blank: %w", extension.ErrArgument)
	}
	if c.Lent.Host == nil {
		return "", fmt.Errorf("run command: no door to the shell: %w", extension.ErrGrant)
	}
	r, err := c.Lent.Host.Shell(ctx, extension.ShellCommand{Line: a.Command, Dir: a.WorkingDir, Limit: maxOutput})
	if err != nil {
		return "", err
	}
	if r.TimedOut {
		err := fmt.Errorf("run command: stopped, out of time: %w", context.DeadlineExceeded)
		if len(r.Stdout)+len(r.Stderr) > 0 {
			err = fmt.Errorf("%w; until then it printed:\n%s", err, printed(r))
		}
		return "", err
	}
	return render(r), nil
}

// placeholder stands for nothing at all, so that the model does not take silence for a failure.
const placeholder = "[no output]"

// render shows a result: stdout, stderr, then an exit code that is not 0. The exit code is behind
// the cut, since it is what a caller needs most of a long output.
func render(r extension.ShellResult) string {
	text := printed(r)
	if r.Exit != 0 {
		text = onOwnLine(text, fmt.Sprintf("[exit code: %d]", r.Exit))
	}
	if text == "" {
		return placeholder
	}
	return text
}

// printed is stdout, then stderr under a mark, cut at maxOutput bytes.
func printed(r extension.ShellResult) string {
	text := textOf(r.Stdout, r.Cut)
	if len(r.Stderr) > 0 {
		text = onOwnLine(text, "[stderr]\n"+textOf(r.Stderr, r.Cut))
	}
	cut := r.Cut || len(text) > maxOutput
	if len(text) > maxOutput {
		n := maxOutput
		for !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	if cut {
		text = onOwnLine(text, fmt.Sprintf("[output cut at %d bytes]", maxOutput))
	}
	return text
}

// textOf decodes an output, bytes that are no UTF-8 as U+FFFD. Nobody needs more than one byte
// beyond the cut to see that it is one. Of an output that was cut a character in pieces at the end
// is left out.
func textOf(out []byte, cut bool) string {
	if len(out) > maxOutput+utf8.UTFMax {
		out, cut = out[:maxOutput+utf8.UTFMax], true
	}
	if cut {
		out = wholeCharacters(out)
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

// wholeCharacters leaves out the beginning of a character at the end.
func wholeCharacters(out []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(out); i++ {
		if tail := out[len(out)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return out[:len(out)-i]
			}
			break
		}
	}
	return out
}

func onOwnLine(text, line string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + line
}
