package automerge

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	binding "github.com/automerge/automerge-go"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// change is a change chunk under its hash.
type change struct {
	hash crdt.ChangeHash
	raw  []byte
}

func sequence(changes []change) iter.Seq2[crdt.ChangeHash, []byte] {
	return func(yield func(crdt.ChangeHash, []byte) bool) {
		for _, c := range changes {
			if !yield(c.hash, c.raw) {
				return
			}
		}
	}
}

// author makes changes with the binding's own functions, so that what the package does is compared
// with a second way through the library.
type author struct {
	t       testing.TB
	doc     *binding.Doc
	genesis *crdt.Change
	clock   int64
}

// newAuthor starts a document with the stores of kind, empty, in a first change that is the same for
// every author; actor (1 to 255) writes all further ones.
func newAuthor(t testing.TB, kind crdt.Kind, actor byte) *author {
	t.Helper()
	a := &author{t: t, doc: binding.New()}
	check(t, a.doc.SetActorID(hex.EncodeToString(make([]byte, 16))))
	for _, s := range kind.Stores() {
		check(t, a.doc.RootMap().Set(s.Name, binding.NewMap()))
	}
	first := a.commit()
	a.genesis = &crdt.Change{Hash: first.hash, Raw: first.raw}
	check(t, a.doc.SetActorID(hex.EncodeToString(bytes.Repeat([]byte{actor}, 16))))
	return a
}

func (a *author) set(store, key, value string) {
	a.t.Helper()
	check(a.t, a.doc.Path(store, key).Set(value))
}

func (a *author) commit() change {
	a.t.Helper()
	a.clock++
	when := time.UnixMilli(a.clock)
	hash, err := a.doc.Commit("", binding.CommitOptions{Time: &when})
	check(a.t, err)
	c, err := a.doc.Change(hash)
	check(a.t, err)
	return change{crdt.ChangeHash(hash), bytes.Clone(c.Save())}
}

// rows commits n changes of one row each.
func (a *author) rows(n int) []change {
	a.t.Helper()
	store, err := a.doc.Path("entries").Get()
	check(a.t, err)
	out := make([]change, n)
	for i := range out {
		value := fmt.Sprintf(`{"content":"line %d of what was said","sender":"%s","timestamp":%d}`, a.clock, a.doc.ActorID()[:2], a.clock)
		id := crdt.RowIDOf(value)
		check(a.t, store.Map().Set(id.String(), value))
		out[i] = a.commit()
	}
	return out
}

// take adds changes of another author.
func (a *author) take(changes ...change) {
	a.t.Helper()
	for _, c := range changes {
		check(a.t, a.doc.LoadIncremental(c.raw))
		_, err := a.doc.Change(binding.ChangeHash(c.hash))
		check(a.t, err)
	}
}

func (a *author) heads() []crdt.ChangeHash {
	var heads []crdt.ChangeHash
	for _, h := range a.doc.Heads() {
		heads = append(heads, crdt.ChangeHash(h))
	}
	slices.SortFunc(heads, func(x, y crdt.ChangeHash) int { return cmp.Compare(x.String(), y.String()) })
	return heads
}

func build(t testing.TB, core *Core, genesis *crdt.Change, changes ...change) crdt.CoreDoc {
	t.Helper()
	doc, err := core.Build(genesis, sequence(changes))
	check(t, err)
	t.Cleanup(doc.Close)
	return doc
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
