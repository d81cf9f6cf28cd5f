package chunk_test

import (
	"encoding/hex"
	"runtime"
	"testing"
	"time"

	"github.com/automerge/automerge-go"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// core is a document in the Automerge core that writes what our encoder writes, operation by
// operation, so that the bytes can be compared.
type core struct {
	t   testing.TB
	doc *automerge.Doc
}

func newCore(t testing.TB, actor crdt.ActorID, chunks ...[]byte) *core {
	t.Helper()
	c := &core{t: t, doc: automerge.New()}
	for _, raw := range chunks {
		c.load(raw)
	}
	if err := c.doc.SetActorID(hex.EncodeToString(actor[:])); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *core) load(raw []byte) {
	c.t.Helper()
	if err := c.doc.LoadIncremental(raw); err != nil {
		c.t.Fatal(err)
	}
}

// commit runs the operations of a change and returns the chunk the core makes of them.
func (c *core) commit(ops []crdt.Op, seconds int64) []byte {
	c.t.Helper()
	for _, op := range ops {
		v, err := c.doc.RootMap().Get(op.Store)
		if err != nil {
			c.t.Fatal(err)
		}
		if op.Delete {
			err = v.Map().Delete(op.Key)
		} else {
			err = v.Map().Set(op.Key, op.Value)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
	return c.save(seconds)
}

// save commits with a time in seconds: the core does not know the unit, the binding sends
// milliseconds.
func (c *core) save(seconds int64) []byte {
	c.t.Helper()
	at := time.UnixMilli(seconds)
	h, err := c.doc.Commit("", automerge.CommitOptions{Time: &at})
	if err != nil {
		c.t.Fatal(err)
	}
	ch, err := c.doc.Change(h)
	if err != nil {
		c.t.Fatal(err)
	}
	return ch.Save()
}

func (c *core) heads() []crdt.ChangeHash {
	var out []crdt.ChangeHash
	for _, h := range c.doc.Heads() {
		out = append(out, crdt.ChangeHash(h))
	}
	return out
}

// tidy lets the core's memory go: the garbage collector does not see it.
func tidy() { runtime.GC() }
