package git

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// manifestName is the file that makes a folder of a repository a package.
const manifestName = "chaz-extension.json"

const (
	maxRepo = 2048
	maxPath = 1024
)

// target is a reference as this package understands it.
type target struct {
	ref  extension.Ref
	sha  string // 40 lower-case hex digits
	repo place
	// wasm is the path of a bare module; empty for a package in the folder dir ("" is the root).
	wasm string
	dir  string
	// anyName takes the name that the package gives itself; ref holds none yet.
	anyName bool
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", loaders.ErrInvalid, fmt.Errorf(format, args...))
}

// parseTarget judges the shape of a reference; its errors wrap ErrInvalid.
func parseTarget(ref extension.Ref) (target, error) {
	if ref.Kind() != extension.Git {
		return target{}, invalid("the kind is %.40q, not git", string(ref.Kind()))
	}
	if !extension.ValidName(ref.Name()) {
		return target{}, invalid("%.80q is no name of an extension", ref.Name())
	}
	t := target{ref: ref, sha: ref.Field("sha")}
	if err := checkSHA(t.sha); err != nil {
		return target{}, invalid("%w", err)
	}
	repo, fragment, found := strings.Cut(ref.Field("repo"), "#")
	var err error
	if t.repo, err = parsePlace(repo); err != nil {
		// What may be a password is not shown.
		return target{}, invalid("repo %.200q: %w", repo[strings.LastIndexByte(repo, '@')+1:], err)
	}
	if found {
		if err := t.parseFragment(fragment); err != nil {
			return target{}, invalid("repo fragment %.200q: %w", fragment, err)
		}
	}
	return t, nil
}

// checkSHA accepts the full hash of a commit and nothing that has to be looked up.
func checkSHA(sha string) error {
	hex := strings.Trim(sha, "0123456789abcdef") == ""
	switch {
	case isHash(sha):
		return nil
	case hex && len(sha) == 64:
		return errors.New("sha256 repositories are not supported by this version")
	case sha == "":
		return errors.New(`there is no "sha"`)
	case hex:
		return fmt.Errorf("sha has %d digits: the full hash of a commit has 40", min(len(sha), 1000))
	}
	return fmt.Errorf("sha %.80q is not the full hash of a commit (40 lower-case hex digits): no branch, tag or other revision", sha)
}

// isHash reports whether s is 40 lower-case hex digits.
func isHash(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == ""
}

// parseFragment reads "path=folder" or "wasm=file".
func (t *target) parseFragment(s string) error {
	key, value, _ := strings.Cut(s, "=")
	if strings.ContainsAny(value, "%&#") {
		return errors.New("a path is written as it is, without % & or #")
	}
	if err := checkPath(value); err != nil {
		return err
	}
	switch key {
	case "path":
		t.dir = value
	case "wasm":
		t.wasm = value
	default:
		return errors.New("only path=FOLDER and wasm=FILE are known")
	}
	return nil
}

// checkPath accepts a relative path of a tree: plain names joined by "/".
func checkPath(p string) error {
	switch {
	case p == "":
		return errors.New("the path is empty")
	case len(p) > maxPath:
		return fmt.Errorf("the path is longer than %d bytes", maxPath)
	case !utf8.ValidString(p):
		return errors.New("the path is not UTF-8")
	case strings.Count(p, "/") >= maxDepth:
		return fmt.Errorf("the path is deeper than %d", maxDepth)
	}
	for name := range strings.SplitSeq(p, "/") {
		switch {
		case name == "", name == ".", name == "..":
			return fmt.Errorf("the path %.80q is not relative and plain (no leading /, no . or ..)", p)
		case strings.EqualFold(name, ".git"):
			return errors.New("the path leads into .git")
		case strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || !unicode.IsPrint(r) }):
			return fmt.Errorf("the path %.80q has a control character or a backslash", p)
		}
	}
	return nil
}

// manifestPath is the path of the manifest, and inside joins a path that it names.
func (t target) manifestPath() string { return path.Join(t.dir, manifestName) }

func (t target) inside(rel string) (string, error) {
	if err := checkPath(rel); err != nil {
		return "", err
	}
	p := path.Join(t.dir, rel)
	return p, checkPath(p)
}
