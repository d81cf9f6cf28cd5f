package toolhost

import (
	"fmt"
	"slices"
	"strings"
)

// rule is an entry of [ShellGrants]. An open one stands for every command line that begins with its
// words, another for exactly its words.
type rule struct {
	words []string
	open  bool
}

func parseRule(entry string) (rule, error) {
	words := strings.Fields(entry)
	switch {
	case len(words) == 0:
		return rule{}, fmt.Errorf("an empty entry")
	case strings.ContainsRune(entry, 0):
		return rule{}, fmt.Errorf("entry %.80q holds a zero byte", entry)
	}
	r := rule{words: words}
	if last := len(words) - 1; words[last] == "*" {
		r.words, r.open = words[:last], true
	}
	if slices.Contains(r.words, "*") {
		return rule{}, fmt.Errorf(`entry %.80q: "*" may only stand at the end`, entry)
	}
	if len(r.words) == 1 {
		r.open = true
	}
	return r, nil
}

func (r rule) String() string {
	if r.open && len(r.words) != 1 {
		return strings.Join(append(slices.Clone(r.words), "*"), " ")
	}
	return strings.Join(r.words, " ")
}

// covers reports whether every command line that fits o fits r too.
func (r rule) covers(o rule) bool {
	if !r.open {
		return !o.open && slices.Equal(r.words, o.words)
	}
	return len(o.words) >= len(r.words) && slices.Equal(o.words[:len(r.words)], r.words)
}

// mustRule reads an entry that was checked.
func mustRule(entry string) rule {
	r, err := parseRule(entry)
	if err != nil {
		panic(err)
	}
	return r
}

func meetRules(a, b string) (string, bool) {
	x, y := mustRule(a), mustRule(b)
	switch {
	case x.covers(y):
		return y.String(), true
	case y.covers(x):
		return x.String(), true
	}
	return "", false
}

func tidyRules(list []string) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, entry := range list {
		out[i] = mustRule(entry).String()
	}
	return tidy(out, strings.Compare, func(a, b string) bool { return mustRule(a).covers(mustRule(b)) })
}
