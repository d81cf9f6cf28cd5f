package git

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// The modes of tree entries, without a leading zero.
const (
	modeTree    = "40000"
	modeLink    = "120000"
	modeGitlink = "160000"
)

// entry is one line of a tree.
type entry struct {
	mode string
	id   string
}

// findEntry returns the entry of a tree called name, to the letter. It reads the whole tree, because
// one that holds a name twice is a trick.
func findEntry(tree []byte, name string) (entry, error) {
	var found entry
	similar := ""
	for n := 0; len(tree) > 0; n++ {
		if n == maxEntries {
			return entry{}, fmt.Errorf("a folder has more than %d entries", maxEntries)
		}
		head, rest, ok := bytes.Cut(tree, []byte{0})
		mode, label, space := strings.Cut(string(head), " ")
		if !ok || !space || len(rest) < 20 || label == "" {
			return entry{}, errors.New("a malformed tree")
		}
		tree = rest[20:]
		switch {
		case label != name:
			if strings.EqualFold(label, name) {
				similar = label
			}
		case found.id != "":
			return entry{}, fmt.Errorf("a folder holds %.80q twice", name)
		default:
			found = entry{mode: strings.TrimPrefix(mode, "0"), id: hex.EncodeToString(rest[:20])}
		}
	}
	switch {
	case found.id != "":
		return found, nil
	case similar != "":
		return entry{}, fmt.Errorf("there is no %.80q, but %.80q (case matters)", name, similar)
	}
	return entry{}, fmt.Errorf("there is no %.80q", name)
}

// checkMode says whether an entry is a folder or, for the last name of a path, a plain file.
func (e entry) checkMode(last bool) error {
	switch {
	case e.mode == modeLink:
		return errors.New("it is a symbolic link, which is never followed")
	case e.mode == modeGitlink:
		return errors.New("it is a submodule, which is never fetched")
	case e.mode == modeTree && last:
		return errors.New("it is a folder, not a file")
	case e.mode == modeTree:
		return nil
	case e.mode != "100644" && e.mode != "100755" && e.mode != "100664":
		return fmt.Errorf("it has the unknown mode %.10q", e.mode)
	case !last:
		return errors.New("it is a file, not a folder")
	}
	return nil
}
