package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// simStory is a scenario with the file it came from.
type simStory struct {
	file string
	*sim.Scenario
}

// loadStories reads scenario files; a folder stands for all .yaml files in it.
func loadStories(paths []string) ([]simStory, error) {
	var out []simStory
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil || len(files) == 0 {
				return nil, fmt.Errorf("read scenarios: no .yaml file in %s", path)
			}
			slices.Sort(files)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return nil, fmt.Errorf("read scenario: %w", err)
			}
			s, faults := parseStory(b)
			if len(faults) > 0 {
				return nil, fmt.Errorf("%s: %s", f, joinFaults(faults))
			}
			out = append(out, simStory{f, s})
		}
	}
	return out, nil
}

func joinFaults(faults []fault) string {
	lines := make([]string, len(faults))
	for i, x := range faults {
		lines[i] = x.text
		if x.line > 0 {
			lines[i] = fmt.Sprintf("line %d: %s", x.line, x.text)
		}
	}
	return strings.Join(lines, "; ")
}

// storyReader reads one scenario file and remembers where everything stands.
type storyReader struct {
	s     sim.Scenario
	names []string         // of the peers
	lines map[string][]int // of the n-th step, peer, link, expect
}

// parseStory reads a scenario in YAML and reports all faults, in the order of their lines.
func parseStory(b []byte) (*sim.Scenario, []fault) {
	root, faults := configRoot(b)
	r := &storyReader{lines: map[string][]int{}}
	// The peers come first, so that their names are known wherever one is used.
	sort.SliceStable(root, func(i, j int) bool { return isKey(root[i], "peers") && !isKey(root[j], "peers") })
	faults = append(faults, readEntries(root, r, storyKeys())...)
	if len(faults) == 0 {
		return r.check()
	}
	sort.SliceStable(faults, func(i, j int) bool { return faults[i].line < faults[j].line })
	return nil, faults
}

func isKey(n *ast.MappingValueNode, name string) bool {
	key, _ := keyOf(n)
	return key == name
}

// check lets the lab read what was read, in its own form, and says in which line it finds fault.
func (r *storyReader) check() (*sim.Scenario, []fault) {
	text, err := json.Marshal(r.s)
	if err != nil {
		return nil, []fault{{0, err.Error()}}
	}
	s, err := sim.ParseScenario(text)
	if err == nil {
		return s, nil
	}
	return nil, []fault{r.place(strings.TrimPrefix(err.Error(), "read scenario: "))}
}

// placed is how the lab names a place: the number counts from 1.
var placed = regexp.MustCompile(`^(step|peer|link|expect) ([^ :]+)`)

func (r *storyReader) place(text string) fault {
	m := placed.FindStringSubmatch(text)
	if m == nil {
		return fault{0, text}
	}
	n, err := strconv.Atoi(m[2])
	if n--; err != nil && m[1] == "peer" {
		n = slices.Index(r.names, m[2])
	}
	if lines := r.lines[m[1]]; n >= 0 && n < len(lines) {
		return fault{lines[n], text}
	}
	return fault{0, text}
}

// blocks reads a list of blocks and notes their lines under a word.
func blocks[T any](r *storyReader, word string, n ast.Node, to *[]T, keys []key[T], check func(T, []*ast.MappingValueNode) []fault) []fault {
	var faults []fault
	for _, item := range listOf(n) {
		var v T
		entries, ok := mappingOf(item)
		if !ok || len(entries) == 0 {
			faults = append(faults, at(item, fmt.Errorf("want a list of blocks with the keys %s", strings.Join(keyNames(keys), ", ")))...)
			continue
		}
		found := readEntries(entries, &v, keys)
		if len(found) == 0 && check != nil {
			found = check(v, entries)
		}
		faults = append(faults, found...)
		*to = append(*to, v)
		r.lines[word] = append(r.lines[word], lineOf(entries[0].Key))
	}
	return faults
}
