package activation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/crdt"
)

const validRef = `"extension_ref":{"kind":"builtin","name":"web"},`

// on writes an activation of web with these last members.
func on(rest string) string { return `{` + validRef + `"kind":"activated","name":"web",` + rest + `}` }

func checkParse(t *testing.T, table map[string]string) {
	t.Helper()
	for text, want := range table {
		e, err := Parse(crdt.RowIDOf(text), text)
		got := fmt.Sprint("ok ", e.Timestamp)
		var ignored *IgnoredError
		if errors.As(err, &ignored) {
			got = string(ignored.Cause) + " " + ignored.Name
		}
		if got != want {
			t.Errorf("%.120s: %s (%v), want %s", text, got, err, want)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	id := strings.Repeat("ab", 32)
	checkParse(t, map[string]string{
		on(`"timestamp":1`):                                                                                   "ok 1",
		on(`"timestamp":-9223372036854775808`):                                                                "ok -9223372036854775808",
		on(`"timestamp":9223372036854775807`):                                                                 "ok 9223372036854775807",
		on(`"timestamp":"2026-08-06T07:06:40.0009Z"`):                                                         "ok 1786000000000",
		on(`"timestamp":"2026-08-06T09:06:40+02:00"`):                                                         "ok 1786000000000",
		on(`"timestamp":"1969-12-31T23:59:59.9999Z"`):                                                         "ok -1",
		on(`"prev":[],"timestamp":1`):                                                                         "ok 1",
		on(`"prev":["` + id + `"],"timestamp":1`):                                                             "ok 1",
		on(`"timestamp":1,"zz":{"new":[1.50,null]}`):                                                          "ok 1",
		`{"kind":"deactivated","name":"a","timestamp":1}`:                                                     "ok 1",
		`{"extension_ref":7,"kind":"deactivated","name":"a","timestamp":1}`:                                   "ok 1",
		`{"extension_ref":{"cid":"b","kind":"ipld","name":"a"},"kind":"activated","name":"a","timestamp":1}`:  "ok 1",
		`{"extension_ref":{"kind":"Builtin","name":"mcp-x"},"kind":"activated","name":"mcp-x","timestamp":1}`: "ok 1",
		`{"extension_ref":{"kind":"of the future"},"kind":"activated","name":"a","timestamp":1}`:              "ok 1",
	})
}

func TestParseIgnoresWithTheName(t *testing.T) {
	id := strings.Repeat("ab", 32)
	checkParse(t, map[string]string{
		`{"extension_ref":{"kind":"git","name":"b"},"kind":"activated","name":"a","timestamp":1}`:           "bad_name a",
		`{"extension_ref":{"kind":"git","name":""},"kind":"activated","name":"a","timestamp":1}`:            "bad_name a",
		`{"extension_ref":{"kind":"git","name":"web"},"kind":"activated","name":"web","timestamp":1}`:       "bad_name web",
		`{"extension_ref":{"kind":"future"},"kind":"activated","name":"mcp-x","timestamp":1}`:               "bad_name mcp-x",
		`{"extension_ref":{"kind":"git","name":"chaz-x"},"kind":"activated","name":"chaz-x","timestamp":1}`: "bad_name chaz-x",
		`{"kind":"paused","name":"a","timestamp":1}`:                                                        "unknown_kind a",
		`{"kind":"Activated","name":"a","timestamp":1}`:                                                     "unknown_kind a",
		`{"kind":"activated","name":"a","timestamp":1}`:                                                     "malformed a",
		`{"extension_ref":null,"kind":"activated","name":"a","timestamp":1}`:                                "malformed a",
		`{"extension_ref":{"name":"a"},"kind":"activated","name":"a","timestamp":1}`:                        "malformed a",
		`{"extension_ref":{"kind":"git","name":1},"kind":"activated","name":"a","timestamp":1}`:             "malformed a",
		`{"kind":"deactivated","name":"a"}`:                                                                 "malformed a",
		`{"name":"a","timestamp":1}`:                                                                        "malformed a",
		`{"kind":7,"name":"a","timestamp":1}`:                                                               "malformed a",
		on(`"timestamp":1.0`):                                                                               "malformed web",
		on(`"timestamp":1e3`):                                                                               "malformed web",
		on(`"timestamp":-0`):                                                                                "malformed web",
		on(`"timestamp":9223372036854775808`):                                                               "malformed web",
		on(`"timestamp":"1"`):                                                                               "malformed web",
		on(`"timestamp":null`):                                                                              "malformed web",
		on(`"timestamp":"2026-08-06t07:06:40Z"`):                                                            "malformed web",
		on(`"timestamp":"2026-08-06T7:06:40Z"`):                                                             "malformed web",
		on(`"timestamp":"2026-08-06T07:06:40,5Z"`):                                                          "malformed web",
		on(`"timestamp":"2026-08-06T07:06:40.Z"`):                                                           "malformed web",
		on(`"timestamp":"2026-08-06T07:06:40.1234567890Z"`):                                                 "malformed web",
		on(`"timestamp":"2026-08-06T07:06:40+24:00"`):                                                       "malformed web",
		on(`"timestamp":"2026-02-30T07:06:40Z"`):                                                            "malformed web",
		on(`"timestamp":"2026-08-06T07:06:40"`):                                                             "malformed web",
		on(`"prev":null,"timestamp":1`):                                                                     "malformed web",
		on(`"prev":"` + id + `","timestamp":1`):                                                             "malformed web",
		on(`"prev":["` + id[1:] + `"],"timestamp":1`):                                                       "malformed web",
		on(`"prev":["` + strings.ToUpper(id) + `"],"timestamp":1`):                                          "malformed web",
		on(`"prev":[1],"timestamp":1`):                                                                      "malformed web",
	})
}

func TestParseIgnoresWithoutAName(t *testing.T) {
	big := `{"kind":"deactivated","name":"web","timestamp":1,"x":"` + strings.Repeat("x", MaxRow) + `"}`
	deep := `{"kind":"deactivated","name":"web","timestamp":1,"x":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`
	checkParse(t, map[string]string{
		`{"kind":"deactivated","timestamp":1}`:                       "malformed ",
		`{"kind":"deactivated","name":"A","timestamp":1}`:            "malformed ",
		`{"kind":"deactivated","name":"","timestamp":1}`:             "malformed ",
		`{"kind":"deactivated","name":["a"],"timestamp":1}`:          "malformed ",
		on(`"timestamp": 1`):                                         "malformed ",
		`{"name":"a","kind":"deactivated","timestamp":1}`:            "malformed ",
		`{"kind":"deactivated","name":"a","name":"b","timestamp":1}`: "malformed ",
		`{"kind":"deactivated","name":"\u0061","timestamp":1}`:       "malformed ",
		big:    "malformed ",
		deep:   "malformed ",
		``:     "malformed ",
		`null`: "malformed ",
		`[]`:   "malformed ",
	})
	if _, err := Parse(crdt.RowID{}, on(`"timestamp":1`)); err == nil {
		t.Error("a row under a wrong key was read")
	}
	shallow := strings.Replace(strings.Replace(deep, "[", "", 1), "]", "", 1)
	checkParse(t, map[string]string{shallow: "ok 1"})
}

func TestRowsAreWrittenCanonically(t *testing.T) {
	prev := []crdt.RowID{{1}, {2}}
	for _, kind := range []Kind{Activated, Deactivated} {
		e := mustEvent(t, kind, "web", -5, prev, 0)
		again, err := newEvent(kind, "web", e.Ref, -5, prev)
		if err != nil || again.ID != e.ID || again.Text != e.Text {
			t.Errorf("wrote %s, want %s (%v)", again.Text, e.Text, err)
		}
	}
}

// canonical is the slow way to ask what scanObject answers.
func canonical(text string) bool {
	if !utf8.ValidString(text) || !strings.HasPrefix(text, "{") {
		return false
	}
	out, err := crdt.Canonical(json.RawMessage(text))
	return err == nil && out == text && depth(text) <= maxDepth
}

func depth(text string) int {
	dec := json.NewDecoder(strings.NewReader(text))
	deepest, now := 0, 0
	for {
		tok, err := dec.Token()
		if err != nil {
			return deepest
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			now++
			deepest = max(deepest, now)
		case json.Delim('}'), json.Delim(']'):
			now--
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(`{"extension_ref":{"kind":"builtin","name":"web"},"kind":"activated","name":"web","prev":["` + strings.Repeat("ab", 32) + `"],"timestamp":1}`))
	f.Add([]byte(`{"kind":"deactivated","name":"a","timestamp":"2026-08-06T07:06:40.000Z","x":"\u2028\b\u001f\u007f","y":[-1.5e+7,{}]}`))
	f.Add([]byte("{\"a\":\"\u2028\",\"\\n\":1}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		text := string(b)
		e, err := Parse(crdt.RowIDOf(text), text)
		if scans := scanObject(text, func(string, string) {}) == nil; scans != canonical(text) {
			t.Fatalf("%q: scanned as canonical: %v", text, scans)
		}
		if err != nil {
			return
		}
		again, err := Parse(e.ID, e.Text)
		if err != nil || again.Name != e.Name || again.Timestamp != e.Timestamp || !again.Ref.Equal(e.Ref) {
			t.Fatalf("%q: %v then %v, %v", text, e, again, err)
		}
		own, err := newEvent(e.Kind, e.Name, e.Ref, e.Timestamp, e.Prev)
		if err == nil && (own.compareStamp(e.Timestamp, e.Kind) != 0 || !own.Ref.Equal(e.Ref) || !bytes.Equal(concat(own.Prev), concat(e.Prev))) {
			t.Fatalf("%q was rewritten as %q", text, own.Text)
		}
	})
}

func concat(ids []crdt.RowID) []byte {
	var b []byte
	for _, id := range ids {
		b = append(b, id[:]...)
	}
	return b
}

// FuzzFold reads the input as a recipe for a log with any prev, and compares three folds.
func FuzzFold(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	f.Add([]byte{1, 13, 0, 0, 9, 13, 1, 1, 1, 13, 1, 2, 255, 1, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var events []Event
		for ; len(b) >= 4 && len(events) < 60; b = b[4:] {
			kind := Activated
			if b[0]&1 == 1 {
				kind = Deactivated
			}
			var prev []crdt.RowID
			for i := range int(b[0] >> 6) {
				if at := int(b[3])*(i+1) - 1; at >= 0 && len(events) > 0 {
					prev = append(prev, events[at%len(events)].ID)
				}
			}
			events = append(events, mustEvent(t, kind, names[int(b[0]>>1&3)], stamps[int(b[1])%len(stamps)], prev, int(b[2]&1)))
		}
		want := oracle(events)
		forward, backward := NewLog(), NewLog()
		for i := range events {
			forward.Row(Store, row(events[i]))
			backward.Row(Store, row(events[len(events)-1-i]))
		}
		if !sameState(forward.State(), want) || !sameState(backward.State(), want) {
			t.Fatalf("forward %v, backward %v, want %v", forward.State(), backward.State(), want)
		}
	})
}
