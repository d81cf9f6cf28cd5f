package ipld

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ipfs/go-cid"
)

// Stored is a block as it lies in the store.
type Stored struct {
	// ID is a CID of version 1 and codec raw with the hash of the block: the store does not know under
	// which codec a block is linked.
	ID   string
	Size int64
	// Put is when it was last put, by the clock of this machine.
	Put time.Time
}

// List returns every block, ordered by hash. Files with other names than the store's own are left out.
func (s *Store) List() ([]Stored, error) {
	var out []Stored
	for _, shard := range shards() {
		files, err := os.ReadDir(filepath.Join(s.dir, shard))
		if err != nil {
			return nil, fmt.Errorf("list blocks: %w", err)
		}
		for _, f := range files {
			c, ok := hashOfName(f.Name())
			if !ok {
				continue
			}
			info, err := f.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted meanwhile
			}
			if err != nil {
				return nil, fmt.Errorf("list blocks: %w", err)
			}
			out = append(out, Stored{ID: c.String(), Size: info.Size(), Put: info.ModTime()})
		}
	}
	return out, nil
}

// Size returns how many blocks there are and their bytes.
func (s *Store) Size() (blocks int, size int64, err error) {
	list, err := s.List()
	for _, b := range list {
		size += b.Size
	}
	return len(list), size, err
}

// rawID is the ID under which List has the block of a CID.
func rawID(c cid.Cid) string { return cid.NewCidV1(cid.Raw, c.Hash()).String() }
