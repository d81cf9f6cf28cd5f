package main

import (
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// largeWords say how the large content of a session stands; empty if there is none.
func largeWords(c *control.Contents) string {
	if c == nil {
		return ""
	}
	var parts []string
	if c.Count > 0 {
		parts = append(parts, fmt.Sprintf("%s, %s", plural(int64(c.Count), "large content"), bytesWords(c.Bytes)))
	}
	if c.Missing > 0 {
		why := ""
		if c.Reason != "" {
			why = " (" + clean(c.Reason) + ")"
		}
		parts = append(parts, fmt.Sprintf("%d not here%s", c.Missing, why))
	}
	if c.Invalid > 0 {
		parts = append(parts, fmt.Sprintf("%d named that can't be", c.Invalid))
	}
	return strings.Join(parts, "; ")
}

func contentsStyle(c *control.Contents) style {
	if c.Missing > 0 {
		return warn
	}
	return plain
}

// largeEntry says of one entry how large it is, and why it is not shown whole.
func largeEntry(e control.Entry) string {
	if !e.ContentMissing {
		return bytesWords(e.ContentSize) + " in all"
	}
	return fmt.Sprintf("only the beginning of %s: %s", bytesWords(e.ContentSize), clean(e.ContentReason))
}

// largeAre is the beginning of a sentence.
func largeAre(n int) string {
	if n == 1 {
		return "1 large content is"
	}
	return fmt.Sprintf("%d large contents are", n)
}
