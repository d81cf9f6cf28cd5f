package skills

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/crdt"
)

// Limits of one skill.
const (
	maxName        = 64       // characters
	maxDescription = 1_000    // characters that are shown
	maxBody        = 64 << 10 // characters that are shown
	maxItems       = 64       // triggers, tools
	maxItem        = 200      // bytes of one
	maxSkills      = 10_000   // of one document
	maxFile        = 64 << 10 // bytes
)

// skill is one skill. It never changes.
type skill struct {
	name, description, body string

	triggers []string
	requires []string // tools without which it can't be followed
	from     string   // the bank it comes from; "" for a file and for the agent's own
}

// check refuses what can't be listed on a line and asked for by name.
func (s skill) check() error {
	if strings.TrimSpace(s.name) != s.name || s.name == "" || bank.Line(s.name, maxName) != s.name {
		return fmt.Errorf("the name %q is empty, longer than %d characters, or not plain text", bank.Name(s.name), maxName)
	}
	for what, list := range map[string][]string{"triggers": s.triggers, "requires_tools": s.requires} {
		if len(list) > maxItems || slices.ContainsFunc(list, func(t string) bool { return len(t) > maxItem }) {
			return fmt.Errorf("%s: more than %d, or one longer than %d bytes", what, maxItems, maxItem)
		}
	}
	return nil
}

// missing are the required tools that are not among tools, sorted.
func (s skill) missing(tools map[string]bool) []string {
	var out []string
	for _, t := range s.requires {
		if !tools[t] && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// fits reports whether name, description or a trigger has the text, which is in lower case.
func (s skill) fits(text string) bool {
	has := func(in string) bool { return strings.Contains(strings.ToLower(in), text) }
	return has(s.name) || has(s.description) || slices.ContainsFunc(s.triggers, has)
}

// title is name and description on one line.
func (s skill) title(most int) string {
	line := bank.Line(s.name, maxName)
	if d := strings.TrimSpace(bank.Line(s.description, most)); d != "" {
		line += ": " + d
	}
	if s.from != "" {
		line += " (bank " + bank.Name(s.from) + ")"
	}
	return line
}

// row is a skill in the store skills: {name, description, body, timestamp, tags}. Its tags are its
// triggers.
type row struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Body        string   `json:"body"`
	At          *int64   `json:"timestamp"`
	Tags        []string `json:"tags"`
	Requires    []string `json:"requires_tools"`
}

// readRows reads the skills of a document by name; of one name the newest counts, then the greatest
// row id. What is no skill is left out.
func readRows(v *crdt.View) []skill {
	type dated struct {
		skill
		at int64
		id crdt.RowID
	}
	byName := map[string]dated{}
	for r := range v.Rows(bank.Skills().Rows) {
		var x row
		if json.Unmarshal([]byte(r.Value), &x) != nil || x.At == nil {
			continue
		}
		d := dated{skill{name: x.Name, description: x.Description, body: x.Body, triggers: x.Tags, requires: x.Requires}, *x.At, r.ID}
		if d.check() != nil {
			continue
		}
		old, there := byName[x.Name]
		if !there && len(byName) == maxSkills {
			continue
		}
		if !there || d.at > old.at || d.at == old.at && slices.Compare(d.id[:], old.id[:]) > 0 {
			byName[x.Name] = d
		}
	}
	out := make([]skill, 0, len(byName))
	for _, d := range byName {
		out = append(out, d.skill)
	}
	slices.SortFunc(out, func(a, b skill) int { return strings.Compare(a.name, b.name) })
	return out
}
