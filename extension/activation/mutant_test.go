package activation

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// mutant is a log in which one rule is broken. The checks are worth something only if they notice.
type mutant struct {
	events []Event

	arrival      bool // fold: the row that arrived last wins
	noTiebreak   bool // fold: the first of equal stamps wins
	wrap         bool // stamp: the addition wraps
	noPrev       bool // write: prev is left out
	noTies       bool // write: prev leaves out rows that tie in stamp and kind
	lean         bool // write: prev is as short at the last stamp as everywhere
	spent        bool // write: a row that is void already is written again
	freshUpgrade bool // upgrade: a new stamp
}

func (m *mutant) receive(e Event) {
	if !slices.ContainsFunc(m.events, func(o Event) bool { return o.ID == e.ID }) {
		m.events = append(m.events, e)
	}
}

func (m *mutant) void(e Event) bool {
	return slices.ContainsFunc(m.events, func(o Event) bool { return o.Name == e.Name && slices.Contains(o.Prev, e.ID) })
}

func (m *mutant) winner(name string) (Event, bool) {
	var best Event
	found := false
	for _, e := range m.events {
		if e.Name != name || m.void(e) && !m.arrival {
			continue
		}
		wins := e.beats(&best)
		if m.noTiebreak {
			wins = e.Timestamp > best.Timestamp
		}
		if !found || m.arrival || wins {
			best, found = e, true
		}
	}
	return best, found
}

func (m *mutant) current(name string) (crdt.RowID, bool) {
	e, ok := m.winner(name)
	return e.ID, ok
}

func (m *mutant) newest() int64 {
	ts := int64(math.MinInt64)
	for _, e := range m.events {
		ts = max(ts, e.Timestamp)
	}
	return ts
}

func (m *mutant) write(now int64, kind Kind, name string, ref extension.Ref) ([]Event, error) {
	if kind == Deactivated {
		ref = extension.Ref{}
	}
	ts := crdt.After(now, m.newest(), len(m.events) > 0)
	if m.wrap && len(m.events) > 0 && now <= m.newest() {
		ts = m.newest() + 1
	}
	return m.rowAt(ts, kind, name, ref, len(m.events) > 0 && ts == m.newest() && !m.lean)
}

func (m *mutant) upgrade(name string, ref extension.Ref) ([]Event, error) {
	cur, _ := m.winner(name)
	if m.freshUpgrade {
		return m.write(cur.Timestamp, Activated, name, ref)
	}
	return m.rowAt(cur.Timestamp, Activated, name, ref, false)
}

func (m *mutant) rowAt(ts int64, kind Kind, name string, ref extension.Ref, lastStamp bool) ([]Event, error) {
	least := 0
	if m.noTies {
		least = 1
	}
	from := kind
	if lastStamp {
		from = Activated
	}
	list := func(all bool) (prev []crdt.RowID) {
		for _, e := range m.events {
			if e.Name == name && !m.noPrev && !m.void(e) && (all || e.compareStamp(ts, from) >= least) {
				prev = append(prev, e.ID)
			}
		}
		return prev
	}
	rows, err := chain(kind, name, ref, ts, list(false))
	if err != nil || m.spent || m.noPrev {
		return rows, err
	}
	last := rows[len(rows)-1]
	if m.void(last) || slices.ContainsFunc(m.events, func(e Event) bool { return e.ID == last.ID }) {
		return chain(kind, name, ref, ts, list(true))
	}
	return rows, nil
}

// caught plays cases until one breaks a promise and returns its number, 0 if none does.
func caught(t *testing.T, cases int, gen *rapid.Generator[[]step], mutate func() *mutant) int {
	for seed := range cases {
		w := newWorld(func() replica { return mutate() })
		if w.play(t, gen.Example(seed)) != "" {
			return seed + 1
		}
	}
	return 0
}

func TestChecksCatchMutants(t *testing.T) {
	for name, c := range map[string]struct {
		gen    *rapid.Generator[[]step]
		mutate func() *mutant
	}{
		"arrival order":         {steps(), func() *mutant { return &mutant{arrival: true} }},
		"no tiebreak":           {steps(), func() *mutant { return &mutant{noTiebreak: true} }},
		"wrapping add":          {steps(), func() *mutant { return &mutant{wrap: true} }},
		"no prev":               {steps(), func() *mutant { return &mutant{noPrev: true} }},
		"prev without ties":     {steps(), func() *mutant { return &mutant{noTies: true} }},
		"lean prev":             {lastStamps(), func() *mutant { return &mutant{lean: true} }},
		"spent row":             {lastStamps(), func() *mutant { return &mutant{lean: true, spent: true} }},
		"upgrade stamped fresh": {upgradesBesideRemoval(), func() *mutant { return &mutant{freshUpgrade: true} }},
	} {
		n := caught(t, 1000, c.gen, c.mutate)
		if n == 0 {
			t.Errorf("%s: not caught in 1,000 cases", name)
		}
		t.Logf("%s: caught at case %d", name, n)
	}
	for _, gen := range []*rapid.Generator[[]step]{steps(), upgradesBesideRemoval(), lastStamps()} {
		if n := caught(t, 300, gen, func() *mutant { return &mutant{} }); n != 0 {
			t.Errorf("the unbroken model fails at case %d", n)
		}
	}
}

// lastStamps draws runs on one name in which every clock shows the last stamp there is.
func lastStamps() *rapid.Generator[[]step] {
	return rapid.Map(steps(), func(list []step) []step {
		for i := range list {
			list[i].name, list[i].skew = "web", len(skews)-1
		}
		return list
	})
}

// upgradesBesideRemoval draws runs in which all peers share one activation; then peer 4 removes it,
// while the others upgrade it at least three times and hear of each other, but not of the removal.
func upgradesBesideRemoval() *rapid.Generator[[]step] {
	return rapid.Custom(func(t *rapid.T) []step {
		skew := func() int { return rapid.IntRange(0, len(skews)-1).Draw(t, "skew") }
		list := []step{{op: 0, name: "web", kind: Activated, skew: skew(), version: 1}}
		for p := 1; p < 5; p++ {
			list = append(list, step{op: 8, peer: p, far: 0, part: 10})
		}
		list = append(list, step{op: 0, peer: 4, name: "web", kind: Deactivated, skew: skew()})
		for v := range rapid.IntRange(3, 8).Draw(t, "upgrades") {
			p := rapid.IntRange(0, 3).Draw(t, "peer")
			list = append(list,
				step{op: 5, peer: p, name: "web", version: v + 1},
				step{op: 8, peer: rapid.IntRange(0, 3).Draw(t, "to"), far: p, part: 10})
		}
		return list
	})
}

func TestHistoriesAtTheLastStamp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(func() replica { return real{NewLog()} })
		if broken := w.play(t, lastStamps().Draw(rt, "steps")); broken != "" {
			rt.Fatal(broken)
		}
	})
}

func TestUpgradesNeverUndoARemoval(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(func() replica { return real{NewLog()} })
		if broken := w.play(t, upgradesBesideRemoval().Draw(rt, "steps")); broken != "" {
			rt.Fatal(broken)
		}
		for p, peer := range w.peers {
			if peer.(real).Active("web") {
				rt.Fatalf("peer %d has it on", p)
			}
		}
	})
}
