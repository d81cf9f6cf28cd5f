package badger

import (
	"path/filepath"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() (crdt.Store, error) {
		dir := filepath.Join(t.TempDir(), "store")
		return func() (crdt.Store, error) { return Open(dir, Options{}) }
	})
}
