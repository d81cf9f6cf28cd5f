package activation

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Next returns the rows to write, in one change, so that name is switched as said from then on: in
// this log at once, and beside everything in it wherever both arrive. Normally that is one row
// without prev. ref is used by [Activated] only; now is the local clock in Unix milliseconds. The
// error says that such a row would be ignored (a malformed or reserved name, a reference that does
// not fit). Call it once per name and change.
func (l *Log) Next(now int64, kind Kind, name string, ref extension.Ref) ([]Event, error) {
	if kind != Activated {
		ref = extension.Ref{}
	}
	ts := crdt.After(now, l.newest, l.some)
	if l.some && ts == l.newest {
		// No later stamp is left. The row lists all others of this stamp, also what it would beat by
		// its kind: else two peers that saw different things could write the same bytes, and who
		// voids the one row would void the other.
		return l.rowsAbove(ts, kind, name, ref, ts, Activated)
	}
	return l.rowsAt(ts, kind, name, ref)
}

// Upgrade returns the rows that replace the current one, which must be an activation, by one with
// another reference. They keep its timestamp, so that a removal by somebody who saw that row beats
// every upgrade of it.
func (l *Log) Upgrade(name string, ref extension.Ref) ([]Event, error) {
	cur, ok := l.Latest(name)
	if !ok || cur.Kind != Activated {
		return nil, fmt.Errorf("upgrade %.80q: it is not active", name)
	}
	return l.rowsAt(cur.Timestamp, Activated, name, ref)
}

// rowsAt writes a row at ts that wins. It lists the rows that it would not beat by stamp and kind;
// rows that tie in both too, because the id, which would decide, depends on the list.
func (l *Log) rowsAt(ts int64, kind Kind, name string, ref extension.Ref) ([]Event, error) {
	return l.rowsAbove(ts, kind, name, ref, ts, kind)
}

// rowsAbove writes a row at ts that lists the survivors which reach (least, leastKind).
func (l *Log) rowsAbove(ts int64, kind Kind, name string, ref extension.Ref, least int64, leastKind Kind) ([]Event, error) {
	n := l.names[name]
	if n == nil {
		return chain(kind, name, ref, ts, nil)
	}
	rows, err := chain(kind, name, ref, ts, n.survivors(least, leastKind))
	if err != nil || !l.spent(n, rows) {
		return rows, err
	}
	// Somebody foresaw the hash of this row and listed it. With all survivors listed it is new:
	// above every void row, and above every row that voids one, there is a survivor.
	return chain(kind, name, ref, ts, n.survivors(math.MinInt64, Activated))
}

// spent reports whether one of the rows would not count once written.
func (l *Log) spent(n *nameLog, rows []Event) bool {
	return slices.ContainsFunc(rows, func(e Event) bool {
		_, there := l.seen[e.ID]
		_, void := n.void[e.ID]
		return there || void
	})
}

// chain writes as many rows as the list needs, each listing the one before it; the last one counts.
func chain(kind Kind, name string, ref extension.Ref, ts int64, prev []crdt.RowID) ([]Event, error) {
	slices.SortFunc(prev, func(a, b crdt.RowID) int { return bytes.Compare(a[:], b[:]) })
	var rows []Event
	for {
		part := prev[:min(len(prev), maxPrev-1)]
		prev = prev[len(part):]
		if len(rows) > 0 {
			part = append(slices.Clone(part), rows[len(rows)-1].ID)
		}
		e, err := newEvent(kind, name, ref, ts, part)
		if err != nil {
			return nil, err
		}
		rows = append(rows, e)
		if len(prev) == 0 {
			return rows, nil
		}
	}
}

// RecordActive returns the rows to write, in one change, at the start of a session, so that every
// built-in of this peer that is new to the session is on and every older version that is on is
// replaced by ours. What was switched off stays off. External extensions are never touched. The new
// rows share one timestamp. A second call, after these are in the log, returns none. With an error,
// which names each declaration that could not be recorded, the rows of the others are returned.
func RecordActive(l *Log, decls []extension.Declaration, now int64) ([]Event, error) {
	ts := crdt.After(now, l.newest, l.some)
	var rows []Event
	var faults []error
	for _, d := range decls {
		if d.Ref.Kind() != extension.Builtin {
			continue
		}
		var add []Event
		var err error
		cur, known := l.Latest(d.Name)
		switch {
		case !known:
			add, err = l.rowsAt(ts, Activated, d.Name, d.Ref)
		case cur.Kind == Activated && older(cur.Ref, d.Ref):
			add, err = l.Upgrade(d.Name, d.Ref)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		rows = append(rows, add...)
	}
	return rows, errors.Join(faults...)
}

// older reports whether both are built-ins with full semantic versions and a's is lower.
func older(a, b extension.Ref) bool {
	v, w := "v"+a.Version(), "v"+b.Version()
	full := func(v string) bool { return semver.IsValid(v) && semver.Canonical(v)+semver.Build(v) == v }
	return a.Kind() == extension.Builtin && b.Kind() == extension.Builtin && full(v) && full(w) && semver.Compare(v, w) < 0
}
