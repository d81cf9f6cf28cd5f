package activation

import (
	"errors"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// IndexName is the name under which the log of a document is registered.
const IndexName = "activation"

// Index registers a [Log] for every session and agent document.
func Index() crdt.IndexSpec {
	return crdt.IndexSpec{
		Name:  IndexName,
		Kinds: []crdt.Kind{crdt.Session, crdt.Agent},
		New:   func() crdt.Index { return NewLog() },
	}
}

// Log is the fold of one document's rows, kept up to date at the cost of what changed. It holds what
// [Fold] computes from the same rows. It is a [crdt.Index]: [Log.Row] needs the document's write
// lock, everything else may run concurrently under its read lock.
type Log struct {
	names   map[string]*nameLog
	seen    map[crdt.RowID]struct{}
	refs    map[string]extension.Ref // by JSON text: logs repeat few references
	ignored []ignoredRow
	newest  int64
	some    bool // there is a newest
}

type ignoredRow struct {
	cause  *IgnoredError
	id     crdt.RowID
	author crdt.PeerID
}

// NewLog returns the log of a document without rows.
func NewLog() *Log {
	return &Log{names: map[string]*nameLog{}, seen: map[crdt.RowID]struct{}{}, refs: map[string]extension.Ref{}}
}

// Row implements [crdt.Index]; a row seen before changes nothing.
func (l *Log) Row(store string, r crdt.Row) {
	if store != Store {
		return
	}
	if _, twice := l.seen[r.ID]; twice {
		return
	}
	l.seen[r.ID] = struct{}{}
	e, err := parse(r.ID, r.Value, l.internRef)
	if err != nil {
		var cause *IgnoredError
		if errors.As(err, &cause) {
			l.ignored = append(l.ignored, ignoredRow{cause, r.ID, r.Author})
		}
		return
	}
	n := l.names[e.Name]
	if n == nil {
		n = &nameLog{name: e.Name}
		l.names[n.name] = n
	}
	n.add(&e, r.Author)
	if !l.some || e.Timestamp > l.newest {
		l.newest, l.some = e.Timestamp, true
	}
}

// Gone implements [crdt.Index]; rows of a log are never deleted.
func (l *Log) Gone(string, crdt.RowID) {}

func (l *Log) internRef(text []byte) (extension.Ref, error) {
	if ref, ok := l.refs[string(text)]; ok {
		return ref, nil
	}
	ref, err := extension.ParseRef(text)
	if err == nil {
		l.refs[string(text)] = ref
	}
	return ref, err
}

// Active reports whether the name is switched on. It costs one map look-up.
func (l *Log) Active(name string) bool {
	n := l.names[name]
	return n != nil && n.rows[n.heap[0]].kind == Activated
}

// Disabled reports whether a row switches the name off, which in an agent's log is an opt-out.
func (l *Log) Disabled(name string) bool {
	n := l.names[name]
	return n != nil && n.rows[n.heap[0]].kind == Deactivated
}

// Latest returns the event that counts for the name; false if there is none.
func (l *Log) Latest(name string) (Event, bool) {
	n := l.names[name]
	if n == nil {
		return Event{}, false
	}
	return n.event(n.heap[0]), true
}

// LastRef returns the reference of the latest row that switched the name on, whether or not it
// counts now; false if there is none.
func (l *Log) LastRef(name string) (extension.Ref, bool) {
	n := l.names[name]
	if n == nil {
		return extension.Ref{}, false
	}
	return n.lastRef()
}

// Newest returns the newest timestamp of all valid rows; false if there are none.
func (l *Log) Newest() (int64, bool) { return l.newest, l.some }

// State returns what [Fold] gives for these rows.
func (l *Log) State() State {
	s := make(State, len(l.names))
	for name, n := range l.names {
		s[name] = n.event(n.heap[0])
	}
	return s
}

// ReadActive lists the names that are on, sorted.
func (l *Log) ReadActive() []Active { return l.State().ReadActive() }

// ReadDisabled lists the names that are switched off by a row, sorted.
func (l *Log) ReadDisabled() []string { return l.State().ReadDisabled() }

// Events counts the valid rows.
func (l *Log) Events() int { return len(l.seen) - len(l.ignored) }

// Ignored counts the rows that the fold ignores.
func (l *Log) Ignored() int { return len(l.ignored) }
