package crdt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// pages reads everything a peer has of a document.
func (p *peer) page(t *testing.T, id crdt.DocID) []crdt.SignedChange {
	t.Helper()
	page, _, _, err := p.Page(context.Background(), id, nil, nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func (p *peer) apply(t *testing.T, id crdt.DocID, page []crdt.SignedChange) []crdt.Verdict {
	t.Helper()
	v, err := p.Apply(context.Background(), id, page)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// adopt gives p the access log of a document and nothing else.
func (p *peer) adopt(t *testing.T, from *peer, id crdt.DocID) {
	t.Helper()
	access, err := from.Access(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	var objs [][]byte
	for _, o := range access.Objects() {
		objs = append(objs, o.Raw)
	}
	if _, err := p.Adopt(context.Background(), objs); err != nil {
		t.Fatal(err)
	}
}

func TestRefusalsOfReceivedChanges(t *testing.T) {
	type set struct {
		a, b, c *peer
		id      crdt.DocID
	}
	start := func(t *testing.T, role crdt.Role) set {
		s := set{a: newPeer(t, 1, crdt.NewMemStore()), b: newPeer(t, 2, crdt.NewMemStore()), c: newPeer(t, 3, crdt.NewMemStore())}
		s.id = s.a.create(t)
		s.a.grant(t, s.id, s.b, role)
		s.b.pull(t, s.a, s.id)
		return s
	}
	t.Run("a writer's row is accepted, a reader's is not", func(t *testing.T) {
		for role, want := range map[crdt.Role]crdt.VerdictState{crdt.Write: crdt.Accepted, crdt.Read: crdt.Refused} {
			s := start(t, role)
			s.b.cfg.IgnoreRole = true
			s.b.reopen(t)
			s.b.post(t, s.id, "hello")
			v := s.a.pull(t, s.b, s.id)
			if last := v[len(v)-1]; last.State != want {
				t.Errorf("role %s: verdict %+v, want state %d", role, last, want)
			}
			if got := len(s.a.texts(t, s.id)); got != map[bool]int{true: 1, false: 0}[want == crdt.Accepted] {
				t.Errorf("role %s: a shows %d entries", role, got)
			}
		}
	})
	t.Run("a writer may not write meta, an admin may", func(t *testing.T) {
		for role, want := range map[crdt.Role]crdt.VerdictState{crdt.Admin: crdt.Accepted, crdt.Write: crdt.Refused} {
			s := start(t, role)
			s.b.cfg.IgnoreRole = true
			s.b.reopen(t)
			err := s.b.Update(context.Background(), s.id, func(tx *crdt.Tx) error { return tx.Set("meta", "name", "mine") })
			if err != nil {
				t.Fatal(err)
			}
			v := s.a.pull(t, s.b, s.id)
			if last := v[len(v)-1]; last.State != want || want == crdt.Refused && last.Reason != crdt.ReasonRole {
				t.Errorf("role %s: verdict %+v", role, last)
			}
		}
	})
	t.Run("a forged signature is refused, the honest change is still taken", func(t *testing.T) {
		s := start(t, crdt.Write)
		s.b.post(t, s.id, "hello")
		s.a.adopt(t, s.b, s.id)
		page := s.b.page(t, s.id)
		forged := make([]crdt.SignedChange, len(page))
		for i, c := range page {
			sig := bytes.Clone(c.Sig)
			sig[5] ^= 1
			forged[i] = crdt.SignedChange{Raw: c.Raw, Sig: sig}
		}
		v := s.a.apply(t, s.id, forged)
		if last := v[len(v)-1]; last.State != crdt.Refused || last.Reason != crdt.ReasonSignature {
			t.Errorf("forged: %+v", last)
		}
		v = s.a.apply(t, s.id, page)
		if last := v[len(v)-1]; last.State != crdt.Accepted {
			t.Errorf("honest: %+v", last)
		}
	})
	t.Run("an unsigned change is refused unless a later one proves it", func(t *testing.T) {
		s := start(t, crdt.Write)
		s.b.post(t, s.id, "one")
		s.b.post(t, s.id, "two")
		s.a.adopt(t, s.b, s.id)
		page := s.b.page(t, s.id)
		n := len(page)
		bare := []crdt.SignedChange{{Raw: page[n-2].Raw}, {Raw: page[n-1].Raw}}
		if v := s.a.apply(t, s.id, bare); v[0].Reason != crdt.ReasonSignature {
			t.Errorf("unsigned: %+v", v)
		}
		v := s.a.apply(t, s.id, []crdt.SignedChange{{Raw: page[n-2].Raw}, page[n-1]})
		if v[0].State != crdt.Accepted || v[1].State != crdt.Accepted {
			t.Errorf("proved by the later one: %+v", v)
		}
	})
	t.Run("a gap waits", func(t *testing.T) {
		s := start(t, crdt.Write)
		s.b.post(t, s.id, "one")
		s.b.post(t, s.id, "two")
		s.a.adopt(t, s.b, s.id)
		page := s.b.page(t, s.id)
		v := s.a.apply(t, s.id, page[len(page)-1:])
		if v[0].State == crdt.Accepted {
			t.Errorf("gap accepted: %+v", v)
		}
		if v := s.a.apply(t, s.id, page); v[len(v)-1].State != crdt.Accepted {
			t.Errorf("whole sequence: %+v", v)
		}
	})
	t.Run("a stranger's change waits for ever", func(t *testing.T) {
		s := start(t, crdt.Write)
		s.c.pull(t, s.a, s.id)
		s.c.cfg.IgnoreRole = true
		s.c.reopen(t)
		s.c.post(t, s.id, "let me in")
		v := s.a.pull(t, s.c, s.id)
		if last := v[len(v)-1]; last.State != crdt.Waiting {
			t.Errorf("stranger: %+v", last)
		}
	})
	t.Run("garbage is refused and remembered, the document goes on", func(t *testing.T) {
		s := start(t, crdt.Write)
		v := s.a.apply(t, s.id, []crdt.SignedChange{{Raw: []byte("garbage that is no chunk")}, {Raw: nil}})
		if v[0].State != crdt.Refused || v[1].State != crdt.Refused {
			t.Errorf("garbage: %+v", v)
		}
		ref, err := s.a.Refused(context.Background(), s.id)
		if err != nil || len(ref) == 0 {
			t.Errorf("refused list: %v, %v", ref, err)
		}
		s.a.post(t, s.id, "still here")
		s.a.reopen(t)
		if got := s.a.texts(t, s.id); len(got) != 1 {
			t.Errorf("after garbage: %v", got)
		}
	})
}

// A home that was copied writes under one actor twice: the fork is proved and closed.
func TestCopiedHomeForks(t *testing.T) {
	store := crdt.NewMemStore()
	a, b := newPeer(t, 1, store), newPeer(t, 2, crdt.NewMemStore())
	id := a.create(t)
	a.grant(t, id, b, crdt.Write)
	b.pull(t, a, id)
	twin := newPeer(t, 1, store.Clone())
	a.post(t, id, "from the original")
	twin.post(t, id, "from the copy")
	b.pull(t, a, id)
	v := b.apply(t, id, twin.page(t, id))
	forked := 0
	for _, x := range v {
		if x.Reason == crdt.ReasonFork {
			forked++
		}
	}
	if forked == 0 {
		t.Fatalf("no fork seen: %+v", v)
	}
	access, err := b.Access(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	proofs := 0
	for _, o := range access.Objects() {
		if _, ok := o.Body.(*crdt.Equivocation); ok {
			proofs++
		}
	}
	if proofs != 1 {
		t.Errorf("%d proofs in the access log, want 1", proofs)
	}
	if got := b.texts(t, id); fmt.Sprint(got) != "[from the original]" {
		t.Errorf("b shows %v: it must stay on the branch it has", got)
	}
	b.post(t, id, "b goes on")
	if got := b.texts(t, id); len(got) != 2 {
		t.Errorf("b shows %v", got)
	}
}

// A peer that meets its own actor beyond its own store (a restored backup) writes under a new one.
func TestRestoredHomeTakesANewActor(t *testing.T) {
	store := crdt.NewMemStore()
	a, b := newPeer(t, 1, store), newPeer(t, 2, crdt.NewMemStore())
	id := a.create(t)
	a.grant(t, id, b, crdt.Write)
	backup := store.Clone()
	a.post(t, id, "after the backup")
	b.pull(t, a, id)
	restored := newPeer(t, 1, backup)
	restored.pull(t, b, id)
	restored.post(t, id, "after the restore")
	for _, v := range b.pull(t, restored, id) {
		if v.State != crdt.Accepted && v.State != crdt.Known {
			t.Errorf("verdict %+v", v)
		}
	}
	if got := b.texts(t, id); len(got) != 2 {
		t.Errorf("b shows %v", got)
	}
}

func TestRefusedIsNotOffered(t *testing.T) {
	a := newPeer(t, 1, crdt.NewMemStore())
	id := a.create(t)
	for i := range 5 {
		a.post(t, id, fmt.Sprint(i))
	}
	all := a.page(t, id)
	v := a.apply(t, id, all)
	without := map[crdt.ChangeHash]bool{v[2].Hash: true}
	page, upTo, more, err := a.Page(context.Background(), id, nil, without, 1<<20)
	if err != nil || more || len(page) != 2 || upTo[v[1].Actor].Seq != 2 {
		t.Errorf("page %d, up to %v, more %v, %v: want the two changes before the refused one", len(page), upTo, more, err)
	}
}

func TestNoRightWritesNothing(t *testing.T) {
	a, b := newPeer(t, 1, crdt.NewMemStore()), newPeer(t, 2, crdt.NewMemStore())
	id := a.create(t)
	a.grant(t, id, b, crdt.Read)
	b.pull(t, a, id)
	before, _ := b.Summary(id)
	err := b.Update(context.Background(), id, func(tx *crdt.Tx) error {
		_, err := crdt.AddEntry(tx, crdt.Entry{Content: "x"})
		return err
	})
	if !errors.Is(err, crdt.ErrNoRight) {
		t.Errorf("reader writes: %v", err)
	}
	if after, _ := b.Summary(id); after != before {
		t.Error("the refused write left something behind")
	}
}
