package skills

import (
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"
)

// TestFrontMatterIsYAML compares what is accepted with a whole YAML parser: nothing may mean something
// else there. Values are texts here; those that YAML takes for numbers and the like are left out.
func TestFrontMatterIsYAML(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"a", "b c", " ", "  ", ": ", ":", " #", "#", "'", "''", "\"", "\\n", "\\u00e4", "\\x41", "[", "]", "[a", "a]", ",", ", ", "- ", "-", "\n  ", "\n- a", "\n  - b", "\nc: d",
		">", "|", "&x", "*x", "!t", "{", "}", "?", "%", "@", "`", "ä", "://", "name", "triggers",
	})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "") })
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		matter := "name: " + rapid.SampledFrom([]string{"x", "'x y'"}).Draw(t, "name") +
			"\ndescription: " + text.Draw(t, "description") + "\ntriggers: " + text.Draw(t, "triggers") + "\nother: " + text.Draw(t, "other") + "\n"
		s, err := parseFile("---\n" + matter + "---\n")
		if err != nil {
			return
		}
		var want struct {
			Name        string `yaml:"name"`
			Description string `yaml:"description"`
			Triggers    any    `yaml:"triggers"`
		}
		if err := yaml.Unmarshal([]byte(matter), &want); err != nil {
			return // what YAML refuses means nothing there
		}
		accepted++
		var triggers []string
		switch x := want.Triggers.(type) {
		case string:
			triggers = []string{x}
		case []any:
			for _, e := range x {
				one, ok := e.(string)
				if !ok {
					return
				}
				triggers = append(triggers, one)
			}
		}
		fold := func(s string) string { return strings.Join(strings.Fields(s), " ") }
		if s.name != want.Name || fold(s.description) != fold(want.Description) || !slices.Equal(s.triggers, triggers) {
			t.Fatalf("%s\nreads as   %q %q %q\nYAML reads %q %q %q", matter, s.name, s.description, s.triggers, want.Name, want.Description, triggers)
		}
	})
	if accepted == 0 {
		t.Error("no case was accepted by both")
	}
}
