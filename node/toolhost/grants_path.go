package toolhost

import (
	"path/filepath"
	"strings"
)

// absolute returns the clean absolute form of a path that may be relative to the work folder.
func absolute(work, p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(work, p)
	}
	return filepath.Clean(p)
}

// below reports whether the clean path p is folder or lies in it.
func below(folder, p string) bool {
	rest, ok := strings.CutPrefix(p, folder)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(folder, string(filepath.Separator)))
}

func meetPaths(a, b string) (string, bool) {
	switch {
	case below(a, b):
		return b, true
	case below(b, a):
		return a, true
	}
	return "", false
}

func tidyPaths(list []string) []string { return tidy(list, strings.Compare, below) }
