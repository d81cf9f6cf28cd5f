package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

func (d desk) recallTool() extension.Tool {
	return extension.Tool{
		Name:        "recall",
		Description: "Search your memories: your own and those of the banks that you may read. An empty query returns the newest.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"query": {"type": "string", "description": "Words to look for."},
				"tags": {"type": "array", "items": {"type": "string"}, "description": "Only memories with all of these tags."},
				"limit": {"type": "integer", "minimum": 1, "description": "How many at most; 10 without it."},
				"bank": {"type": "string", "description": "Only this memory bank, by name or id; self is your own memory."}
			},
			"required": ["query"],
			"additionalProperties": false
		}`),
		Run: extension.Typed(d.recallCall),
	}
}

type recallArgs struct {
	Query string   `json:"query"`
	Tags  []string `json:"tags"`
	Limit *int     `json:"limit"`
	Bank  string   `json:"bank"`
}

func (d desk) recallCall(ctx context.Context, c extension.Call, a recallArgs) (string, error) {
	q := query{text: a.Query, tags: a.Tags, limit: defaultHits}
	if a.Limit != nil {
		if q.limit = *a.Limit; q.limit < 1 {
			return "", fmt.Errorf("recall: the limit is less than 1: %w", extension.ErrArgument)
		}
	}
	sources, err := d.sources(ctx, c)
	if err != nil {
		return "", err
	}
	if sources, err = narrow(sources, a.Bank); err != nil {
		return "", err
	}
	r, err := d.search(ctx, sources, q)
	if err != nil {
		return "", err
	}
	return tell(r, q), nil
}

// narrow keeps the one source that is named; "" keeps all.
func narrow(sources []bank.Source, name string) ([]bank.Source, error) {
	if name == "" {
		return sources, nil
	}
	s, err := bank.Pick(sources, name)
	if err == nil && !s.Here {
		err = fmt.Errorf("recall from %s: it is not on this peer; import it with /memory import <ticket>", where(s))
	}
	return []bank.Source{s}, err
}

// What one answer may hold, in characters: a share for each hit, but never less than minShare, until
// the whole is used up.
const (
	maxAnswer = 50_000
	minShare  = 1_000
)

// tell puts a result into words, one line for each hit.
func tell(r result, q query) string {
	var b strings.Builder
	switch {
	case r.stored == 0:
		b.WriteString("No memories yet.")
	case r.tagged == 0:
		fmt.Fprintf(&b, "None of the %d memories has the tags %s.", r.stored, bank.Line(strings.Join(q.tags, ", "), 200))
	case len(r.hits) == 0:
		fmt.Fprintf(&b, "None of %d memories fits %s.", r.tagged, bank.Line(strings.TrimSpace(q.text), 200))
	}
	share := max(minShare, maxAnswer/max(len(r.hits), 1))
	size := 0
	for i, h := range r.hits {
		line := h.line(share)
		if size += len(line); size > maxAnswer+maxKey && i > 0 {
			fmt.Fprintf(&b, "\n[cut here: %d more were found; narrow the query]", len(r.hits)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	if r.note != "" {
		b.WriteString("\n[" + r.note + "]")
	}
	return b.String()
}

// line is a memory on one line: bank if it is not the agent's own, key, value, tags, time.
func (h hit) line(most int) string {
	s := bank.Line(h.key, maxKey) + ": " + oneLine(h.value, most)
	if len(h.tags) > 0 {
		s += " [" + bank.Line(strings.Join(h.tags, ", "), 500) + "]"
	}
	s += " (" + crdt.FormatStamp(h.at) + ")"
	if h.in.from.Name != bank.Self {
		s += " — bank " + bank.Name(h.in.from.Name)
	}
	return s
}

// oneLine shows line breaks of a value instead of losing them.
func oneLine(s string, most int) string {
	s = strings.TrimSpace(s)
	s = s[:min(len(s), 4*most+4)] // a character that this cuts comes behind the cut that Line makes
	return bank.Line(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", `\n`), most)
}

func (d desk) banksTool() extension.Tool {
	return extension.Tool{
		Name:        "list_memory_banks",
		Description: "List the memory banks that you may use with remember and recall.",
		Parameters:  json.RawMessage(`{"type": "object", "properties": {}, "additionalProperties": false}`),
		Run: extension.Typed(func(ctx context.Context, c extension.Call, _ struct{}) (string, error) {
			sources, err := d.sources(ctx, c)
			if err != nil {
				return "", err
			}
			lines := make([]string, len(sources))
			for i, s := range sources {
				lines[i] = bankLine(s)
			}
			return strings.Join(lines, "\n"), nil
		}),
	}
}

func bankLine(s bank.Source) string {
	line := fmt.Sprintf("%s: %s, %s", bank.Name(s.Name), s.Permission(), s.ID)
	switch {
	case s.Name == bank.Self:
		line += " (your own memory)"
	case !s.Here:
		line += " (not on this peer)"
	case s.Attached:
		line += " (attached to this session)"
	case s.Granted && !s.Write:
		line += " (granted for writing, but this peer may only read it)"
	}
	return line
}
