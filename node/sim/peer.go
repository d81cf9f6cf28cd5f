package sim

import (
	"io"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// peer is one peer through all its lives: what survives a crash (key, disk, clock, backups) and what
// does not (repo, host).
type peer struct {
	w       *world
	n       int
	name    string
	id      *crdt.Identity
	rand    io.Reader
	clock   *clock
	disk    *disk
	backups []*disk
	home    [16]byte // epoch of this life of the home
	rogue   bool     // a reader whose program ignores its role
	tight   bool     // keeps no document in memory that is not in use
	core    crdt.Core

	up   bool
	repo *crdt.Repo
	host docsync.Host

	joins    []docsync.Join
	states   map[place]docsync.State
	verdicts map[crdt.ChangeHash]crdt.VerdictState
	newest   uint64      // number of the newest frame that arrived
	promised crdt.Vector // what was acknowledged, to the user or to other peers; actors of all documents
}

// place is a document with another peer.
type place struct {
	far int
	doc crdt.DocID
}

func (w *world) newPeer(n int, name string, core crdt.Core) *peer {
	p := &peer{
		w: w, n: n, name: name, rand: newBytes(w.opt.Seed, "peer", n), disk: newDisk(), core: core,
		states: map[place]docsync.State{}, verdicts: map[crdt.ChangeHash]crdt.VerdictState{}, promised: crdt.Vector{},
	}
	p.clock = &clock{world: w, at: epoch}
	var err error
	if p.id, err = crdt.NewIdentity(p.rand); err != nil {
		panic(err) // the source never ends
	}
	return p
}

// newCore is the core of a run.
func (o Options) newCore() crdt.Core {
	if o.Core == CoreAlways || o.Core == CoreShare && (o.Scenario != nil || o.Seed%8 == 0) {
		return automerge.New()
	}
	return lightCore{}
}

// start begins a life on what the disk holds.
func (p *peer) start() {
	codec := crdt.Codec(chunk.New())
	if wrap := p.w.opt.rules.codec; wrap != nil {
		codec = wrap(codec)
	}
	index := p.w.opt.rules.index
	if index == nil {
		index = activation.Index
	}
	indexes := []crdt.IndexSpec{crdt.EntryIndex(), index()}
	if s := p.w.opt.Subject; s != nil {
		indexes = append(indexes, s.Indexes...)
	}
	budget := int64(0)
	if p.tight {
		budget = 1
	}
	p.disk.hit = p.diskHit
	p.disk.cut = func(n int) int { return p.w.net.IntN(n + 1) }
	repo, err := crdt.NewRepo(p.w.ctx, crdt.Config{
		Store: p.disk, Identity: p.id, Clock: p.clock, Core: p.core, Rand: p.rand,
		Codec:   scribe{codec, func(d crdt.DocID, c *crdt.Change) { p.w.ledger.wrote(p, d, c) }},
		Indexes: indexes, MemoryBudget: budget, HomeEpoch: p.home, IgnoreRole: p.rogue,
	})
	if err != nil {
		p.w.fail(I9, p, "start on what the disk holds: %v", err)
		return
	}
	p.repo, p.up = repo, true
	p.host = docsync.NewRepoHost(repo, p.clock, opinion{p}, p.w.pages)
	if wrap := p.w.opt.rules.host; wrap != nil {
		p.host = wrap(p, p.host)
	}
	p.w.line.up(p, true)
	p.kept()
	for _, l := range p.w.links {
		l.dialSoon()
	}
}

var diskFaults = map[diskFault]Fault{
	diskLose: FaultLost, diskTear: FaultTorn, diskDieLate: FaultLate, diskFull: FaultFull, diskUnsure: FaultUnsure,
}

func (p *peer) diskHit(f diskFault) {
	p.w.hit(diskFaults[f])
	p.w.note('d', p.n, int(f), nil)
	p.w.line.mark(p, string(diskFaults[f]), "")
}

// newHome begins another epoch, as after an unclean stop or a restore.
func (p *peer) newHome() {
	if _, err := io.ReadFull(p.rand, p.home[:]); err != nil {
		panic(err)
	}
}

// kill ends the process without a word to its disk; the memory of the core is given back.
func (p *peer) kill() {
	if !p.up {
		return
	}
	p.up = false
	p.disk.dead = true
	_ = p.repo.Close() // the disk is dead, so it can only fail
	p.w.line.up(p, false)
}

// die ends the process and what it had with others, and starts it again after a while.
func (p *peer) die(down time.Duration) {
	p.leave(true)
	p.kill()
	p.newHome()
	p.restartIn(down)
}

func (p *peer) restartIn(down time.Duration) {
	p.w.after(down, func() {
		if !p.up {
			p.disk = p.disk.reopen()
			p.start()
		}
	})
}

// leave ends all sessions. Where the process died, some of the others hear nothing of it.
func (p *peer) leave(died bool) {
	for _, l := range p.w.links {
		if s := l.side(p); s != nil {
			quiet := died && chance(l.rng, 40)
			if quiet {
				p.w.hit(FaultHalfOpen)
			}
			s.close(!quiet)
		}
	}
}

// looked is to be called after everything that may have touched the repo: it finds out whether the
// process has died in it, and passes on which documents changed.
func (p *peer) looked() {
	if !p.up {
		return
	}
	if p.disk.dead {
		p.w.line.mark(p, "died", "")
		p.die(between(p.w.net, 100*time.Millisecond, 5*time.Second))
		return
	}
	if p.tight {
		p.w.met(S2)
		if n := p.repo.Loaded(); n > 0 {
			p.w.fail(S2, p, "%d documents are in memory, which has room for none that is not in use", n)
		}
	}
	for _, l := range p.w.links {
		if s := l.side(p); s != nil {
			s.follow()
		}
	}
	p.w.line.believe(p)
}

// latest notes that a frame arrived and returns the number of the newest before it.
func (p *peer) latest(number uint64) uint64 {
	before := p.newest
	p.newest = max(p.newest, number)
	return before
}

func (p *peer) self() crdt.PeerID { return p.id.PeerID() }

// raise notes a promise.
func (p *peer) raise(a crdt.ActorID, t crdt.Tip) {
	if p.promised[a].Seq < t.Seq {
		p.promised[a] = t
	}
}
