package crdt_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
)

// pickyCore is the real core, but it takes no change whose bytes hold a word.
type pickyCore struct {
	*automerge.Core
	word string
}

func (c *pickyCore) Build(genesis *crdt.Change, chunks iter.Seq2[crdt.ChangeHash, []byte]) (crdt.CoreDoc, error) {
	d, err := c.Core.Build(genesis, chunks)
	return &pickyDoc{d, c}, err
}

type pickyDoc struct {
	crdt.CoreDoc
	core *pickyCore
}

var errPicky = errors.New("not to my taste")

func (d *pickyDoc) Apply(hash crdt.ChangeHash, raw []byte) error {
	if d.core.word != "" && strings.Contains(string(raw), d.core.word) {
		return errPicky
	}
	return d.CoreDoc.Apply(hash, raw)
}

func (d *pickyDoc) ApplyPage(chunks iter.Seq2[crdt.ChangeHash, []byte]) error {
	for hash, raw := range chunks {
		if err := d.Apply(hash, raw); err != nil {
			return err
		}
	}
	return nil
}

// TestCoreRefusesOwnChange: what the core does not take is withdrawn from the store, though both
// were asked at the same time.
func TestCoreRefusesOwnChange(t *testing.T) {
	p := newPeer(t, 1, crdt.NewMemStore())
	core := &pickyCore{Core: automerge.New()}
	p.cfg.Core = core
	p.reopen(t)
	id := p.create(t)
	p.post(t, id, "first")
	core.word = "poison"
	err := p.Update(context.Background(), id, func(tx *crdt.Tx) error {
		_, err := crdt.AddEntry(tx, crdt.Entry{Sender: "user", Content: "poison"})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "core") {
		t.Fatalf("the refused change was written: %v", err)
	}
	p.post(t, id, "second")
	want := []string{"first", "second"}
	if got := p.texts(t, id); !slices.Equal(got, want) {
		t.Errorf("entries %q, want %q", got, want)
	}
	p.reopen(t)
	if got := p.texts(t, id); !slices.Equal(got, want) {
		t.Errorf("entries after reopening %q, want %q", got, want)
	}
	if _, err := p.Rebuild(context.Background(), id); err != nil {
		t.Error(err)
	}
	if core.Open() != 1 {
		t.Errorf("%d documents are open in the core, want 1", core.Open())
	}
}

// TestCoreRefusesReceivedChange: in a page, those before the bad one stay, it is refused for good,
// and those behind it may come again.
func TestCoreRefusesReceivedChange(t *testing.T) {
	a, b := newPeer(t, 1, crdt.NewMemStore()), newPeer(t, 2, crdt.NewMemStore())
	core := &pickyCore{Core: automerge.New(), word: "poison"}
	b.cfg.Core = core
	b.reopen(t)
	id := a.create(t)
	a.grant(t, id, b, crdt.Read)
	for i := range 3 {
		a.post(t, id, fmt.Sprint("good ", i))
	}
	a.post(t, id, "poison")
	a.post(t, id, "behind")
	var states []crdt.VerdictState
	for _, v := range b.pull(t, a, id) {
		states = append(states, v.State)
	}
	want := []crdt.VerdictState{crdt.Accepted, crdt.Accepted, crdt.Accepted, crdt.Accepted, crdt.Refused, crdt.Waiting}
	if !slices.Equal(states, want) {
		t.Errorf("verdicts %v, want %v", states, want)
	}
	for range 2 {
		if got := b.texts(t, id); len(got) != 3 {
			t.Errorf("entries %q, want the three good ones", got)
		}
		b.reopen(t)
	}
	refused, err := b.Refused(context.Background(), id)
	if err != nil || len(refused) != 1 || refused[0].Reason != crdt.ReasonCore {
		t.Errorf("refused %v, %v", refused, err)
	}
}
