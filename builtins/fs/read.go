package fs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/extension"
)

// maxChars is how many characters of a file are shown.
const maxChars = 50_000

func readTool() extension.Tool {
	return extension.Tool{
		Name:        "read_file",
		Description: fmt.Sprintf("Read a text file. At most %d characters are shown.", maxChars),
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "description": "Path of the file, absolute or relative to the work folder."}
			},
			"required": ["path"],
			"additionalProperties": false
		}`),
		Run: tool(read),
	}
}

type readArgs struct {
	Path string `json:"path"`
}

func read(ctx context.Context, f extension.Files, a readArgs) (string, error) {
	if a.Path == "" {
		return "", fmt.Errorf("read file: path is missing: %w", extension.ErrArgument)
	}
	// No character has more bytes, so that what is read always fills what is shown.
	data, more, err := f.ReadFile(ctx, a.Path, maxChars*utf8.UTFMax)
	if err != nil {
		return "", err
	}
	text, cut := firstChars(data, maxChars)
	if cut || more {
		text += fmt.Sprintf("\n[cut here: the file has more than %d characters]", maxChars)
	}
	return text, nil
}

// firstChars decodes at most n characters, bytes that are no UTF-8 as U+FFFD, and says whether there
// was more.
func firstChars(data []byte, n int) (text string, cut bool) {
	var b strings.Builder
	b.Grow(min(len(data), n+utf8.UTFMax))
	for ; len(data) > 0; n-- {
		if n == 0 {
			return b.String(), true
		}
		r, size := utf8.DecodeRune(data)
		b.WriteRune(r)
		data = data[size:]
	}
	return b.String(), false
}
