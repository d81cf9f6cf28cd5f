package node_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/node"
)

// Tools, and the sandbox, see the whole work folder: a home inside it, with the key, is refused.
func TestWorkFolderIsNotTheHome(t *testing.T) {
	t.Parallel()
	open := func(home, work string) error {
		n, err := node.Open(context.Background(), node.Config{Home: home, Security: node.Security{WorkFolder: work}})
		if err == nil {
			err = n.Close()
		}
		return err
	}
	home := filepath.Join(t.TempDir(), "home")
	for _, work := range []string{home, filepath.Dir(home), filepath.Join(home, "x", ".."), "/"} {
		if err := open(home, work); err == nil || !strings.Contains(err.Error(), "choose a folder for tools alone") {
			t.Errorf("%s: %v", work, err)
		}
	}
	for _, work := range []string{"", filepath.Join(home, "work"), filepath.Join(filepath.Dir(home), "beside")} {
		if err := open(home, work); err != nil {
			t.Errorf("%s: %v", work, err)
		}
	}
}
