package activation

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Store is the row store of the log, in session and agent documents alike.
const Store = "extensions"

// MaxRow is the largest row of the log in bytes; a larger one is malformed.
const MaxRow = 64 << 10

// MaxRef is the largest extension reference, as JSON text, that a row is written with.
const MaxRef = 16 << 10

// maxPrev is how many ids a written row lists; what exceeds it is chained over several rows.
const maxPrev = 500

// Kind is what an event did.
type Kind string

// The kinds of event. Rows of other kinds are kept and ignored.
const (
	Activated   Kind = "activated"
	Deactivated Kind = "deactivated"
)

// Event is one valid row of a log.
type Event struct {
	ID        crdt.RowID
	Kind      Kind
	Name      string
	Ref       extension.Ref // of an activated row
	Timestamp int64         // Unix milliseconds; any value
	Prev      []crdt.RowID  // rows of this name that are void beside this one
	// Text is the row as it is stored: canonical JSON. Events of a [Log] do not keep it.
	Text string
}

// Cause is why the fold ignores a row.
type Cause string

// The causes.
const (
	Malformed   Cause = "malformed"
	UnknownKind Cause = "unknown_kind"
	BadName     Cause = "bad_name" // a reserved name, or a reference that names another extension
)

// IgnoredError says that a row is no valid event. Name is the row's name where it could be read.
type IgnoredError struct {
	Cause  Cause
	Name   string
	Detail string
}

func (e *IgnoredError) Error() string {
	return fmt.Sprintf("read activation row: %s: %s", e.Cause, e.Detail)
}

// beats reports whether e wins over o by F2: the later stamp, on a tie off over on, then the greater
// id.
func (e *Event) beats(o *Event) bool { return e.compare(o) > 0 }

func (e *Event) compare(o *Event) int {
	if c := e.compareStamp(o.Timestamp, o.Kind); c != 0 {
		return c
	}
	return bytes.Compare(e.ID[:], o.ID[:])
}

// compareStamp is F2 without the id.
func (e *Event) compareStamp(ts int64, kind Kind) int {
	if c := cmp.Compare(e.Timestamp, ts); c != 0 {
		return c
	}
	return cmp.Compare(e.Kind.rank(), kind.rank())
}

func (k Kind) rank() int {
	if k == Deactivated {
		return 1
	}
	return 0
}

// newEvent writes a row and reads it back, so that nothing is written that others would ignore.
func newEvent(kind Kind, name string, ref extension.Ref, ts int64, prev []crdt.RowID) (Event, error) {
	if len(ref.String()) > MaxRef {
		return Event{}, fmt.Errorf("write activation row of %s: the extension reference is over %d bytes", name, MaxRef)
	}
	text := appendRow(nil, kind, name, ref, ts, prev)
	e, err := Parse(crdt.RowIDOf(string(text)), string(text))
	if err != nil {
		var ignored *IgnoredError
		if errors.As(err, &ignored) {
			return Event{}, fmt.Errorf("write activation row of %.80q: %s", name, ignored.Detail)
		}
		return Event{}, err
	}
	return e, nil
}

func appendRow(b []byte, kind Kind, name string, ref extension.Ref, ts int64, prev []crdt.RowID) []byte {
	b = append(b, '{')
	if kind == Activated {
		b = append(b, `"extension_ref":`...)
		if ref.IsZero() {
			b = append(b, "null"...)
		}
		b = append(append(b, ref.String()...), ',')
	}
	b = append(b, `"kind":"`...)
	b = append(b, kind...)
	b = append(b, `","name":"`...)
	b = append(b, name...)
	b = append(b, '"')
	for i, id := range prev {
		if i == 0 {
			b = append(b, `,"prev":["`...)
		} else {
			b = append(b, `","`...)
		}
		b = hex.AppendEncode(b, id[:])
	}
	if len(prev) > 0 {
		b = append(b, `"]`...)
	}
	b = append(b, `,"timestamp":`...)
	b = strconv.AppendInt(b, ts, 10)
	return append(b, '}')
}
