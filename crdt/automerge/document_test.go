package automerge

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func TestApplyRefusesBadBytesAndKeepsHeads(t *testing.T) {
	a := newAuthor(t, crdt.Session, 1)
	fork := newAuthor(t, crdt.Session, 1)
	fork.clock = 5000
	c := a.rows(3)
	forked := fork.rows(1)[0]
	doc := build(t, New(), a.genesis, c[0])
	heads := doc.Heads()
	for name, bad := range map[string]change{
		"garbage":   {c[1].hash, []byte("this is no change at all, whatever it is")},
		"empty":     {c[1].hash, nil},
		"flipped":   {c[1].hash, flipped(c[1].raw)},
		"truncated": {c[1].hash, c[1].raw[:len(c[1].raw)/2]},
		"trailing":  {c[1].hash, slices.Concat(c[1].raw, c[2].raw)},
		"file":      {c[1].hash, doc.Save()},
		"other":     {c[2].hash, c[1].raw},
		"forked":    forked, // well-formed, but the actor has another change with this number
	} {
		err := doc.Apply(bad.hash, bad.raw)
		var refusal *crdt.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != crdt.ReasonCore {
			t.Errorf("%s: got %v, want a refusal by the core", name, err)
		}
		if !slices.Equal(doc.Heads(), heads) {
			t.Errorf("%s: the heads moved", name)
		}
	}
	for _, good := range c[1:] { // the control
		check(t, doc.Apply(good.hash, good.raw))
	}
	if !slices.Equal(doc.Heads(), a.heads()) {
		t.Errorf("heads %v, want %v", doc.Heads(), a.heads())
	}
	check(t, doc.Apply(c[1].hash, c[1].raw)) // again: no error, no effect
	if !slices.Equal(doc.Heads(), a.heads()) {
		t.Error("applying a change twice moved the heads")
	}
}

// The core says nothing about a change whose dependency is missing and keeps it aside; the document
// must refuse it and must not let it appear later.
func TestApplyRefusesAnOrphanForGood(t *testing.T) {
	a := newAuthor(t, crdt.Session, 1)
	c := a.rows(3)
	h, err := loadHandle(a.genesis.Raw)
	check(t, err)
	defer h.free()
	if err := h.load(c[1].raw); err != nil || h.known(c[1].hash) {
		t.Fatalf("the core now tells of orphans (%v): this test's premise is gone", err)
	}

	doc := build(t, New(), a.genesis)
	var missing *crdt.MissingError
	if err := doc.Apply(c[1].hash, c[1].raw); !errors.As(err, &missing) || !slices.Equal(missing.Deps, []crdt.ChangeHash{c[0].hash}) {
		t.Fatalf("got %v, want the missing dependency %s", err, c[0].hash)
	}
	check(t, doc.Apply(c[0].hash, c[0].raw))
	if got := doc.Heads(); !slices.Equal(got, []crdt.ChangeHash{c[0].hash}) {
		t.Errorf("the refused orphan is in the document: heads %v, want %s", got, c[0].hash)
	}
	check(t, doc.ApplyPage(sequence(c[1:])))
	if !slices.Equal(doc.Heads(), a.heads()) {
		t.Errorf("heads %v, want %v", doc.Heads(), a.heads())
	}
}

func TestApplyPageKeepsWhatCameBeforeTheBadChange(t *testing.T) {
	a := newAuthor(t, crdt.Session, 1)
	fork := newAuthor(t, crdt.Session, 1)
	fork.clock = 5000
	c, forked := a.rows(4), fork.rows(2)
	for name, bad := range map[string]change{"flipped": {c[2].hash, flipped(c[2].raw)}, "forked": forked[0]} {
		doc := build(t, New(), a.genesis)
		err := doc.ApplyPage(sequence([]change{c[0], c[1], bad, forked[1]}))
		var named *ChangeError
		if !errors.As(err, &named) || named.Hash != bad.hash {
			t.Errorf("%s: got %v, want an error that names %s", name, err, bad.hash)
		}
		if got := doc.Heads(); !slices.Equal(got, []crdt.ChangeHash{c[1].hash}) {
			t.Errorf("%s: heads %v, want %s", name, got, c[1].hash)
		}
		check(t, doc.ApplyPage(sequence(c)))
		if !slices.Equal(doc.Heads(), a.heads()) {
			t.Errorf("%s: the document does not go on", name)
		}
	}
}

func TestDocumentsAreIndependent(t *testing.T) {
	a := newAuthor(t, crdt.Session, 1)
	c := a.rows(2)
	core := New()
	one, two := build(t, core, a.genesis, c[0]), build(t, core, a.genesis, c[0])
	check(t, one.Apply(c[1].hash, c[1].raw))
	if got := two.Heads(); !slices.Equal(got, []crdt.ChangeHash{c[0].hash}) {
		t.Errorf("a change of one document is in the other: %v", got)
	}
	one.Close()
	check(t, two.Apply(c[1].hash, c[1].raw))
	if !slices.Equal(two.Heads(), a.heads()) {
		t.Error("closing one document harmed the other")
	}
	if core.Open() != 1 {
		t.Errorf("%d documents open, want 1", core.Open())
	}
}

func TestDifferentDocumentsAtOnce(t *testing.T) {
	a := newAuthor(t, crdt.Session, 1)
	c := a.rows(200)
	want := a.heads()
	core := New()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				doc, err := core.Build(a.genesis, sequence(c[:100]))
				if err != nil {
					t.Error(err)
					return
				}
				for _, x := range c[100:] {
					if err := doc.Apply(x.hash, x.raw); err != nil {
						t.Error(err)
					}
				}
				if !slices.Equal(doc.Heads(), want) || len(doc.Save()) == 0 {
					t.Error("a document is not what it should be")
				}
				doc.Close()
			}
		})
	}
	group.Wait()
	Trim()
	if core.Open() != 0 {
		t.Errorf("%d documents are left open", core.Open())
	}
}

// One document in two goroutines is against the contract; it must not harm memory all the same.
func TestOneDocumentAtOnceDoesNotCrash(t *testing.T) {
	a := newAuthor(t, crdt.Session, 1)
	c := a.rows(100)
	doc := build(t, New(), a.genesis)
	var group sync.WaitGroup
	group.Go(func() { check(t, doc.ApplyPage(sequence(c))) })
	group.Go(func() {
		for range 100 {
			doc.Save()
			doc.Heads()
		}
	})
	group.Wait()
	if !slices.Equal(doc.Heads(), a.heads()) {
		t.Errorf("heads %v, want %v", doc.Heads(), a.heads())
	}
}

func TestUseAfterClose(t *testing.T) {
	a := newAuthor(t, crdt.Session, 1)
	c := a.rows(1)[0]
	doc := build(t, New(), a.genesis)
	doc.Close()
	doc.Close()
	if err := doc.Apply(c.hash, c.raw); !errors.Is(err, errClosed) {
		t.Errorf("Apply: got %v, want %v", err, errClosed)
	}
	for name, call := range map[string]func(){"Heads": func() { doc.Heads() }, "Save": func() { doc.Save() }} {
		func() {
			defer func() {
				if err, ok := recover().(error); !ok || !errors.Is(err, errClosed) {
					t.Errorf("%s: panic with %v, want %v", name, err, errClosed)
				}
			}()
			call()
		}()
	}
	doc.Close() // the panics left no lock behind
}
