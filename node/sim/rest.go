package sim

import (
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// The checks of what all must agree on, when everything has healed and come to rest.

// checkRest checks everything that speaks of agreement.
func (w *world) checkRest() {
	union := crdt.Vector{}
	for _, p := range w.peers {
		if !p.rogue {
			for a, t := range p.promised {
				if union[a].Seq < t.Seq {
					union[a] = t
				}
			}
		}
	}
	for _, d := range w.docs {
		members := w.members(d)
		w.checkStrangers(d, members)
		var first *picture
		for _, p := range members {
			pic := w.look(p, d)
			if pic == nil || w.res.Failure != nil {
				return
			}
			if first == nil {
				first = pic
			}
			w.checkEqual(members[0], p, first, pic)
			w.checkCopies(p, d, len(members))
			for _, a := range union.Actors() {
				if w.ledger.docOf[a] == d.id {
					p.holds(I2, crdt.Vector{a: union[a]}, "at rest")
				}
			}
			w.checkSigned(p, d, pic)
			w.checkSaved(p, d, pic)
		}
		w.checkRestarts(d, members)
	}
}

// checkStrangers: who was never let in has nothing.
func (w *world) checkStrangers(d *doc, members []*peer) {
	for _, p := range w.peers {
		if p.rogue || slices.Contains(members, p) {
			continue
		}
		w.met(S3)
		if p.repo.Has(d.id) {
			w.fail(S3, p, "it has the %s and was never let in", d.kind)
		}
	}
}

func (w *world) checkEqual(a, b *peer, x, y *picture) {
	w.met(I1)
	if !slices.Equal(x.heads, y.heads) || x.access != y.access {
		w.fail(I1, b, "its heads or access log differ from those of %s", a.name)
	}
	w.met(I3)
	if !x.state.Equal(y.state) {
		w.fail(I3, b, "it believes %s, %s believes %s", words(y.state), a.name, words(x.state))
	}
	if !slices.Equal(x.entries, y.entries) || x.records != y.records {
		w.fail(I3, b, "its entries or settings differ from those of %s", a.name)
	}
	if x.subject != y.subject {
		w.fail(I3, b, "the subject reads %.300q, at %s %.300q", y.subject, a.name, x.subject)
	}
}

// checkCopies: the count of copies is that of the members.
func (w *world) checkCopies(p *peer, d *doc, want int) {
	w.met(I2)
	n, err := p.repo.StoredOn(w.ctx, d.id)
	if err != nil || n < want {
		w.fail(I2, p, "it says the %s is stored on %d peers, %d have all of it: %v", d.kind, n, want, err)
	}
}

// checkSigned checks every signature, and that each change is its author's, without the product's help;
// and that no head has another one below it.
func (w *world) checkSigned(p *peer, d *doc, pic *picture) {
	access, err := p.repo.Access(w.ctx, d.id)
	if err != nil {
		w.fail(S1, p, "%v", err)
		return
	}
	proved, below := map[crdt.ChangeHash]bool{}, map[crdt.ChangeHash]bool{}
	seqs := map[crdt.ActorID]uint64{}
	for _, sc := range slices.Backward(pic.changes) {
		w.met(I4)
		c, err := w.ledger.read(d, sc)
		if err != nil {
			w.fail(I4, p, "a stored change can't be read: %v", err)
			return
		}
		info, ok := access.Actor(c.Actor)
		if !ok || info.Role < crdt.Write {
			w.fail(I4, p, "change %d of %s is of nobody who may write", c.Seq, c.Actor)
			return
		}
		proved[c.Hash] = proved[c.Hash] || w.ledger.signed(d, c, sc.Sig, info.Key)
		if !proved[c.Hash] {
			w.fail(I4, p, "change %d of %s is not signed by its author", c.Seq, c.Actor)
			return
		}
		if after, any := seqs[c.Actor]; any && after != c.Seq+1 {
			w.fail(I2, p, "changes between %d and %d of %s are missing", c.Seq, after, c.Actor)
			return
		}
		seqs[c.Actor] = c.Seq
		for _, dep := range c.Deps {
			below[dep] = true
		}
		if c.Seq > 1 {
			for _, dep := range c.Deps {
				proved[dep] = proved[dep] || w.ledger.actorOf[dep] == c.Actor
			}
		}
	}
	w.met(I6)
	for _, h := range pic.heads {
		if below[h] {
			w.fail(I6, p, "the head %s has changes on top of it", h.String()[:12])
		}
	}
}

// checkSaved: the Automerge file of the document names the same heads.
func (w *world) checkSaved(p *peer, d *doc, pic *picture) {
	file, err := p.repo.Export(w.ctx, d.id)
	if err != nil {
		w.fail(I5, p, "save the %s: %v", d.kind, err)
		return
	}
	if len(file) == 0 {
		return // a run without the core
	}
	w.met(I5)
	read := fileHeads
	if w.opt.rules.load != nil {
		read = w.opt.rules.load
	}
	if got, err := read(file); err != nil || !slices.Equal(got, pic.heads) {
		w.fail(I5, p, "the saved %s has other heads: %v", d.kind, err)
	}
}

// checkRestarts starts a member again from its disk, which one the seed says, and compares.
func (w *world) checkRestarts(d *doc, members []*peer) {
	n := int(mix(w.opt.Seed, "restarted", uint64(d.n)) % uint64(len(members)))
	for _, p := range members[n : n+1] {
		if w.res.Failure != nil {
			return
		}
		before := w.look(p, d)
		p.stop()
		p.disk = p.disk.reopen()
		p.start()
		w.met(I9)
		if !p.up || before == nil {
			return
		}
		after := w.look(p, d)
		if after == nil {
			return
		}
		if !slices.Equal(before.heads, after.heads) || before.access != after.access || !before.state.Equal(after.state) ||
			!slices.Equal(before.entries, after.entries) || before.records != after.records || before.subject != after.subject {
			w.fail(I9, p, "the %s is another one after a restart", d.kind)
		}
	}
}
