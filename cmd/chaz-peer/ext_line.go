package main

import (
	"fmt"
	"strings"
	"unicode"
)

// absLine makes the path in "/extensions add PATH [agent|session]" absolute: the node reads it in the
// working folder of the daemon, the person meant his own. Any other line stays as it is, and so does
// an argument that is a name or a reference. A path with blanks goes out in one pair of single quotes.
func (a *app) absLine(line string) (string, error) {
	words := strings.Fields(line)
	if len(words) < 3 || !strings.HasPrefix(line, "/") || words[0] != "/extensions" || words[1] != "add" {
		return line, nil
	}
	_, rest, _ := strings.Cut(line, "add")
	arg, scope := cutScope(strings.TrimSpace(rest))
	arg = unquote(arg)
	if !looksLikePath(arg) {
		return line, nil
	}
	path, err := a.absPath(arg)
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(path, "\r\n") {
		return "", &exit{exitUsage, fmt.Errorf("%q: a path in a command has no line breaks", path)}
	}
	if strings.ContainsFunc(path, unicode.IsSpace) {
		path = "'" + path + "'"
	}
	return "/extensions add " + path + scope, nil
}

// cutScope takes the word agent or session off the end; one word alone is never a scope.
func cutScope(args string) (arg, scope string) {
	i := strings.LastIndexFunc(args, unicode.IsSpace)
	if i < 0 {
		return args, ""
	}
	if last := args[i+1:]; last == "agent" || last == "session" {
		return strings.TrimSpace(args[:i]), " " + last
	}
	return args, ""
}

// unquote takes one pair of quotes off.
func unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}
