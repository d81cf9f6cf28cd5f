package node

import "github.com/chaz-peer/chaz-peer/loaders/git"

// CommitFiles makes a bare repository in a new folder, with one commit on the branch main that holds the
// files (by slash-separated path), and returns the commit's hash.
func CommitFiles(dir string, files map[string][]byte) (sha string, err error) {
	return git.CommitFiles(dir, files)
}
