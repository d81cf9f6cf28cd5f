package sim

import (
	"bytes"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// tamper says what happens to the next frame of a side that it fits.
type tamper struct {
	kind Action
	arg  uint64
}

// attack makes a member misuse its next page: it writes something, so that there is one.
func (p *peer) attack(d *doc, a act) bool {
	armed := false
	for _, l := range p.w.links {
		if s := l.side(p); s != nil && s.tamper.kind == "" {
			s.tamper = tamper{kind: a.do, arg: a.arg}
			armed = true
		}
	}
	if !armed {
		return false
	}
	for range 1 + int(a.arg%3) {
		p.post(d, a)
		a.arg += 1 << 20
	}
	return true
}

// tampered is what is sent instead of a frame; nil sends nothing.
func (s *side) tampered(f docsync.Frame, raw []byte) []byte {
	t := s.tamper
	changes, isPage := f.(*docsync.Changes)
	switch {
	case t.kind == doLose:
		s.tamper = tamper{}
		s.lose()
		return nil
	case t.kind == doRepeat:
		s.tamper = tamper{}
		s.repeat(t, raw)
		return raw
	case t.kind == doMangle && (t.arg%2 == 0 || isPage):
		s.tamper = tamper{}
		return s.mangle(t, changes, raw)
	case isPage && (t.kind == doForge || t.kind == doGap):
		var page []crdt.SignedChange
		fault := FaultForged
		if t.kind == doForge {
			page = s.forge(changes, t)
		} else {
			page, fault = s.gap(changes), FaultGap
		}
		if page == nil {
			return raw // not in this one
		}
		s.tamper = tamper{}
		return s.attackWith(fault, changes, page, raw)
	}
	return raw
}

// lose ends the stream as if it had lost a frame for good.
func (s *side) lose() {
	s.w.hit(FaultLoss)
	s.c.dirs[s.end].lost = true
	c := s.c
	s.w.later(between(s.c.link.rng, 200_000_000, 8_000_000_000), func() {
		if c.link.conn == c {
			c.link.reset()
		}
	})
}

// repeat lets a frame arrive once more, or one that was sent over an earlier connection.
func (s *side) repeat(t tamper, raw []byte) {
	s.w.hit(FaultDuplicate)
	s.c.tainted = true
	old := s.c.link.recent[s.end]
	if t.arg%2 == 0 && len(old) > 0 {
		raw = old[int(t.arg>>8)%len(old)]
	}
	s.c.carry(s.end, raw)
	s.goAway()
}

// goAway ends a connection on which somebody misbehaved: what can't be promised with such a peer is
// to be made up for with the others, or with this one when it behaves again.
func (s *side) goAway() {
	c := s.c
	s.w.later(between(s.c.link.rng, 50_000_000, 2_000_000_000), func() {
		if c.link.conn == c {
			c.link.reset()
		}
	})
}

func (s *side) mangle(t tamper, page *docsync.Changes, raw []byte) []byte {
	s.w.hit(FaultMangle)
	s.c.tainted = true
	s.goAway()
	if page != nil && t.arg%4 != 0 {
		if list, err := s.w.pages.Decode(page.Page); err == nil {
			// One bit of a chunk, in a page that is otherwise well made.
			at := int(t.arg>>4) % len(list)
			chunk := bytes.Clone(list[at].Raw)
			flip(chunk, t.arg>>16)
			list[at].Raw = chunk
			return s.repack(page, list, raw)
		}
	}
	raw = bytes.Clone(raw)
	flip(raw, t.arg>>16)
	return raw
}

func flip(b []byte, n uint64) { b[n>>3%uint64(len(b))] ^= 1 << (n & 7) }

func (s *side) attackWith(f Fault, frame *docsync.Changes, page []crdt.SignedChange, raw []byte) []byte {
	s.w.hit(f)
	s.c.tainted = true
	s.goAway()
	return s.repack(frame, page, raw)
}

func (s *side) repack(frame *docsync.Changes, page []crdt.SignedChange, raw []byte) []byte {
	packed, err := s.w.pages.Encode(page)
	if err != nil {
		return raw
	}
	out := *frame
	out.Page = packed
	b, err := docsync.Encode(&out)
	if err != nil {
		return raw
	}
	return b
}

// gap leaves out a change whose author's next one is in the page too.
func (s *side) gap(frame *docsync.Changes) []crdt.SignedChange {
	page, err := s.w.pages.Decode(frame.Page)
	if err != nil {
		return nil
	}
	seen := map[crdt.ActorID]int{}
	for i, c := range page {
		_, change := s.decode(c.Raw)
		if change == nil {
			return nil
		}
		if before, twice := seen[change.Actor]; twice {
			return slices.Delete(page, before, before+1)
		}
		seen[change.Actor] = i
	}
	return nil
}

// decode reads a chunk of a document that this lab knows.
func (s *side) decode(raw []byte) (*doc, *crdt.Change) {
	for _, d := range s.w.docs {
		c, err := chunk.New().Decode(d.kind, raw)
		if err == nil && s.w.ledger.docOf[c.Actor] == d.id {
			return d, c
		}
	}
	return nil, nil
}

// forge adds a change to a page that another member seems to have written: well made, on top of all
// that is there, signed with the forger's own key.
func (s *side) forge(frame *docsync.Changes, t tamper) []crdt.SignedChange {
	page, err := s.w.pages.Decode(frame.Page)
	if err != nil {
		return nil
	}
	d, _ := s.decode(page[0].Raw)
	if d == nil {
		return nil
	}
	gate := chunk.New().NewGate(d.id, d.kind)
	var victims []crdt.ActorID
	all, _, more, err := s.p.repo.Page(s.w.ctx, d.id, crdt.Vector{}, nil, 1<<30)
	if err != nil || more {
		return nil
	}
	heads := map[crdt.ChangeHash]bool{}
	for _, sc := range all {
		c, err := chunk.New().Decode(d.kind, sc.Raw)
		if err != nil {
			return nil
		}
		gate.Absorb(c)
		for _, dep := range c.Deps {
			delete(heads, dep)
		}
		heads[c.Hash] = true
		if by := s.w.ledger.changes[c.Hash].peer; by != s.p.n && !slices.Contains(victims, c.Actor) {
			victims = append(victims, c.Actor)
		}
	}
	if len(victims) == 0 {
		return nil
	}
	actor := victims[int(t.arg>>8)%len(victims)]
	edit := crdt.Edit{Store: "x_records", Key: "forged", Value: `"by somebody else"`}
	c, err := gate.Next(actor, 0, sortedHashes(heads), []crdt.Edit{edit})
	if err != nil || c == nil {
		return nil
	}
	return append(page, crdt.SignedChange{Raw: c.Raw, Sig: s.p.id.Sign(crdt.ChangeMessage(d.id, actor, c.Seq, c.Hash))})
}

func sortedHashes(set map[crdt.ChangeHash]bool) []crdt.ChangeHash {
	out := make([]crdt.ChangeHash, 0, len(set))
	for h := range set {
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b crdt.ChangeHash) int { return bytes.Compare(a[:], b[:]) })
	return out
}
