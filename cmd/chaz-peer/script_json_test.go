package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdJSON checks a value in a JSON file: [!] json FILE PATH OP VALUE
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: json FILE PATH OP VALUE")
	}
	err := checkJSON(readJSON(ts, args[0]), args[1], args[2], args[3])
	if neg == (err != nil) {
		return
	}
	if neg {
		ts.Fatalf("%s %s %s, and should not", args[1], args[2], args[3])
	}
	ts.Fatalf("%v", err)
}

// readJSON is the text of a file; of lines:FILE, a list of its lines.
func readJSON(ts *testscript.TestScript, file string) string {
	name, ok := strings.CutPrefix(file, "lines:")
	text := ts.ReadFile(name)
	if !ok {
		return text
	}
	return "[" + strings.ReplaceAll(strings.TrimSpace(text), "\n", ",") + "]"
}

// cmdShape checks which fields objects have, others may be there too: shape FILE PATH FIELD:TYPE…
func cmdShape(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: shape FILE PATH FIELD:TYPE…")
	}
	all, err := valuesAt(readJSON(ts, args[0]), args[1])
	ts.Check(err)
	if len(all) == 0 {
		ts.Fatalf("%s: nothing there", args[1])
	}
	for _, v := range all {
		m, ok := v.(map[string]any)
		if !ok {
			ts.Fatalf("%s: no object: %s", args[1], text(v))
		}
		for _, want := range args[2:] {
			field, types, _ := strings.Cut(want, ":")
			x, there := m[field]
			if !there || !slices.ContainsFunc(strings.Split(types, "|"), func(t string) bool { return isType(x, t) }) {
				ts.Fatalf("%s: want %s in %s", args[1], want, text(v))
			}
		}
	}
}

// cmdGet keeps a value of a JSON file: get VARIABLE FILE PATH
func cmdGet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: get VARIABLE FILE PATH")
	}
	all, err := valuesAt(readJSON(ts, args[1]), args[2])
	ts.Check(err)
	if len(all) != 1 {
		ts.Fatalf("%s: %d values", args[2], len(all))
	}
	ts.Setenv(args[0], text(all[0]))
}

// checkJSON is the check of json and until: every value at the path must do, and there must be one.
func checkJSON(doc, path, op, want string) error {
	all, err := valuesAt(doc, path)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s: nothing there", path)
	}
	for _, v := range all {
		ok, err := compare(v, op, want)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !ok {
			return fmt.Errorf("%s is %s, want %s %s", path, text(v), op, want)
		}
	}
	return nil
}

func compare(v any, op, want string) (bool, error) {
	switch op {
	case "==":
		return text(v) == want, nil
	case "!=":
		return text(v) != want, nil
	case "~":
		return matches(text(v), want) == nil, nil
	case "is":
		return slices.ContainsFunc(strings.Split(want, "|"), func(t string) bool { return isType(v, t) }), nil
	case "has", "len", "sorted":
		list, ok := v.([]any)
		if !ok {
			return false, fmt.Errorf("no list: %s", text(v))
		}
		return compareList(list, op, want)
	case "<", "<=", ">", ">=":
		a, err1 := strconv.ParseFloat(text(v), 64)
		b, err2 := strconv.ParseFloat(want, 64)
		return op[0] == '<' && a < b || op[0] == '>' && a > b || op[1:] == "=" && a == b, errors.Join(err1, err2)
	}
	return false, fmt.Errorf("unknown operator %q", op)
}

func compareList(list []any, op, want string) (bool, error) {
	texts := make([]string, len(list))
	for i, x := range list {
		if m, ok := x.(map[string]any); ok && op == "sorted" {
			x = m[want]
		}
		texts[i] = text(x)
	}
	switch op {
	case "has":
		return slices.Contains(texts, want), nil
	case "len":
		return strconv.Itoa(len(list)) == want, nil
	}
	return slices.IsSorted(texts), nil
}

func matches(s, pattern string) error {
	re, err := regexp.Compile("(?m)" + pattern)
	if err == nil && !re.MatchString(s) {
		err = fmt.Errorf("no match for %s in:\n%s", pattern, s)
	}
	return err
}

// text is a JSON value as a script writes it: a string without its quotes.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

var lowerHex = regexp.MustCompile(`^[0-9a-f]{64}$`)

func isType(v any, t string) bool {
	s, isText := v.(string)
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "bool"
	case json.Number:
		_, err := v.Int64()
		return t == "number" || t == "int" && err == nil
	case []any:
		return t == "list"
	case map[string]any:
		return t == "object"
	}
	switch t {
	case "string":
		return isText
	case "hex":
		return isText && lowerHex.MatchString(s)
	case "time":
		at, err := time.Parse("2006-01-02T15:04:05.000Z", s)
		return isText && err == nil && at.Format("2006-01-02T15:04:05.000Z") == s
	}
	return false
}

var pathStep = regexp.MustCompile(`^(?:\.?([A-Za-z_][A-Za-z0-9_]*)|\[([^\]]*)\])`)

// valuesAt follows a path: .field, [2], [-1] (the last), [field=value] (the elements that have it),
// [*] (all elements); "." is the document itself.
func valuesAt(doc, path string) ([]any, error) {
	dec := json.NewDecoder(strings.NewReader(doc))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, fmt.Errorf("%w in: %.200s", err, doc)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value; lines:FILE reads a list of lines")
	}
	at := []any{root}
	rest := strings.TrimPrefix(path, ".")
	for rest != "" {
		m := pathStep.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("no path: %s", path)
		}
		rest = rest[len(m[0]):]
		var next []any
		for _, v := range at {
			next = append(next, step(v, m[1], m[2])...)
		}
		at = next
	}
	return at, nil
}

func step(v any, field, index string) []any {
	if m, ok := v.(map[string]any); ok && field != "" {
		if x, there := m[field]; there {
			return []any{x}
		}
		return nil
	}
	list, ok := v.([]any)
	if !ok || field != "" {
		return nil
	}
	key, want, picks := strings.Cut(index, "=")
	n, err := strconv.Atoi(index)
	switch {
	case index == "*":
		return list
	case picks:
		return slices.DeleteFunc(slices.Clone(list), func(x any) bool {
			m, ok := x.(map[string]any)
			return !ok || text(m[key]) != want
		})
	case err == nil && n < 0:
		n += len(list)
	}
	if err == nil && n >= 0 && n < len(list) {
		return list[n : n+1]
	}
	return nil
}

// TestScriptChecks sees to it that the checks of the scripts can fail.
func TestScriptChecks(t *testing.T) {
	const doc = `{"a":[{"id":"x","n":1},{"id":"y","n":-2.5}],"t":"2026-01-02T03:04:05.006Z","h":[],"z":null,"big":9223372036854775807}`
	for _, c := range []struct {
		path, op, want string
		ok             bool
	}{
		{"a[id=x].n", "==", "1", true},
		{"a[id=x].n", "==", "2", false},
		{"a[id=q].n", "!=", "7", false}, // nothing is there
		{"a[*].n", "<=", "1", true},
		{"a[*].n", "<", "1", false},
		{"a[-1].id", "~", "^y$", true},
		{"a", "len", "2", true},
		{"a", "sorted", "id", true},
		{"a", "sorted", "n", false},
		{"h", "len", "1", false},
		{"t", "is", "time", true},
		{"a[0].id", "is", "time", false},
		{"z", "is", "int|null", true},
		{"a[1].n", "is", "int", false},
		{"big", "==", "9223372036854775807", true},
		{"a", "matches", "x", false},
		{"a..n", "==", "1", false},
	} {
		if err := checkJSON(doc, c.path, c.op, c.want); (err == nil) != c.ok {
			t.Errorf("%s %s %s: %v", c.path, c.op, c.want, err)
		}
	}
}
