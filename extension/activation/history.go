package activation

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Rule is what the fold did with a row.
type Rule string

// The rules.
const (
	RuleCurrent   Rule = "current"   // it counts
	RulePrev      Rule = "prev"      // void: the row By lists it
	RuleTimestamp Rule = "timestamp" // the row By has a later stamp
	RuleKind      Rule = "kind"      // same stamp, and By switches off
	RuleID        Rule = "id"        // same stamp and kind, and By has the greater id
	RuleIgnored   Rule = "ignored"   // no valid event: Cause
)

// Entry is one row in the history of a name.
type Entry struct {
	Event  // only ID and Name where Rule is RuleIgnored
	Author crdt.PeerID
	Rule   Rule
	By     crdt.RowID    // the row that voids or beats this one
	Cause  *IgnoredError // why it is ignored
}

// History lists every row of a name with what the fold did with it: ignored ones first, then by
// timestamp and id. The list is nil for a name without rows.
func (l *Log) History(name string) []Entry {
	var list []Entry
	for _, row := range l.ignored {
		if row.cause.Name == name && name != "" {
			e := Event{ID: row.id, Name: name}
			list = append(list, Entry{Event: e, Author: row.author, Rule: RuleIgnored, Cause: row.cause})
		}
	}
	n := l.names[name]
	if n != nil {
		for i := range int32(len(n.rows)) {
			list = append(list, n.judge(i))
		}
	}
	slices.SortFunc(list, func(a, b Entry) int {
		if a, b := a.Rule == RuleIgnored, b.Rule == RuleIgnored; a != b {
			if a {
				return -1
			}
			return 1
		}
		if c := cmp.Compare(a.Timestamp, b.Timestamp); c != 0 {
			return c
		}
		return bytes.Compare(a.ID[:], b.ID[:])
	})
	return list
}

func (n *nameLog) judge(i int32) Entry {
	entry := Entry{Event: n.event(i), Author: n.rows[i].author}
	if by, void := n.void[entry.ID]; void {
		entry.Rule, entry.By = RulePrev, by
		return entry
	}
	if i == n.heap[0] {
		entry.Rule = RuleCurrent
		return entry
	}
	winner := n.event(n.heap[0])
	entry.By = winner.ID
	switch {
	case winner.Timestamp != entry.Timestamp:
		entry.Rule = RuleTimestamp
	case winner.Kind != entry.Kind:
		entry.Rule = RuleKind
	default:
		entry.Rule = RuleID
	}
	return entry
}
