package fs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
)

// maxEdit is how many bytes a file may have that is edited.
const maxEdit = 10 << 20

func (w writer) editTool() extension.Tool {
	return extension.Tool{
		Name: "edit_file",
		Description: "Replace pieces of a text file. Each old text must occur exactly once in the file as it is now. " +
			"Give old_text and new_text, or several pairs in edits. Nothing is written unless all of them fit.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "description": "Path of the file, absolute or relative to the work folder."},
				"old_text": {"type": "string", "description": "The text to replace, exactly as it stands in the file."},
				"new_text": {"type": "string", "description": "What stands there afterwards."},
				"edits": {
					"type": "array",
					"description": "Several replacements; old_text and new_text beside it are ignored.",
					"items": {
						"type": "object",
						"description": "Both old_text and new_text are needed.",
						"properties": {
							"old_text": {"type": "string"},
							"new_text": {"type": "string"}
						},
						"additionalProperties": false
					}
				}
			},
			"required": ["path"],
			"additionalProperties": false
		}`),
		Policy: writePolicy(),
		Run:    tool(w.edit),
	}
}

// pair is one replacement as it is given; a nil field was left out.
type pair struct {
	Old *string `json:"old_text"`
	New *string `json:"new_text"`
}

type editArgs struct {
	Path string `json:"path"`
	pair
	Edits *[]pair `json:"edits"`
}

func (w writer) edit(ctx context.Context, f extension.Files, a editArgs) (string, error) {
	if a.Path == "" {
		return "", fmt.Errorf("edit file: path is missing: %w", extension.ErrArgument)
	}
	edits, err := a.replacements()
	if err != nil {
		return "", fmt.Errorf("edit file %.500s: %w: %w", a.Path, extension.ErrArgument, err)
	}
	var before, after []byte
	err = w.do(ctx, func() error {
		var more bool
		if before, more, err = f.ReadFile(ctx, a.Path, maxEdit); err != nil {
			return err
		}
		if more {
			return fmt.Errorf("edit file %.500s: it is too large to be edited", a.Path)
		}
		if after, err = splice(before, edits); err != nil {
			return fmt.Errorf("edit file %.500s: %w", a.Path, err)
		}
		return f.WriteFile(ctx, a.Path, after)
	})
	if err != nil {
		return "", err
	}
	return report(a.Path, len(edits), lines(before), lines(after)), nil
}

// replacements reads the two forms of the arguments; the list wins.
func (a editArgs) replacements() ([]replacement, error) {
	pairs := []pair{a.pair}
	switch {
	case a.Edits != nil && len(*a.Edits) == 0:
		return nil, errors.New("the list edits is empty")
	case a.Edits != nil:
		pairs = *a.Edits
	case a.Old == nil && a.New == nil:
		return nil, errors.New("give old_text and new_text, or the list edits")
	}
	out := make([]replacement, len(pairs))
	for i, p := range pairs {
		switch {
		case p.Old == nil:
			return nil, fmt.Errorf("%sold_text is missing", label(i, len(pairs)))
		case p.New == nil:
			return nil, fmt.Errorf("%snew_text is missing", label(i, len(pairs)))
		}
		out[i] = replacement{*p.Old, *p.New}
	}
	return out, nil
}

// lines counts lines; a last one without an end counts too.
func lines(text []byte) int {
	n := bytes.Count(text, []byte{'\n'})
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

func report(path string, edits, before, after int) string {
	word := "replacements"
	if edits == 1 {
		word = "replacement"
	}
	return fmt.Sprintf("Edited %s: %d %s, %+d lines, %d lines now.", path, edits, word, after-before, after)
}
