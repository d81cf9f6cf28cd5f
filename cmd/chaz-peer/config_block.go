package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// key is one key of a block of the config file, with its reader.
type key[T any] struct {
	name string
	read func(*T, ast.Node) []fault
}

func keyNames[T any](keys []key[T]) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return names
}

// readBlock reads a mapping with known keys.
func readBlock[T any](n ast.Node, to *T, keys []key[T]) []fault {
	entries, ok := mappingOf(n)
	if !ok {
		return at(n, fmt.Errorf("want lines of the form key: value, with the keys %s", strings.Join(keyNames(keys), ", ")))
	}
	return readEntries(entries, to, keys)
}

// readEntries reads the entries of a block and reports all faults, those of a value behind the name
// of its key. A key without a value is not given: that is what is left when values are commented out.
func readEntries[T any](entries []*ast.MappingValueNode, to *T, keys []key[T]) []fault {
	return eachEntry(entries, func(name string, line int, value ast.Node) []fault {
		i := slices.IndexFunc(keys, func(k key[T]) bool { return k.name == name })
		switch {
		case i < 0:
			return []fault{{line, unknownKey("key", name, keyNames(keys))}}
		case isNothing(value):
			return nil
		}
		return under(name, line, keys[i].read(to, value))
	})
}

// readNamed reads a mapping whose keys are names that a person chose.
func readNamed[T any](n ast.Node, to *map[string]T, check func(string) error, read func(*T, ast.Node) []fault) []fault {
	entries, ok := mappingOf(n)
	if !ok {
		return at(n, fmt.Errorf("want lines of the form name: value"))
	}
	*to = map[string]T{}
	return eachEntry(entries, func(name string, line int, value ast.Node) []fault {
		if err := check(name); err != nil {
			return []fault{{line, err.Error()}}
		}
		var v T
		faults := read(&v, value)
		(*to)[name] = v
		return under(name, line, faults)
	})
}

// eachEntry gathers the faults of entries; one that is there already is a fault itself.
func eachEntry(entries []*ast.MappingValueNode, read func(name string, line int, value ast.Node) []fault) []fault {
	var faults []fault
	seen := make(map[string]int)
	for _, entry := range entries {
		name, line := keyOf(entry)
		if first, twice := seen[name]; twice {
			faults = append(faults, fault{line, fmt.Sprintf("%s is given twice, first in line %d", clipText(name), first)})
			continue
		}
		seen[name] = line
		faults = append(faults, read(name, line, entry.Value)...)
	}
	return faults
}

// under says to which key faults belong.
func under(name string, line int, faults []fault) []fault {
	for i := range faults {
		if faults[i].line == 0 {
			faults[i].line = line
		}
		faults[i].text = name + ": " + faults[i].text
	}
	return faults
}

func isNothing(n ast.Node) bool {
	switch n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return true
	}
	return false
}

// readBlocks reads a list of blocks; finish checks each one.
func readBlocks[T any](n ast.Node, to *[]T, keys []key[T], finish func(T) error) []fault {
	var faults []fault
	*to = []T{}
	for _, item := range listOf(n) {
		var v T
		entries, ok := mappingOf(item)
		if !ok || len(entries) == 0 {
			faults = append(faults, at(item, fmt.Errorf("want a list of blocks with the keys %s", strings.Join(keyNames(keys), ", ")))...)
			continue
		}
		found := readEntries(entries, &v, keys)
		if len(found) == 0 {
			if err := finish(v); err != nil {
				found = at(entries[0].Key, err)
			}
		}
		faults = append(faults, found...)
		*to = append(*to, v)
	}
	return faults
}

// oneOf parses one of some words.
func oneOf(what string, words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("%s", unknownKey(what, s, words))
		}
		return s, nil
	}
}

// readWhole reads a whole number.
func readWhole[T int | int64](n ast.Node, to *T, least, most uint64) []fault {
	i, ok := n.(*ast.IntegerNode)
	if ok {
		if v, ok := i.Value.(uint64); ok && v >= least && v <= most {
			*to = T(v)
			return nil
		}
	}
	return at(n, fmt.Errorf("want a whole number from %d to %d", least, most))
}

// readSeconds reads a number of seconds for a deadline or a wait.
func readSeconds(n ast.Node, to *int64) []fault { return readWhole(n, to, 1, math.MaxInt32) }

// timeout parses a duration above zero; a bare number is seconds.
func timeout(s string) (time.Duration, error) {
	d, err := time.Duration(0), error(nil)
	if secs, no := strconv.ParseUint(s, 10, 31); no == nil {
		d = time.Duration(secs) * time.Second
	} else if d, err = parseDuration(s); err != nil {
		return 0, fmt.Errorf("%w, or a number of seconds", err)
	}
	if d < time.Millisecond {
		return 0, fmt.Errorf("%q is no time: want at least 1ms", clipText(s))
	}
	return d, nil
}

func readFlag(n ast.Node, to *bool) []fault {
	var b *bool
	faults := readBool(n, &b)
	if b != nil {
		*to = *b
	}
	return faults
}
