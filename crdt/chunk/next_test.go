package chunk

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func TestNextLeavesOutWhatChangesNothing(t *testing.T) {
	h := newHistory(t, crdt.MemoryBank)
	a1 := h.write(alice, nil, row("memory", 1), set("meta", "name", `"x"`))
	heads := []crdt.ChangeHash{a1.Hash}
	for name, e := range map[string]crdt.Edit{
		"row that is there":         row("memory", 1),
		"delete of no row":          del(row("memory", 2)),
		"delete of no field":        del(set("meta", "none", "")),
		"delete under no row's key": {Store: "memory", Key: "x", Delete: true},
	} {
		if c, err := h.gate.Next(bob, 1, heads, []crdt.Edit{e}); c != nil || err != nil {
			t.Errorf("%s: %v, %v", name, c, err)
		}
		c, err := h.gate.Next(bob, 1, heads, []crdt.Edit{e, row("memory", 3)})
		if err != nil || len(c.Ops) != 1 {
			t.Errorf("%s beside an edit that counts: %v, %v", name, c, err)
		}
	}
	if c, err := h.gate.Next(bob, 1, heads, nil); c != nil || err != nil {
		t.Errorf("nothing: %v, %v", c, err)
	}
	// On top of an older place the same edits do count.
	c, err := h.gate.Next(bob, 1, []crdt.ChangeHash{h.genesis}, []crdt.Edit{row("memory", 1)})
	if err != nil || len(c.Ops) != 1 {
		t.Errorf("row that was not there yet: %v, %v", c, err)
	}
	gone := h.write(alice, []*crdt.Change{a1}, del(row("memory", 1)), del(set("meta", "name", "")))
	if len(gone.Ops) != 2 {
		t.Errorf("deletes of what is there: %+v", gone)
	}
	if back := h.write(bob, []*crdt.Change{gone}, row("memory", 1)); len(back.Ops) != 1 {
		t.Errorf("a deleted row comes back: %+v", back)
	}
}

func TestNextRefuses(t *testing.T) {
	h := newHistory(t, crdt.Agent)
	a1 := h.write(alice, nil, row("memory", 1))
	heads := []crdt.ChangeHash{a1.Hash}
	many := make([]crdt.Edit, crdt.MaxOps+1)
	for i := range many {
		many[i] = set("config", fmt.Sprint(i), "1")
	}
	big := make([]crdt.Edit, 3)
	for i := range big {
		big[i] = set("config", fmt.Sprint(i), `"`+strings.Repeat("v", crdt.MaxValue-2)+`"`)
	}
	tests := []struct {
		name   string
		reason crdt.Reason
		edits  []crdt.Edit
	}{
		{"unknown store", crdt.ReasonStore, []crdt.Edit{set("entries", "k", "1")}},
		{"not JSON", crdt.ReasonValue, []crdt.Edit{set("config", "k", "")}},
		{"not UTF-8", crdt.ReasonUTF8, []crdt.Edit{set("config", "\xff", "1")}},
		{"empty key", crdt.ReasonMalformed, []crdt.Edit{set("config", "", "1")}},
		{"long key", crdt.ReasonTooLarge, []crdt.Edit{set("config", strings.Repeat("k", crdt.MaxKey+1), "1")}},
		{"long value", crdt.ReasonTooLarge, []crdt.Edit{set("config", "k", `"`+strings.Repeat("v", crdt.MaxValue)+`"`)}},
		{"long change", crdt.ReasonTooLarge, big},
		{"many operations", crdt.ReasonTooLarge, many},
		{"one key twice", crdt.ReasonMalformed, []crdt.Edit{set("config", "k", "1"), set("config", "k", "2")}},
		{"wrong row key", crdt.ReasonRow, []crdt.Edit{set("history", "k", "1")}},
		{"row for life deleted", crdt.ReasonRow, []crdt.Edit{del(row("history", 1))}},
		{"document id", crdt.ReasonRecord, []crdt.Edit{set("meta", "doc", `"x"`)}},
	}
	for _, tt := range tests {
		c, err := h.gate.Next(alice, 1, heads, tt.edits)
		wantReason(t, tt.name, err, tt.reason)
		if c != nil {
			t.Errorf("%s: a change beside the error", tt.name)
		}
	}
	good := many[:crdt.MaxOps]
	if _, err := h.gate.Next(alice, 1, heads, good); err != nil {
		t.Errorf("control: %v", err)
	}
	if _, err := h.gate.Next(alice, 1, heads, big[:1]); err != nil {
		t.Errorf("control: %v", err)
	}
	_, err := h.gate.Next(alice, -1, heads, good)
	wantReason(t, "time", err, crdt.ReasonMalformed)
	_, err = h.gate.Next(crdt.ActorID{}, 1, heads, good)
	wantReason(t, "genesis actor", err, crdt.ReasonMalformed)
	_, err = h.gate.Next(bob, 1, nil, good)
	wantReason(t, "no dependencies", err, crdt.ReasonSequence)
	var missing *crdt.MissingError
	if _, err = h.gate.Next(bob, 1, []crdt.ChangeHash{{9}}, good); !errors.As(err, &missing) {
		t.Errorf("unknown dependency: %v", err)
	}
}

func TestNextAddsItsOwnPreviousChange(t *testing.T) {
	h := newHistory(t, crdt.Session)
	a1 := h.write(alice, nil, row("entries", 1))
	b1 := h.write(bob, []*crdt.Change{a1}, row("entries", 2))
	a2 := h.write(alice, []*crdt.Change{b1}, row("entries", 3))
	if len(a2.Deps) != 2 || a2.Seq != 2 {
		t.Errorf("sequence number %d, dependencies %v", a2.Seq, a2.Deps)
	}
	a3 := h.write(alice, []*crdt.Change{a2}, row("entries", 4))
	if len(a3.Deps) != 1 || a3.Seq != 3 {
		t.Errorf("sequence number %d, dependencies %v", a3.Seq, a3.Deps)
	}
}
