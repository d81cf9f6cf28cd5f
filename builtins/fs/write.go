package fs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
)

func (w writer) writeTool() extension.Tool {
	return extension.Tool{
		Name:        "write_file",
		Description: "Write a text file. A file that is there is replaced. The folder must be there.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "description": "Path of the file, absolute or relative to the work folder."},
				"content": {"type": "string", "description": "The whole new content."}
			},
			"required": ["path", "content"],
			"additionalProperties": false
		}`),
		Policy: writePolicy(),
		Run:    tool(w.write),
	}
}

type writeArgs struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
}

func (w writer) write(ctx context.Context, f extension.Files, a writeArgs) (string, error) {
	switch {
	case a.Path == "":
		return "", fmt.Errorf("write file: path is missing: %w", extension.ErrArgument)
	case a.Content == nil:
		return "", fmt.Errorf("write file %.500s: content is missing: %w", a.Path, extension.ErrArgument)
	}
	err := w.do(ctx, func() error { return f.WriteFile(ctx, a.Path, []byte(*a.Content)) })
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Wrote %d bytes to %s.", len(*a.Content), a.Path), nil
}
