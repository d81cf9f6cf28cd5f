package ipld

import (
	"fmt"

	"github.com/ipfs/go-cid"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// memory is a source of blocks that were checked, by multihash.
type memory map[string]verified

func (m memory) get(c cid.Cid) ([]byte, error) {
	b, ok := m[string(c.Hash())]
	if !ok {
		return nil, fmt.Errorf("block %s: %w", short(c), loaders.ErrMissing)
	}
	return b.data, nil
}

func (m memory) stat(c cid.Cid) (int64, bool, error) {
	b, ok := m[string(c.Hash())]
	return int64(len(b.data)), ok, nil
}
