package skills

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFiles is how many files of one folder are read.
const maxFiles = 1_000

// scan reads the skill files (*.md) of folders, the first folder first, each by file name. Of one name
// the first counts. What can't be used is told to warn and left out; a folder that is not there is no
// fault.
func scan(dirs []string, warn func(path string, err error)) []skill {
	var out []skill
	seen := map[string]bool{}
	for _, dir := range dirs {
		for _, s := range scanDir(dir, warn) {
			if !seen[s.name] {
				seen[s.name] = true
				out = append(out, s)
			}
		}
	}
	return out
}

func scanDir(dir string, warn func(path string, err error)) []skill {
	// Links that lead out of the folder are refused: it may have come with somebody's project.
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		warn(dir, err)
		return nil
	}
	defer root.Close()
	files, err := fs.Glob(root.FS(), "*.md") // sorted
	if err != nil {
		warn(dir, err)
		return nil
	}
	var out []skill
	for i, name := range files {
		path := filepath.Join(dir, name)
		if i == maxFiles {
			warn(path, fmt.Errorf("read skills: the folder has more than %d files", maxFiles))
			break
		}
		s, err := readFile(root, name)
		if err != nil {
			warn(path, err)
			continue
		}
		out = append(out, s)
	}
	return out
}

func readFile(root *os.Root, name string) (skill, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return skill{}, err
	case !info.Mode().IsRegular(): // opening a pipe would wait
		return skill{}, errors.New("read skill: it is no file")
	}
	f, err := root.Open(name)
	if err != nil {
		return skill{}, err
	}
	defer f.Close()
	var b strings.Builder
	n, err := io.Copy(&b, io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return skill{}, err
	case n > maxFile:
		return skill{}, fmt.Errorf("read skill: it is larger than %d bytes", maxFile)
	}
	s, err := parseFile(b.String())
	if err != nil {
		return s, fmt.Errorf("read skill: %w", err)
	}
	return s, nil
}
