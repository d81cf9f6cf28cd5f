package automerge

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	binding "github.com/automerge/automerge-go"
	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func TestBuildHoldsEveryChange(t *testing.T) {
	for _, n := range []int{0, 1, 3, 2000} { // 2,000 changes are several pages
		a := newAuthor(t, crdt.Session, 1)
		changes := a.rows(n)
		doc := build(t, New(), a.genesis, changes...)
		if got := doc.Heads(); !slices.Equal(got, a.heads()) {
			t.Errorf("%d changes: heads %v, want %v", n, got, a.heads())
		}
	}
}

func TestSavedFileHasTheSameHeadsAndChanges(t *testing.T) {
	a, b := newAuthor(t, crdt.Agent, 1), newAuthor(t, crdt.Agent, 2)
	a.set("config", "name", `"one"`)
	b.set("config", "name", `"two"`)
	changes := []change{a.commit(), b.commit()}
	doc := build(t, New(), a.genesis, changes...)
	loaded, err := binding.Load(doc.Save())
	check(t, err)
	if got := len(loaded.Heads()); got != 2 {
		t.Errorf("the saved file has %d heads, want 2", got)
	}
	for _, c := range changes {
		if _, err := loaded.Change(binding.ChangeHash(c.hash)); err != nil {
			t.Errorf("the saved file lacks change %s", c.hash)
		}
	}
}

// A bad change is named at every place in a page and across pages, whatever is wrong with it.
func TestBuildNamesTheFirstChangeThatIsNotTaken(t *testing.T) {
	a := newAuthor(t, crdt.Session, 1)
	fork := newAuthor(t, crdt.Session, 1) // the same actor, so the same sequence numbers
	fork.clock = 5000
	changes, forked := a.rows(1200), fork.rows(1)[0]
	for _, at := range []int{1, 2, 600, 1199} {
		for name, bad := range map[string]change{
			"flipped":   {changes[at].hash, flipped(changes[at].raw)},
			"truncated": {changes[at].hash, changes[at].raw[:len(changes[at].raw)-1]},
			"empty":     {changes[at].hash, nil},
			"two":       {changes[at].hash, append(bytes.Clone(changes[at].raw), changes[at].raw...)},
			"other":     {changes[at].hash, changes[at-1].raw},
			"forked":    forked,
		} {
			list := slices.Clone(changes)
			list[at] = bad
			core := New()
			_, err := core.Build(a.genesis, sequence(list))
			var named *ChangeError
			var refusal *crdt.Refusal
			if !errors.As(err, &named) || named.Hash != bad.hash {
				t.Errorf("%s at %d: got %v, want an error that names %s", name, at, err, bad.hash)
			} else if !errors.As(err, &refusal) || refusal.Reason != crdt.ReasonCore {
				t.Errorf("%s at %d: got %v, want a refusal by the core", name, at, err)
			}
			if core.Open() != 0 {
				t.Errorf("%s at %d: a document is left open", name, at)
			}
		}
	}
	build(t, New(), a.genesis, changes...) // the control: the same list unharmed
}

func TestBuildNamesAChangeBeforeItsDependencies(t *testing.T) {
	a := newAuthor(t, crdt.Session, 1)
	c := a.rows(3)
	_, err := New().Build(a.genesis, sequence([]change{c[0], c[2], c[1]}))
	var named *ChangeError
	var missing *crdt.MissingError
	if !errors.As(err, &named) || named.Hash != c[2].hash {
		t.Fatalf("got %v, want an error that names %s", err, c[2].hash)
	}
	if !errors.As(err, &missing) || !slices.Equal(missing.Deps, []crdt.ChangeHash{c[1].hash}) {
		t.Errorf("got %v, want the missing dependency %s", err, c[1].hash)
	}
}

func TestBuildRefusesABadGenesis(t *testing.T) {
	a := newAuthor(t, crdt.Session, 1)
	row := a.rows(1)[0]
	for name, g := range map[string]*crdt.Change{
		"none":    nil,
		"empty":   {Hash: a.genesis.Hash},
		"flipped": {Hash: a.genesis.Hash, Raw: flipped(a.genesis.Raw)},
		"other":   {Hash: row.hash, Raw: a.genesis.Raw},
		"orphan":  {Hash: row.hash, Raw: row.raw},
	} {
		core := New()
		if doc, err := core.Build(g, sequence(nil)); err == nil || doc != nil || core.Open() != 0 {
			t.Errorf("%s: got %v and %v, want an error and no document", name, doc, err)
		} else if !strings.Contains(err.Error(), "genesis") {
			t.Errorf("%s: %v does not speak of the genesis", name, err)
		}
	}
	build(t, New(), a.genesis)
}

// Any causal order, cut into any pages, gives the document that one author's merge gives.
func TestOrderAndPagesDoNotMatter(t *testing.T) {
	authors := make([]*author, 3)
	for i := range authors {
		authors[i] = newAuthor(t, crdt.Session, byte(i+1))
	}
	var streams [3][]change // two rounds without each other, with a meeting between them
	for i, a := range authors {
		streams[i] = a.rows(5)
	}
	meeting := slices.Concat(streams[0], streams[1], streams[2])
	var later [3][]change
	for i, a := range authors {
		a.take(meeting...)
		later[i] = a.rows(5)
	}
	authors[0].take(slices.Concat(later[1], later[2])...)
	core := New()
	rapid.Check(t, func(rt *rapid.T) {
		list := slices.Concat(interleave(rt, streams), interleave(rt, later))
		split := rapid.IntRange(0, len(list)).Draw(rt, "split")
		doc, err := core.Build(authors[0].genesis, sequence(list[:split]))
		if err != nil {
			rt.Fatal(err)
		}
		defer doc.Close()
		for rest := list[split:]; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "page")
			if err := doc.ApplyPage(sequence(rest[:n])); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
		}
		if !slices.Equal(doc.Heads(), authors[0].heads()) {
			rt.Fatalf("heads %v, want %v", doc.Heads(), authors[0].heads())
		}
	})
	if core.Open() != 0 {
		t.Errorf("%d documents are left open", core.Open())
	}
}

func interleave(rt *rapid.T, streams [3][]change) []change {
	var out []change
	for len(streams[0])+len(streams[1])+len(streams[2]) > 0 {
		i := rapid.IntRange(0, 2).Draw(rt, "stream")
		for len(streams[i]) == 0 {
			i = (i + 1) % 3
		}
		out, streams[i] = append(out, streams[i][0]), streams[i][1:]
	}
	return out
}

// flipped damages the last byte: the checksum no longer fits, so the bytes are harmless.
func flipped(raw []byte) []byte {
	raw = bytes.Clone(raw)
	raw[len(raw)-1] ^= 1
	return raw
}
