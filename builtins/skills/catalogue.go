package skills

import (
	"context"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Limits of the catalogue.
const (
	maxCatalogue = 16_000 // bytes
	maxShort     = 200    // characters of a description
)

// catalogue tells in the system prompt which skills there are, those that the turn's tools suffice
// for.
func (l library) catalogue(ctx context.Context, t extension.Turn, attached []string) (string, error) {
	list, err := l.all(ctx, t.Agent, attached)
	if err != nil {
		return "", err
	}
	tools := map[string]bool{}
	for _, name := range t.Tools {
		tools[name] = true
	}
	var lines []string
	for _, s := range list {
		if missing := s.missing(tools); len(missing) > 0 {
			l.warn(s, missing)
			continue
		}
		lines = append(lines, "- "+s.title(maxShort))
	}
	if len(lines) == 0 {
		return "", nil
	}
	var b strings.Builder
	b.WriteString("## Skills\nBefore a task that one of these covers, read it with skill_show and follow it.")
	for i, line := range lines {
		if b.Len()+len(line) > maxCatalogue {
			fmt.Fprintf(&b, "\n… and %d more: skill_list and skill_search find them.", len(lines)-i)
			break
		}
		b.WriteString("\n" + line)
	}
	return b.String(), nil
}
