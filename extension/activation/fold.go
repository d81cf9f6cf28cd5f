package activation

import (
	"iter"
	"maps"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// State is what a log says: for each name the event that counts.
type State map[string]Event

// Active is a name that is switched on.
type Active struct {
	Name string
	Ref  extension.Ref
	Row  crdt.RowID // the event that says so
}

// Fold computes the state of a set of events. Order and repetition do not matter.
func Fold(events iter.Seq[Event]) State {
	type key struct {
		name string
		id   crdt.RowID
	}
	void := map[key]bool{}
	for e := range events {
		for _, id := range e.Prev {
			void[key{e.Name, id}] = true
		}
	}
	s := State{}
	for e := range events {
		if void[key{e.Name, e.ID}] {
			continue
		}
		if best, ok := s[e.Name]; !ok || e.beats(&best) {
			s[e.Name] = e
		}
	}
	return s
}

// FoldRows is [Fold] over stored rows; rows that are no valid events are ignored.
func FoldRows(rows iter.Seq[crdt.Row]) State {
	return Fold(func(yield func(Event) bool) {
		for r := range rows {
			if e, err := Parse(r.ID, r.Value); err == nil && !yield(e) {
				return
			}
		}
	})
}

// Equal reports whether two states name the same events.
func (s State) Equal(o State) bool {
	return maps.EqualFunc(s, o, func(a, b Event) bool { return a.ID == b.ID })
}

// ReadActive lists the names that are on, sorted.
func (s State) ReadActive() []Active {
	var list []Active
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if e := s[name]; e.Kind == Activated {
			list = append(list, Active{e.Name, e.Ref, e.ID})
		}
	}
	return list
}

// ReadDisabled lists the names that are switched off by a row, sorted: the opt-outs of an agent.
func (s State) ReadDisabled() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if s[name].Kind == Deactivated {
			list = append(list, name)
		}
	}
	return list
}

// Effective is the set that counts in a turn: what the session has on, minus what the agent opted
// out of (sorted or not). An agent can only narrow.
func Effective(session []Active, agentDisabled []string) []Active {
	off := make(map[string]bool, len(agentDisabled))
	for _, name := range agentDisabled {
		off[name] = true
	}
	return slices.DeleteFunc(slices.Clone(session), func(a Active) bool { return off[a.Name] })
}
