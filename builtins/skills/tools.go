package skills

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/extension"
)

// maxAnswer is how much a list tells, in bytes.
const maxAnswer = 50_000

func (l library) listTool() extension.Tool {
	return extension.Tool{
		Name:        "skill_list",
		Description: "List the skills that you have: texts that tell you how to do something.",
		Parameters:  json.RawMessage(`{"type": "object", "properties": {}, "additionalProperties": false}`),
		Run: extension.Typed(func(ctx context.Context, c extension.Call, _ struct{}) (string, error) {
			list, err := l.called(ctx, c)
			if err != nil {
				return "", err
			}
			if len(list) == 0 {
				return "There are no skills.", nil
			}
			return numbered(list, toolsOf(c)), nil
		}),
	}
}

func (l library) searchTool() extension.Tool {
	return extension.Tool{
		Name:        "skill_search",
		Description: "Find skills by a part of their name, description or triggers.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"query": {"type": "string", "description": "Text to look for, in any case."}
			},
			"required": ["query"],
			"additionalProperties": false
		}`),
		Run: extension.Typed(func(ctx context.Context, c extension.Call, a struct {
			Query string `json:"query"`
		},
		) (string, error) {
			query := strings.ToLower(strings.TrimSpace(a.Query))
			if query == "" {
				return "", fmt.Errorf("search skills: the query is empty; skill_list lists all: %w", extension.ErrArgument)
			}
			list, err := l.called(ctx, c)
			if err != nil {
				return "", err
			}
			var found []skill
			for _, s := range list {
				if s.fits(query) {
					found = append(found, s)
				}
			}
			if len(found) == 0 {
				return fmt.Sprintf("None of the %d skills fits %s.", len(list), bank.Line(query, 200)), nil
			}
			return numbered(found, toolsOf(c)), nil
		}),
	}
}

// numbered lists skills, one a line: name, description, triggers, tools that are missing.
func numbered(list []skill, tools map[string]bool) string {
	var b strings.Builder
	for i, s := range list {
		line := fmt.Sprintf("%d. %s", i+1, s.title(maxDescription))
		if len(s.triggers) > 0 {
			line += "; triggers: " + bank.Line(strings.Join(s.triggers, ", "), 500)
		}
		if missing := s.missing(tools); len(missing) > 0 {
			line += "; can't be used, it needs tools that you do not have: " + bank.Line(strings.Join(missing, ", "), 500)
		}
		if b.Len()+len(line) > maxAnswer {
			fmt.Fprintf(&b, "\n[cut here: %d more; search for them]", len(list)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.String()
}

func (l library) showTool() extension.Tool {
	return extension.Tool{
		Name:        "skill_show",
		Description: "Read a skill.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"name": {"type": "string", "description": "Exact name of the skill."}
			},
			"required": ["name"],
			"additionalProperties": false
		}`),
		Run: extension.Typed(func(ctx context.Context, c extension.Call, a struct {
			Name string `json:"name"`
		},
		) (string, error) {
			list, err := l.called(ctx, c)
			if err != nil {
				return "", err
			}
			for _, s := range list {
				if s.name == a.Name {
					return show(s, toolsOf(c))
				}
			}
			return fmt.Sprintf("There is no skill %s; skill_list lists those that there are.", bank.Name(a.Name)), nil
		}),
	}
}

// show returns a skill as JSON, or why it can't be followed.
func show(s skill, tools map[string]bool) (string, error) {
	if missing := s.missing(tools); len(missing) > 0 {
		return fmt.Sprintf("The skill %s can't be used: it needs tools that you do not have: %s.", s.name, bank.Line(strings.Join(missing, ", "), 500)), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Text        string `json:"text"`
		Name        string `json:"name"`
		Description string `json:"description"`
	}{bank.Text(s.body, maxBody), s.name, strings.TrimSpace(bank.Line(s.description, maxDescription))})
	if err != nil {
		return "", fmt.Errorf("show skill: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
