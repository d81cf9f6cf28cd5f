package sim

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// world is one run.
type world struct {
	opt     Options
	ctx     context.Context
	stopped context.Context // has ended: with it a feed answers at once
	pages   *docsync.Pages
	now     time.Duration // true time since the start
	queue   eventQueue
	order   uint64
	active  int // queued events that are neither timers nor attempts to connect
	net     *rand.Rand
	peers   []*peer
	links   []*link
	docs    []*doc
	ledger  *ledger
	res     Result
	step    int // of the plan, the last one played
	healed  bool
	sent    uint64        // frames sent, for telling who overtook whom
	talk    int           // frames that arrived, those that only keep a connection alive left out
	lastly  time.Duration // when the last of them did
	trace   hash.Hash
	line    *recorder
	faulty  map[Fault]bool
}

// doc is one document of the run.
type doc struct {
	n    int
	id   crdt.DocID
	kind crdt.Kind
}

func newWorld(ctx context.Context, opt Options, pages *docsync.Pages) *world {
	w := &world{
		opt: opt, ctx: ctx, pages: pages, net: newStream(opt.Seed, "net", 0), ledger: newLedger(), step: -1,
		trace: sha256.New(), faulty: map[Fault]bool{},
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	w.stopped = ended
	w.res = Result{Seed: opt.Seed, Faults: map[string]int{}, Invariants: map[string]int{}}
	for _, f := range opt.Faults {
		w.faulty[f] = true
	}
	if opt.Timeline {
		w.line = newRecorder(w)
	}
	return w
}

// after queues something.
func (w *world) after(d time.Duration, run func()) { w.add(d, false, run) }

// later queues something that keeps nobody waiting.
func (w *world) later(d time.Duration, run func()) { w.add(d, true, run) }

func (w *world) add(d time.Duration, idle bool, run func()) {
	w.order++
	if !idle {
		w.active++
	}
	w.queue.push(event{w.now + max(d, 0), w.order, idle, run})
}

// turn lets the next event happen if that is before a time; false when there is none.
func (w *world) turn(until time.Duration) bool {
	if w.res.Failure != nil || len(w.queue) == 0 || w.queue[0].at > until || w.ctx.Err() != nil {
		return false
	}
	e := w.queue.pop()
	w.now = e.at
	if !e.idle {
		w.active--
	}
	w.guard(e.run)
	return true
}

// advance lets time pass.
func (w *world) advance(to time.Duration) {
	for w.turn(to) {
	}
	if w.res.Failure == nil {
		w.now = max(w.now, to)
	}
}

// guard turns a panic into a failure of S1.
func (w *world) guard(run func()) {
	w.met(S1)
	defer func() {
		if p := recover(); p != nil {
			w.fail(S1, nil, "panic: %v\n%s", p, debug.Stack())
		}
	}()
	run()
}

// met counts one check of an invariant.
func (w *world) met(i Invariant) { w.res.Invariants[string(i)]++ }

// hit counts one fault that struck.
func (w *world) hit(f Fault) { w.res.Faults[string(f)]++ }

// fail notes the first failure; the run ends with it.
func (w *world) fail(i Invariant, p *peer, format string, args ...any) {
	if w.res.Failure != nil {
		return
	}
	f := &Failure{Invariant: i, Detail: fmt.Sprintf(format, args...), At: w.now.Milliseconds(), Step: w.step, Repro: w.opt.Repro()}
	if p != nil {
		f.Peer = p.name
	}
	w.res.Failure = f
	w.line.mark(p, "failure", string(i)+": "+f.Detail)
}

// note puts something into the trace.
func (w *world) note(what byte, a, b int, bytes []byte) {
	var head [25]byte
	head[0] = what
	binary.LittleEndian.PutUint64(head[1:], uint64(w.now))
	binary.LittleEndian.PutUint32(head[9:], uint32(a))
	binary.LittleEndian.PutUint32(head[13:], uint32(b))
	binary.LittleEndian.PutUint64(head[17:], uint64(len(bytes)))
	w.trace.Write(head[:])
	w.trace.Write(bytes)
}

func (w *world) result() Result {
	w.res.TraceHash = hex.EncodeToString(w.trace.Sum(nil)[:16])
	w.res.TrueTime = w.now.Milliseconds()
	if w.line != nil {
		w.res.Timeline = w.line.finish()
		w.line = nil // what ends the run is no part of it
	}
	return w.res
}

func (w *world) close() {
	for _, l := range w.links {
		l.cut()
	}
	for _, p := range w.peers {
		p.kill()
	}
}
