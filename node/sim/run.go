package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// Lab keeps what runs can share. Its methods are safe for concurrent use; a run uses one goroutine.
type Lab struct{ pages *docsync.Pages }

// New allocates a lab; Close frees it.
func New() (*Lab, error) {
	pages, err := docsync.NewPages()
	if err != nil {
		return nil, fmt.Errorf("make lab: %w", err)
	}
	return &Lab{pages}, nil
}

// Close frees the lab. No run may be going on.
func (l *Lab) Close() { l.pages.Close() }

// Run plays one run in a lab of its own.
func Run(ctx context.Context, opt Options) (Result, error) {
	lab, err := New()
	if err != nil {
		return Result{}, err
	}
	defer lab.Close()
	return lab.Run(ctx, opt)
}

// Run plays one run to its end, its first failure, or the end of ctx. A broken invariant is no error:
// see [Result.Failure]. Errors: options that make no sense, ctx.Err().
func (l *Lab) Run(ctx context.Context, opt Options) (Result, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return Result{}, err
	}
	w := newWorld(ctx, opt, l.pages)
	defer w.close()
	if opt.Scenario != nil {
		if err := w.runScenario(opt.Scenario); err != nil {
			return Result{}, err
		}
	} else {
		w.runPlan()
	}
	return w.result(), ctx.Err()
}

// runPlan plays what the seed says, heals everything and looks.
func (w *world) runPlan() {
	w.guard(w.setUp)
	list := plan(w.opt)
	next := 0
	for i := range list {
		a := list[i]
		w.advance(a.at)
		if w.res.Failure != nil || w.ctx.Err() != nil {
			return
		}
		if w.opt.Keep != nil {
			if next >= len(w.opt.Keep) {
				break
			}
			if w.opt.Keep[next] != i {
				continue
			}
			next++
		}
		if a.fault == "" || w.faulty[a.fault] {
			w.guard(func() { w.play(a) })
		}
	}
	if w.res.Failure != nil {
		return
	}
	w.guard(w.rest)
	w.settle()
	if w.res.Failure == nil && w.ctx.Err() == nil {
		w.guard(w.checkRest)
	}
}

// setUp makes the peers, their clocks, a session, in some runs an agent, and the first members.
func (w *world) setUp() {
	r := newStream(w.opt.Seed, "setup", 0)
	core := w.opt.newCore()
	rogue := -1
	if n := r.IntN(3 * w.opt.Peers); w.faulty[FaultRogue] && n > 0 && n < w.opt.Peers {
		rogue = n
	}
	for i := range w.opt.Peers {
		p := w.newPeer(i, string(rune('a'+i)), core)
		p.rogue = i == rogue
		p.tight = w.opt.Seed%64 == 5
		if w.faulty[FaultOffset] && chance(r, 60) {
			p.clock.at += pick(r, []int64{-50, 50, -3_600_000, 3_600_000, -86_400_000, 90_000, 31_536_000_000})
			w.hit(FaultOffset)
		}
		w.peers = append(w.peers, p)
		p.start()
	}
	w.addDoc(crdt.Session)
	if chance(r, 25) {
		w.addDoc(crdt.Agent)
	}
	for i, p := range w.peers[1:] {
		role := pick(r, []crdt.Role{crdt.NoRole, crdt.Read, crdt.Read, crdt.Write, crdt.Write, crdt.Write, crdt.Admin})
		if i == 0 {
			role = crdt.Admin // somebody who can invite is always there
		}
		for _, d := range w.docs {
			if p.rogue {
				w.admit(d, p, crdt.Read)
			} else {
				w.admit(d, p, role)
			}
		}
	}
	for i, p := range w.peers {
		p.backups = append(p.backups, p.disk.backup())
		for _, q := range w.peers[i+1:] {
			w.newLink(p, q).dialSoon()
		}
	}
}

func (w *world) addDoc(kind crdt.Kind) {
	owner := w.peers[0]
	id, err := owner.repo.Create(w.ctx, kind, func(tx *crdt.Tx) error { return tx.Set(crdt.MetaStore, "name", "lab") })
	if err != nil {
		w.fail(S1, owner, "create the %s: %v", kind, err)
		return
	}
	w.docs = append(w.docs, &doc{n: len(w.docs), id: id, kind: kind})
	v, err := owner.repo.Vector(w.ctx, id)
	if err != nil {
		w.fail(S1, owner, "read the %s: %v", kind, err)
	}
	for a, t := range v {
		owner.raise(a, t)
	}
}

// admit lets the first owner give a role, before anything else happens.
func (w *world) admit(d *doc, p *peer, role crdt.Role) {
	if role == crdt.NoRole {
		return
	}
	owner := w.peers[0]
	owner.issue(d, func(log *crdt.Access) (*crdt.Object, error) {
		parent, _ := log.GrantFor(owner.self())
		return owner.id.NewGrant(d.id, crdt.Grant{Parent: parent, Subject: p.self(), Role: role}, owner.rand)
	})
}

// quiet lets time pass until nothing has happened for a while, at most for a limit; false when that was
// not enough.
func (w *world) quiet(calm, most time.Duration) bool {
	end := w.now + most
	for w.now < end {
		if w.active == 0 && w.now >= w.lastly+calm && !w.syncing() {
			return true
		}
		if !w.turn(min(end, w.now+calm)) {
			if w.res.Failure != nil || w.ctx.Err() != nil {
				return false
			}
			w.now = min(end, w.now+calm)
		}
	}
	return w.active == 0 && !w.syncing()
}

// syncing reports whether a live session is still at work.
func (w *world) syncing() bool {
	for _, l := range w.links {
		if l.conn == nil {
			if l.open() {
				return true
			}
			continue
		}
		for _, s := range l.conn.sides {
			for _, d := range w.docs {
				switch s.p.states[place{s.far.n, d.id}] {
				case docsync.Syncing, docsync.Behind:
					if !s.closed && l.open() {
						return true
					}
				}
			}
		}
	}
	return false
}
