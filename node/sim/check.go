package sim

import (
	"errors"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// The checks of every step.

// Bounds of what may wait to be written to one connection: a driver cuts it off there.
const (
	maxQueuedBytes  = 16 << 20
	maxQueuedFrames = 1 << 16
)

func (s *side) checkQueues() {
	s.w.met(S2)
	d := &s.c.dirs[s.end]
	if d.bytes > maxQueuedBytes || d.count > maxQueuedFrames {
		s.w.fail(S2, s.p, "%d bytes in %d frames wait for %s", d.bytes, d.count, s.far.name)
	}
}

// checkSent holds an acknowledgement against the disk, before anybody tampers with it.
func (s *side) checkSent(f docsync.Frame) {
	var told []docsync.VectorEntry
	switch f := f.(type) {
	case *docsync.Ack:
		told = f.Vector
	case *docsync.Have:
		told = f.Vector
	default:
		return
	}
	s.w.met(S4)
	for _, e := range told {
		if _, down := s.p.disk.down[e.Hash]; !down {
			s.w.fail(S4, s.p, "it tells %s that change %d of %s is stored, which is not on its disk", s.far.name, e.Seq, e.Actor)
			return
		}
		s.p.raise(e.Actor, crdt.Tip{Seq: e.Seq, Hash: e.Hash})
	}
}

// judgeEnd looks at why a session ended: honest peers don't break the protocol.
func (s *side) judgeEnd(err error) {
	var proto *docsync.ProtocolError
	var remote *docsync.RemoteError
	switch {
	case s.c.tainted || errors.As(err, &remote):
	case !errors.As(err, &proto):
		s.w.fail(S1, s.p, "the session with %s ended: %v", s.far.name, err)
	case proto.Cause != docsync.CauseSilence:
		s.w.fail(S1, s.p, "the session with %s, who did nothing wrong, ended: %v", s.far.name, err)
	}
}

// judgeWork looks at the outcome of a work, the verdicts on changes above all.
func (s *side) judgeWork(work docsync.Work, result docsync.Result, err error) {
	var proto *docsync.ProtocolError
	if err != nil && !isDisk(err) && !errors.As(err, &proto) && !errors.Is(err, crdt.ErrUnknownDoc) {
		s.w.fail(S1, s.p, "%T for %s: %v", work, s.far.name, err)
	}
	r, ok := result.(docsync.PageApplied)
	if !ok || err != nil {
		return
	}
	for _, v := range r.Verdicts {
		s.p.judge(v, s.far)
	}
}

func (p *peer) judge(v crdt.Verdict, from *peer) {
	p.w.note('v', p.n, int(v.State), v.Hash[:])
	p.w.met(S3)
	by, written := p.w.ledger.changes[v.Hash]
	if v.State == crdt.Accepted && !p.rogue {
		switch {
		case !written:
			p.w.fail(S3, p, "it takes from %s change %d of %s, which nobody wrote", from.name, v.Seq, v.Actor)
		case by.rogue:
			p.w.fail(S3, p, "it takes from %s what %s wrote, who may only read", from.name, p.w.peers[by.peer].name)
		}
	}
	if v.State == crdt.Waiting || v.Reason == crdt.ReasonSignature || v.Reason == crdt.ReasonFork || v.Reason == crdt.ReasonBlocked {
		return // says nothing about the change for good
	}
	p.w.met(S6)
	if v.State == crdt.Known {
		v.State = crdt.Accepted
	}
	if before, any := p.verdicts[v.Hash]; any && before != v.State {
		p.w.fail(S6, p, "its verdict on change %d of %s turned (%d, now %d: %s %s)", v.Seq, v.Actor, before, v.State, v.Reason, v.Detail)
	}
	p.verdicts[v.Hash] = v.State
	if written && !by.rogue && v.State == crdt.Refused && !p.rogue {
		p.w.fail(S3, p, "it refuses change %d of %s for good, which %s wrote by right: %s: %s", v.Seq, v.Actor, p.w.peers[by.peer].name, v.Reason, v.Detail)
	}
}

// kept checks, when a peer starts, that what was promised is there.
func (p *peer) kept() {
	p.w.met(I9)
	if p.promised == nil {
		p.promised = crdt.Vector{}
		for _, d := range p.w.docs {
			if v, err := p.repo.Vector(p.w.ctx, d.id); err == nil {
				for a, t := range v {
					p.raise(a, t)
				}
			}
		}
		return
	}
	p.holds(I9, p.promised, "after a restart")
}

// holds checks that a peer has all changes up to those of a vector over all documents.
func (p *peer) holds(i Invariant, want crdt.Vector, when string) {
	for _, a := range want.Actors() {
		t := want[a]
		h, ok, err := p.repo.HashAt(p.w.ctx, p.w.ledger.docOf[a], a, t.Seq)
		if err != nil && isDisk(err) {
			return
		}
		if err != nil || !ok || h != t.Hash {
			p.w.fail(i, p, "%s change %d of %s, which was acknowledged, is not there: %v", when, t.Seq, a, err)
			return
		}
	}
}
