package automerge

import (
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Core opens documents in the Automerge core; safe for concurrent use.
type Core struct{ open atomic.Int64 }

var _ crdt.Core = (*Core)(nil)

// New returns a core without documents.
func New() *Core { return &Core{} }

// Open is the number of documents that were built and not closed; each holds C memory that nothing
// else frees.
func (c *Core) Open() int { return int(c.open.Load()) }

// Build implements [crdt.Core]: a document of the genesis change and of chunks in causal order. A
// chunk's bytes need to be valid only until the sequence goes on. When a change is not in the
// document after its page was fed, or is not what its hash says, the error is a *[ChangeError] that
// names the first such change, and no document remains.
func (c *Core) Build(genesis *crdt.Change, chunks iter.Seq2[crdt.ChangeHash, []byte]) (crdt.CoreDoc, error) {
	if genesis == nil {
		return nil, errors.New("build document: no genesis change")
	}
	if _, err := checkChunk(genesis.Hash, genesis.Raw); err != nil {
		return nil, fmt.Errorf("build document: genesis: %w", err)
	}
	h, err := loadHandle(genesis.Raw)
	if err != nil {
		return nil, fmt.Errorf("build document: genesis: %w", refused(genesis.Hash, "%v", err))
	}
	if !h.known(genesis.Hash) {
		h.free()
		return nil, fmt.Errorf("build document: genesis: %w", refused(genesis.Hash, "the core does not know it after loading it"))
	}
	if err := feed(h, chunks); err != nil {
		h.free()
		return nil, fmt.Errorf("build document: %w", err)
	}
	c.open.Add(1)
	return &document{core: c, handle: h}, nil
}
