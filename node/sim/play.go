package sim

import (
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// play does one step. Steps that make no sense at the moment (a dead peer, no right) do nothing.
func (w *world) play(a act) {
	w.step = a.n
	w.note('a', a.n, a.a, []byte(a.do))
	p, q := w.peers[a.a], w.peers[a.b]
	done := false
	switch a.do {
	case DoPartition, DoHeal, DoReset, DoBlock, DoUnblock, doFlap, doLose, doRepeat:
		done = w.playNet(a, w.link(p, q), p)
	case DoJump, DoClock, DoDrift, DoCorrect:
		done = w.playClock(a, p)
	case DoCrash, DoStop, DoRestart, DoRestore, DoBackup, DoFull, DoRoom, doDisk:
		done = w.playProcess(a, p)
	default:
		done = p.up && w.playPeer(a, p, q)
	}
	if done {
		w.res.Steps++
		w.line.step(a, p)
		p.looked()
	}
}

func (w *world) playNet(a act, l *link, from *peer) bool {
	end := l.end(from)
	switch a.do {
	case DoPartition:
		l.partition()
		if a.for_ > 0 {
			w.later(a.for_, l.heal)
		}
	case DoHeal:
		l.heal()
	case DoReset:
		if l.conn == nil {
			return false
		}
		l.reset()
	case DoBlock:
		return w.playBlock(a, l, end)
	case DoUnblock:
		l.unblock(0)
		l.unblock(1)
	case doFlap:
		for at := time.Duration(0); at < a.for_; at += 2 * a.for_ / 7 {
			w.later(at, func() {
				if !w.healed {
					l.partition()
				}
			})
			w.later(at+a.for_/7, l.heal)
		}
	case doLose, doRepeat:
		s := l.side(from)
		if s == nil || s.tamper.kind != "" {
			return false
		}
		s.tamper = tamper{kind: a.do, arg: a.arg}
		return true // counted when it happens
	}
	if a.fault != "" {
		w.hit(a.fault)
	}
	return true
}

func (w *world) playBlock(a act, l *link, end int) bool {
	if l.blocked[end] {
		return false
	}
	ends := []int{end}
	if a.fault == FaultSilent {
		ends = []int{0, 1}
	}
	for _, e := range ends {
		l.block(e)
	}
	if a.for_ > 0 {
		w.later(a.for_, func() {
			for _, e := range ends {
				l.unblock(e)
			}
		})
	}
	if a.fault != "" {
		w.hit(a.fault)
	}
	return true
}

func (w *world) playClock(a act, p *peer) bool {
	switch a.do {
	case DoJump:
		p.clock.jump(a.for_)
	case DoClock:
		p.clock.set(min(max(a.stamp, -1<<63+extreme), 1<<63-1-extreme))
	case DoDrift:
		p.clock.drift(a.stamp)
	case DoCorrect:
		p.clock.correct(a.for_)
	}
	if a.fault != "" {
		w.hit(a.fault)
	}
	w.line.clock(p)
	return true
}

var diskWords = map[Fault]diskFault{FaultLost: diskLose, FaultTorn: diskTear, FaultLate: diskDieLate, FaultUnsure: diskUnsure}

func (w *world) playProcess(a act, p *peer) bool {
	if a.do == DoRestart {
		p.restartIn(0)
		return !p.up
	}
	if !p.up {
		return false
	}
	switch a.do {
	case DoCrash:
		p.leave(true)
		p.kill()
		p.newHome()
		p.comeBack(a)
	case DoStop:
		p.stop()
		p.comeBack(a)
	case DoRestore:
		p.leave(false)
		p.kill()
		p.newHome()
		p.restore(a)
	case DoBackup:
		p.backups = append(p.backups, p.disk.backup())
	case DoFull:
		p.disk.next = diskFull
		disk := p.disk
		if a.for_ > 0 {
			w.later(a.for_, func() { disk.next = diskFine })
		}
		return true // counted when a write fails
	case DoRoom:
		p.disk.next = diskFine
	case doDisk:
		p.disk.next = diskWords[a.fault]
		return true // counted when it strikes
	}
	if a.fault != "" {
		w.hit(a.fault)
	}
	return true
}

// comeBack starts a stopped peer again after a while; a scenario says itself when.
func (p *peer) comeBack(a act) {
	if a.for_ > 0 {
		p.restartIn(a.for_)
	}
}

// stop ends the process in order: sessions first, then the documents, which note what was applied.
func (p *peer) stop() {
	p.leave(false)
	p.up = false
	err := p.repo.Close()
	if err != nil && !isDisk(err) {
		p.w.fail(I9, p, "stop: %v", err)
	}
	if err != nil || p.disk.dead {
		p.newHome() // not a clean stop
	}
	p.disk.dead = true
	p.w.line.up(p, false)
}

// restore puts a backup in the place of the disk. What the peer had promised beyond it is gone.
func (p *peer) restore(a act) {
	switch n := len(p.backups); {
	case n == 0:
		p.disk = newDisk()
	case p.w.opt.Scenario != nil:
		p.disk = p.backups[n-1].backup()
	default:
		p.disk = p.backups[int(a.arg%uint64(n))].backup()
	}
	p.disk.dead = true // until it is started
	p.promised = nil   // read anew from what is there
	p.verdicts = map[crdt.ChangeHash]crdt.VerdictState{}
	p.comeBack(a)
}

// rest heals everything that was broken, except what clocks show: from here on all must come together.
func (w *world) rest() {
	w.healed = true
	for _, p := range w.peers {
		p.disk.next = diskFine
		if !p.up {
			p.disk = p.disk.reopen()
			p.start()
		}
	}
	for _, l := range w.links {
		l.down, l.blocked = 0, [2]bool{}
		l.recent = [2][][]byte{}
		l.reset()
		w.line.link(l)
	}
	w.line.mark(nil, "heal", "")
}
