package main

import (
	"fmt"
	"strings"
)

// unknownKey says that a key is unknown and which one may have been meant.
func unknownKey(what, name string, known []string) string {
	s := fmt.Sprintf("unknown %s %q", what, clipText(name))
	if near := nearest(name, known); near != "" {
		return s + fmt.Sprintf(", did you mean %q?", near)
	}
	return s + ", known are " + strings.Join(known, ", ")
}

// nearest is the known word with the fewest edits to name, if that is few enough to be a slip.
func nearest(name string, known []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, k := range known {
		if d := distance(strings.ToLower(strings.ReplaceAll(name, "-", "_")), k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the least number of inserted, deleted, replaced or swapped characters.
func distance(a, b string) int {
	const most = 64
	if len(a) > most || len(b) > most {
		return most
	}
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
