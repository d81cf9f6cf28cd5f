package activation

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// step is one thing that happens to a few peers that share a log.
type step struct {
	op        int // see play
	peer, far int
	name      string
	kind      Kind
	skew      int
	part      int // how much of the other's log arrives, in tenths
	version   int
}

const base = int64(1786000000000)

var skews = []int64{base, base - 50, base + 50, base - 3600_000, base + 3600_000, 0, 4070908800000, math.MinInt64, math.MaxInt64}

func steps() *rapid.Generator[[]step] {
	one := rapid.Custom(func(t *rapid.T) step {
		return step{
			op:      rapid.IntRange(0, 9).Draw(t, "op"),
			peer:    rapid.IntRange(0, 4).Draw(t, "peer"),
			far:     rapid.IntRange(0, 4).Draw(t, "far"),
			name:    rapid.SampledFrom(names[:3]).Draw(t, "name"),
			kind:    rapid.SampledFrom([]Kind{Activated, Deactivated}).Draw(t, "kind"),
			skew:    rapid.IntRange(0, len(skews)-1).Draw(t, "skew"),
			part:    rapid.IntRange(1, 10).Draw(t, "part"),
			version: rapid.IntRange(1, 9).Draw(t, "version"),
		}
	})
	return rapid.SliceOfN(one, 1, 40)
}

// replica is a peer's log: the real one, or a mutant that the checks must catch.
type replica interface {
	receive(e Event)
	write(now int64, kind Kind, name string, ref extension.Ref) ([]Event, error)
	upgrade(name string, ref extension.Ref) ([]Event, error)
	current(name string) (crdt.RowID, bool)
	newest() int64
}

type real struct{ *Log }

func (r real) receive(e Event) { r.Row(Store, row(e)) }
func (r real) write(now int64, kind Kind, name string, ref extension.Ref) ([]Event, error) {
	return r.Next(now, kind, name, ref)
}

func (r real) upgrade(name string, ref extension.Ref) ([]Event, error) { return r.Upgrade(name, ref) }

func (r real) current(name string) (crdt.RowID, bool) {
	e, ok := r.Latest(name)
	return e.ID, ok
}

func (r real) newest() int64 {
	if ts, ok := r.Newest(); ok {
		return ts
	}
	return math.MinInt64
}

// world is a run: what each peer holds in the order of arrival, and who had seen what.
type world struct {
	peers   []replica
	held    [][]Event
	has     []map[crdt.RowID]bool
	saw     map[crdt.RowID]map[crdt.RowID]bool // of a row: the rows of its name that its writer held
	origin  map[crdt.RowID]crdt.RowID          // of an activation: the fresh row it upgrades, itself if fresh
	upgrade map[crdt.RowID]bool
	all     map[crdt.RowID]Event
}

func newWorld(make func() replica) *world {
	w := &world{saw: map[crdt.RowID]map[crdt.RowID]bool{}, origin: map[crdt.RowID]crdt.RowID{}, upgrade: map[crdt.RowID]bool{}, all: map[crdt.RowID]Event{}}
	for range 5 {
		w.peers = append(w.peers, make())
		w.held = append(w.held, nil)
		w.has = append(w.has, map[crdt.RowID]bool{})
	}
	return w
}

func (w *world) give(p int, e Event) {
	w.all[e.ID] = e
	if !w.has[p][e.ID] {
		w.has[p][e.ID] = true
		w.held[p] = append(w.held[p], e)
	}
	w.peers[p].receive(e)
}

// play runs the steps and returns the first broken promise, or "".
func (w *world) play(t testing.TB, list []step) string {
	for _, s := range list {
		var broken string
		switch {
		case s.op < 4:
			broken = w.fresh(s.peer, []string{s.name}, s)
		case s.op == 4:
			broken = w.fresh(s.peer, names[:3], s)
		case s.op < 7:
			broken = w.replace(s.peer, s)
		case s.op == 7 && s.part > 7: // somebody writes by hand, whatever he holds
			w.give(s.peer, mustEvent(t, s.kind, s.name, skews[s.skew], nil, s.version))
		default:
			w.sync(s.peer, s.far, s.part)
		}
		if broken != "" {
			return broken
		}
		if broken = w.dominance(s.peer); broken != "" {
			return broken
		}
	}
	return w.heal()
}

// fresh writes one batch: every name from the state before it.
func (w *world) fresh(p int, list []string, s step) string {
	newest, rows := w.peers[p].newest(), [][]Event{}
	for _, name := range list {
		r, err := w.peers[p].write(skews[s.skew], s.kind, name, extension.BuiltinRef(name, fmt.Sprintf("0.%d.0", s.version)))
		if err != nil {
			return err.Error()
		}
		if r[0].Timestamp < newest {
			return "clamp: the stamp went back"
		}
		rows = append(rows, r)
	}
	return w.written(p, rows, false)
}

func (w *world) replace(p int, s step) string {
	cur, ok := w.peers[p].current(s.name)
	if !ok || w.all[cur].Kind != Activated {
		return ""
	}
	rows, err := w.peers[p].upgrade(s.name, extension.BuiltinRef(s.name, fmt.Sprintf("1.%d.0", s.version)))
	if err != nil {
		return err.Error()
	}
	last := rows[len(rows)-1]
	w.upgrade[last.ID] = true
	if w.origin[last.ID] = cur; w.upgrade[cur] {
		w.origin[last.ID] = w.origin[cur]
	}
	return w.written(p, [][]Event{rows}, true)
}

func (w *world) written(p int, batch [][]Event, upgrade bool) string {
	for _, rows := range batch {
		seen := map[crdt.RowID]bool{}
		for _, e := range w.held[p] {
			if e.Name == rows[0].Name {
				seen[e.ID] = true
			}
		}
		for _, e := range rows {
			if w.saw[e.ID] == nil {
				w.saw[e.ID] = map[crdt.RowID]bool{}
			}
			maps.Copy(w.saw[e.ID], seen) // two peers may write the same bytes
			if e.Kind == Activated && !upgrade {
				w.origin[e.ID] = e.ID
			}
		}
	}
	for _, rows := range batch {
		for _, e := range rows {
			w.give(p, e)
		}
	}
	for _, rows := range batch {
		last := rows[len(rows)-1]
		if cur, _ := w.peers[p].current(last.Name); cur != last.ID {
			return "P2: own write is not visible"
		}
	}
	return ""
}

// sync delivers the beginning of the other's log: rows arrive after those their writer had seen.
func (w *world) sync(to, from, tenths int) {
	n := (len(w.held[from])*tenths + 9) / 10
	for _, e := range slices.Clone(w.held[from][:n]) {
		w.give(to, e)
	}
}

// dominance checks P3 and that no upgrade undoes a removal, on what one peer holds.
func (w *world) dominance(p int) string {
	for _, name := range names {
		cur, ok := w.peers[p].current(name)
		if !ok {
			continue
		}
		readded, removed := false, false
		for _, e := range w.held[p] {
			if e.Name != name {
				continue
			}
			if w.saw[e.ID][cur] && e.ID != cur {
				return "P3: a row lost to one its writer had seen"
			}
			if e.Kind == Deactivated && w.upgrade[cur] && w.sawOrigin(e.ID, w.origin[cur]) {
				removed = true
			}
			if e.Kind == Activated && !w.upgrade[e.ID] && w.sawRemoval(e.ID) {
				readded = true
			}
		}
		if removed && !readded {
			return "an upgrade undid a removal"
		}
	}
	return ""
}

func (w *world) sawOrigin(id, origin crdt.RowID) bool {
	for s := range w.saw[id] {
		if w.origin[s] == origin || s == origin {
			return true
		}
	}
	return false
}

func (w *world) sawRemoval(id crdt.RowID) bool {
	for s := range w.saw[id] {
		if w.all[s].Kind == Deactivated {
			return true
		}
	}
	return false
}

// heal lets every peer hear every other, each in another order, and compares: P1.
func (w *world) heal() string {
	n := len(w.peers)
	for round := range 2 {
		for p := range n {
			for k := 1; k < n; k++ {
				w.sync(p, (p+k*(1+round*(n-2)))%n, 10)
			}
		}
	}
	for _, name := range names {
		want, _ := w.peers[0].current(name)
		for p := 1; p < n; p++ {
			if got, _ := w.peers[p].current(name); got != want {
				return "P1: equal rows, unequal sets"
			}
		}
	}
	for p := range n {
		if broken := w.dominance(p); broken != "" {
			return broken
		}
	}
	return ""
}

func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(func() replica { return real{NewLog()} })
		if broken := w.play(t, steps().Draw(rt, "steps")); broken != "" {
			rt.Fatal(broken)
		}
		want := oracle(w.held[0])
		for p := range w.peers {
			if !sameState(w.peers[p].(real).State(), want) {
				rt.Fatal("the log differs from a fold from scratch")
			}
		}
	})
}
