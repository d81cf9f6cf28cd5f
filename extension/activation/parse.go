package activation

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Parse reads a row of the log. The error is an *[IgnoredError] and means that every peer ignores
// the row, in every version. A valid row is
//
//   - at most 64 KiB of canonical JSON (crdt.Canonical), an object nested at most 32 deep, under the
//     SHA-256 of its bytes
//   - "kind": "activated" or "deactivated"
//   - "name": a string of the form of [extension.ValidName]
//   - "timestamp": an integer in plain decimal in the range of int64 (no fraction, no exponent, no
//     "-0"), Unix milliseconds; or RFC 3339 text, cut to the millisecond
//   - "prev", if there: an array of row ids (64 lower-case hex digits)
//   - "extension_ref", in an activated row: an object with a non-empty string "kind" and, if it has a
//     "name", a string equal to the row's name. A kind other than "builtin" (in any case) may not
//     take a reserved name.
//
// Other members, other fields of a reference, and unknown kinds of reference are no fault.
func Parse(id crdt.RowID, text string) (Event, error) { return parse(id, text, extension.ParseRef) }

func parse(id crdt.RowID, text string, parseRef func([]byte) (extension.Ref, error)) (Event, error) {
	var row rawRow
	if err := row.read(id, text); err != nil {
		return Event{}, &IgnoredError{Cause: Malformed, Detail: err.Error()}
	}
	e, err := row.event(parseRef)
	if err != nil {
		return Event{}, err
	}
	e.ID, e.Text = id, text
	return e, nil
}

// rawRow holds the JSON texts of the members that matter; "" where absent.
type rawRow struct{ kind, name, ref, timestamp, prev string }

func (r *rawRow) read(id crdt.RowID, text string) error {
	if len(text) > MaxRow {
		return fmt.Errorf("over %d bytes", MaxRow)
	}
	if crdt.RowIDOf(text) != id {
		return fmt.Errorf("the key is not the hash of the row")
	}
	return scanObject(text, func(key, value string) {
		switch key {
		case "kind":
			r.kind = value
		case "name":
			r.name = value
		case "extension_ref":
			r.ref = value
		case "timestamp":
			r.timestamp = value
		case "prev":
			r.prev = value
		}
	})
}

func (r *rawRow) event(parseRef func([]byte) (extension.Ref, error)) (Event, error) {
	name := unquote(r.name)
	ignore := func(cause Cause, format string, args ...any) (Event, error) {
		return Event{}, &IgnoredError{Cause: cause, Name: name, Detail: fmt.Sprintf(format, args...)}
	}
	if !extension.ValidName(name) {
		name = ""
		return ignore(Malformed, "the name is not an extension's name")
	}
	kind := Kind(unquote(r.kind))
	switch {
	case kind == "":
		return ignore(Malformed, "there is no kind")
	case kind != Activated && kind != Deactivated:
		return ignore(UnknownKind, "the kind %.40q is unknown", kind)
	}
	e := Event{Kind: kind, Name: name}
	var ok bool
	if e.Timestamp, ok = parseStamp(r.timestamp); !ok {
		return ignore(Malformed, "the timestamp is neither an integer nor RFC 3339 text")
	}
	if e.Prev, ok = parsePrev(r.prev); !ok {
		return ignore(Malformed, "prev is not a list of row ids")
	}
	if kind == Deactivated {
		return e, nil
	}
	if r.ref == "" {
		return ignore(Malformed, "there is no extension reference")
	}
	ref, err := parseRef([]byte(r.ref))
	if err != nil {
		return ignore(Malformed, "%v", err)
	}
	e.Ref = ref
	if !ref.Fits(name) {
		return ignore(BadName, "its reference names %.80q", ref.Name())
	}
	if extension.ReservedName(name) && ref.Kind() != extension.Builtin {
		return ignore(BadName, "the name is reserved for built-in extensions")
	}
	return e, nil
}

// unquote reads a JSON string, "" if it is none.
func unquote(raw string) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if !strings.Contains(raw, `\`) {
		return raw[1 : len(raw)-1]
	}
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return ""
	}
	return s
}

func parseStamp(raw string) (int64, bool) {
	if raw == "" {
		return 0, false
	}
	if raw[0] == '"' {
		return parseRFC3339(unquote(raw))
	}
	if strings.ContainsAny(raw, ".eE") || raw == "-0" {
		return 0, false
	}
	ts, err := strconv.ParseInt(raw, 10, 64)
	return ts, err == nil
}

// parseRFC3339 is stricter than the time package: upper-case T and Z, two digits everywhere, a point
// before at most nine digits of fraction, an offset below 24:00.
func parseRFC3339(s string) (int64, bool) {
	const second = "dddd-dd-ddTdd:dd:dd"
	if len(s) < len(second) || !shaped(s[:len(second)], second) {
		return 0, false
	}
	rest := s[len(second):]
	if strings.HasPrefix(rest, ".") {
		zone := strings.TrimLeft(rest[1:], "0123456789")
		if n := len(rest) - 1 - len(zone); n < 1 || n > 9 {
			return 0, false
		}
		rest = zone
	}
	if rest != "Z" && (!shaped(rest, "+dd:dd") && !shaped(rest, "-dd:dd") || rest[1:3] > "23" || rest[4:] > "59") {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, false
	}
	return t.UnixMilli(), true
}

// shaped reports whether s is shape with a digit for each d.
func shaped(s, shape string) bool {
	if len(s) != len(shape) {
		return false
	}
	for i := range len(shape) {
		if shape[i] == 'd' && (s[i] < '0' || s[i] > '9') || shape[i] != 'd' && s[i] != shape[i] {
			return false
		}
	}
	return true
}

func parsePrev(raw string) ([]crdt.RowID, bool) {
	if raw == "" || raw == "[]" {
		return nil, true
	}
	const item = 64 + 3 // quotes and a comma or bracket
	if raw[0] != '[' || (len(raw)-1)%item != 0 {
		return nil, false
	}
	prev := make([]crdt.RowID, 0, (len(raw)-1)/item)
	for at := 1; at < len(raw); at += item {
		if raw[at] != '"' || raw[at+65] != '"' {
			return nil, false
		}
		id, err := crdt.ParseRowID(raw[at+1 : at+65])
		if err != nil {
			return nil, false
		}
		prev = append(prev, id)
	}
	return prev, true
}
