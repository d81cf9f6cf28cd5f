package crdt

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
)

// VerdictState is what became of one received change.
type VerdictState uint8

// The verdicts. Accepted and Known changes are durable here.
const (
	Accepted VerdictState = iota
	Known
	Refused
	Waiting // a dependency, or the object that binds its actor, is not here
)

// Verdict is the outcome of one received change.
type Verdict struct {
	Hash   ChangeHash
	Actor  ActorID
	Seq    uint64
	State  VerdictState
	Reason Reason // of a refusal
	Detail string
}

// RefusedChange is a change that failed a check for good: it is not kept, its hash is, so that it
// is not fetched again.
type RefusedChange struct {
	Hash   ChangeHash
	Actor  ActorID
	Seq    uint64
	Reason Reason
	Detail string
}

// Apply takes changes received from another peer, in causal order, through every check: strict
// decoding and the gate, the signature, the signer's role. It stores what passes in one commit,
// applies it, and returns one verdict for each change. The error is for the page as a whole
// (unknown document, store failure, a change that nothing in the page proves to be its author's).
func (r *Repo) Apply(ctx context.Context, id DocID, page []SignedChange) ([]Verdict, error) {
	var verdicts []Verdict
	err := r.with(ctx, id, func(s *slot, d *document) error {
		if _, err := r.needCore(ctx, d); err != nil {
			return err
		}
		p := &pageJudge{repo: r, doc: d, kind: s.kind, w: &writer{repo: r, slot: s, doc: d}, bad: map[ChangeHash]bool{}, fresh: map[place]ChangeHash{}}
		p.decode(page)
		p.prove()
		for i := range p.in {
			p.verdicts = append(p.verdicts, p.judge(i))
		}
		err := p.w.commit(ctx)
		verdicts = p.settled()
		return err
	})
	return verdicts, err
}

// pageJudge judges one page.
type pageJudge struct {
	repo     *Repo
	doc      *document
	kind     Kind
	w        *writer
	in       []received
	bad      map[ChangeHash]bool  // refused in this page
	fresh    map[place]ChangeHash // accepted in this page
	verdicts []Verdict
	spent    bool
}

// place is where a change stands in its actor's sequence.
type place struct {
	actor ActorID
	seq   uint64
}

type received struct {
	SignedChange
	change *Change
	err    error
	proved bool // a signature in this page covers it
}

func (p *pageJudge) decode(page []SignedChange) {
	p.in = make([]received, len(page))
	for i, c := range page {
		p.in[i].SignedChange = c
		p.in[i].change, p.in[i].err = p.repo.cfg.Codec.Decode(p.kind, c.Raw)
	}
}

// prove checks the newest signature of each actor and follows the chain of own previous changes
// down from it: each lists the hash of the one before among its dependencies.
func (p *pageJudge) prove() {
	prev := p.previous()
	want := map[ActorID]ChangeHash{}
	for i := len(p.in) - 1; i >= 0; i-- {
		rc := &p.in[i]
		if rc.change == nil {
			continue
		}
		c := rc.change
		if h, ok := want[c.Actor]; ok && h == c.Hash {
			rc.proved = true
		} else if len(rc.Sig) > 0 {
			rc.proved, rc.err = p.verify(c, rc.Sig)
		}
		delete(want, c.Actor)
		if j := prev[i]; rc.proved && j >= 0 {
			if before := p.in[j].change; before.Seq+1 == c.Seq && slices.Contains(c.Deps, before.Hash) {
				want[c.Actor] = before.Hash
			}
		}
	}
}

// previous lists for each change the place of the one by the same actor before it in the page, or -1.
func (p *pageJudge) previous() []int {
	last := map[ActorID]int{}
	out := make([]int, len(p.in))
	for i := range p.in {
		out[i] = -1
		c := p.in[i].change
		if c == nil {
			continue
		}
		if j, ok := last[c.Actor]; ok {
			out[i] = j
		}
		last[c.Actor] = i
	}
	return out
}

func (p *pageJudge) verify(c *Change, sig []byte) (bool, error) {
	info, ok := p.doc.view.access.Actor(c.Actor)
	if !ok {
		return false, nil // judged as waiting: the actor object may be on its way
	}
	if !verifyChange(info.Key, p.doc.id, c, sig) {
		return false, Refuse(ReasonSignature, "the signature at sequence number %d is not its author's", c.Seq)
	}
	return true, nil
}

// judge gives the verdict on one change and queues it for the commit when it is accepted.
func (p *pageJudge) judge(i int) Verdict {
	rc := &p.in[i]
	if rc.change == nil {
		return p.refuse(Verdict{Hash: rawHash(rc.Raw)}, rc.err)
	}
	c := rc.change
	v := Verdict{Hash: c.Hash, Actor: c.Actor, Seq: c.Seq}
	if h, ok := p.known(c); ok && h == c.Hash {
		v.State = Known
		return v
	} else if ok {
		p.noteFork(c, rc, h)
		return p.refuse(v, Refuse(ReasonFork, "another change of this actor has sequence number %d", c.Seq))
	}
	if ref, ok := p.doc.refused[c.Hash]; ok {
		v.State, v.Reason, v.Detail = Refused, ref.Reason, ref.Detail
		p.bad[c.Hash] = true
		return v
	}
	if dep, ok := p.onRefused(c); ok {
		p.bad[c.Hash] = true
		v.State, v.Reason, v.Detail = Refused, ReasonBlocked, fmt.Sprintf("it depends on the refused change %s", dep.String()[:12])
		return v
	}
	if rc.err != nil {
		return p.refuse(v, rc.err)
	}
	info, ok := p.doc.view.access.Actor(c.Actor)
	if !ok && p.doc.barred[c.Actor] {
		return p.refuse(v, Refuse(ReasonRole, "its author may only read"))
	}
	if !ok {
		v.State, v.Detail = Waiting, "no object here binds its actor"
		return v
	}
	if !rc.proved {
		return p.refuse(v, Refuse(ReasonSignature, "no signature in the page covers it"))
	}
	err := p.checkRole(c, info)
	if err == nil {
		err = p.doc.gate.Check(c)
	}
	var missing *MissingError
	switch {
	case errors.As(err, &missing):
		v.State, v.Detail = Waiting, err.Error()
	case err != nil:
		return p.refuse(v, err)
	default:
		p.accept(c, rc.Sig, info)
	}
	return v
}

func (p *pageJudge) known(c *Change) (ChangeHash, bool) {
	if h, ok := p.fresh[place{c.Actor, c.Seq}]; ok {
		return h, true
	}
	return p.doc.hashAt(c.Actor, c.Seq)
}

func (p *pageJudge) onRefused(c *Change) (ChangeHash, bool) {
	for _, dep := range c.Deps {
		if _, old := p.doc.refused[dep]; old || p.bad[dep] {
			return dep, true
		}
	}
	return ChangeHash{}, false
}

func (p *pageJudge) checkRole(c *Change, info ActorInfo) error {
	for _, op := range c.Ops {
		if s, _ := p.kind.Store(op.Store); info.Role < s.Needs() {
			return Refuse(ReasonRole, "writing to %s needs the role %s, the author has %s", op.Store, s.Needs(), info.Role)
		}
	}
	return nil
}

func (p *pageJudge) accept(c *Change, sig []byte, info ActorInfo) {
	p.doc.gate.Absorb(c)
	p.w.addChange(c, sig)
	p.fresh[place{c.Actor, c.Seq}] = c.Hash
	if info.Key == p.repo.Self() && !p.spent {
		// My own actor beyond my own store: a copy of this home writes under it too, or this store
		// lost something. Never again under this actor.
		p.spent = true
		p.repo.spendActor(&p.w.batch, p.doc.id)
		p.doc.own = nil
	}
}

// refuse remembers a change that failed for good. One that fails only because nothing proves who
// sent it is not remembered: its honest copy may still come.
func (p *pageJudge) refuse(v Verdict, err error) Verdict {
	v.State, v.Reason, v.Detail = Refused, ReasonMalformed, err.Error()
	var ref *Refusal
	if errors.As(err, &ref) {
		v.Reason, v.Detail = ref.Reason, ref.Detail
	}
	p.bad[v.Hash] = true
	if v.Reason != ReasonSignature && v.Reason != ReasonFork {
		rc := RefusedChange{v.Hash, v.Actor, v.Seq, v.Reason, v.Detail}
		if len(p.doc.refused) < maxRefused {
			p.doc.refused[v.Hash] = rc
			p.w.batch.Put(docKey(keyRefused, p.doc.id, v.Hash[:]...), rc.encode())
		}
	}
	return v
}

// settled corrects the verdicts by what the core said: the one it refused, and those behind it.
func (p *pageJudge) settled() []Verdict {
	if p.w.bad == (ChangeHash{}) {
		return p.verdicts
	}
	after := false
	for i := range p.verdicts {
		v := &p.verdicts[i]
		if v.State != Accepted {
			continue
		}
		if v.Hash == p.w.bad {
			v.State, v.Reason, after = Refused, ReasonCore, true
		} else if after {
			v.State, v.Detail = Waiting, "it came behind a change that the core refused"
		}
	}
	return p.verdicts
}

// noteFork keeps the proof when two changes of one actor have one sequence number and both are
// signed: it closes the actor on every peer.
func (p *pageJudge) noteFork(c *Change, rc *received, have ChangeHash) {
	if len(rc.Sig) == 0 {
		return
	}
	info, ok := p.doc.view.access.Actor(c.Actor)
	if !ok || info.Closed || !verifyChange(info.Key, p.doc.id, c, rc.Sig) {
		return
	}
	mine, err := p.repo.signatureAt(context.Background(), p.doc, c.Actor, c.Seq)
	if err != nil || len(mine) != ed25519.SignatureSize {
		return
	}
	a, b := SignedHash{Hash: have, Sig: [64]byte(mine)}, SignedHash{Hash: c.Hash, Sig: [64]byte(rc.Sig)}
	if proof, err := p.repo.cfg.Identity.NewEquivocation(p.doc.id, c.Actor, info.Key, c.Seq, a, b); err == nil {
		p.w.addObjects([]*Object{proof})
	}
}
