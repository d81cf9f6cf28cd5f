package activation

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

func decl(name, version string) extension.Declaration {
	return extension.Declaration{Manifest: extension.Manifest{Name: name, Ref: extension.BuiltinRef(name, version)}}
}

func put(l *Log, rows ...Event) {
	for _, e := range rows {
		l.Row(Store, row(e))
	}
}

func mustNext(t *testing.T, l *Log, now int64, kind Kind, name string) []Event {
	t.Helper()
	rows, err := l.Next(now, kind, name, extension.BuiltinRef(name, "0.1.0"))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestNextStampsAfterAllThatIsValid(t *testing.T) {
	for _, c := range []struct {
		newest, now, want int64
		prev              int
	}{
		{100, 200, 200, 0},
		{200, 200, 201, 0},
		{300, 200, 301, 0},
		{math.MaxInt64 - 1, 200, math.MaxInt64, 0},
		{math.MaxInt64, 200, math.MaxInt64, 1},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64, 1},
		{math.MinInt64, math.MinInt64, math.MinInt64 + 1, 0},
		{math.MinInt64, 200, 200, 0},
	} {
		l := NewLog()
		put(l, mustEvent(t, Activated, "web", c.newest, nil, 0))
		rows := mustNext(t, l, c.now, Deactivated, "web")
		if len(rows) != 1 || rows[0].Timestamp != c.want || len(rows[0].Prev) != c.prev {
			t.Errorf("after %d at %d: %s", c.newest, c.now, rows[0].Text)
		}
	}
	l := NewLog()
	ignored := `{"extension_ref":{"kind":"git","name":"web"},"kind":"activated","name":"web","timestamp":9000000000000}`
	l.Row(Store, crdt.Row{ID: crdt.RowIDOf(ignored), Value: ignored})
	l.Row("entries", row(mustEvent(t, Activated, "web", 9000, nil, 0)))
	if rows := mustNext(t, l, 5, Activated, "web"); rows[0].Timestamp != 5 || l.Ignored() != 1 || l.Events() != 0 {
		t.Errorf("rows that are no events of this log must not count: %s", rows[0].Text)
	}
}

func TestNextListsItsEqualsAtTheLastStamp(t *testing.T) {
	l := NewLog()
	put(l, mustEvent(t, Activated, "web", 5, nil, 0), mustEvent(t, Deactivated, "web", math.MaxInt64, nil, 0))
	for i := range 6 {
		kind := []Kind{Activated, Deactivated}[i%2]
		rows := mustNext(t, l, 10, kind, "web")
		put(l, rows...)
		if len(rows) != 1 || len(rows[0].Prev) != 1 || l.Active("web") != (kind == Activated) {
			t.Fatalf("write %d: %v", i, rows)
		}
	}
}

// A row can list the hash of one that is still to be written; that must not undo it.
func TestNextEvadesForeseenRows(t *testing.T) {
	l := NewLog()
	put(l, mustEvent(t, Activated, "web", 100, nil, 0))
	foreseen := mustNext(t, l, 0, Deactivated, "web")
	put(l, mustEvent(t, Activated, "web", 3, []crdt.RowID{foreseen[0].ID}, 0))
	rows := mustNext(t, l, 0, Deactivated, "web")
	put(l, rows...)
	if l.Active("web") || rows[0].ID == foreseen[0].ID || len(rows[0].Prev) != 2 {
		t.Fatalf("wrote %s", rows[0].Text)
	}
}

func TestNextChainsLongLists(t *testing.T) {
	for _, n := range []int{499, 500, 1000, 1200} {
		l := NewLog()
		for i := range n {
			put(l, mustEvent(t, Deactivated, "web", math.MaxInt64, nil, i+1))
		}
		rows := mustNext(t, l, 0, Activated, "web")
		if want := (n + maxPrev - 2) / (maxPrev - 1); len(rows) != want {
			t.Errorf("%d rows to list: wrote %d, want %d", n, len(rows), want)
		}
		for _, e := range rows {
			if len(e.Prev) > maxPrev || len(e.Text) > MaxRow {
				t.Errorf("a row lists %d in %d bytes", len(e.Prev), len(e.Text))
			}
		}
		slices.Reverse(rows)
		put(l, rows...)
		if cur, _ := l.Latest("web"); cur.ID != rows[0].ID {
			t.Errorf("%d rows: the fresh one does not count", n)
		}
	}
}

func TestNextRefusesWhatWouldBeIgnored(t *testing.T) {
	l := NewLog()
	for _, c := range []struct {
		name string
		ref  extension.Ref
		want string
	}{
		{"Web", extension.BuiltinRef("Web", "1"), "name"},
		{`a","x":"`, extension.BuiltinRef("a", "1"), "canonical"},
		{"web", extension.GitRef("web", "r", "s"), "reserved"},
		{"notes", extension.GitRef("other", "r", "s"), "names"},
		{"notes", extension.Ref{}, "reference"},
		{"notes", extension.GitRef("notes", strings.Repeat("r", MaxRef), "s"), "over"},
	} {
		if rows, err := l.Next(1, Activated, c.name, c.ref); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, %v, want %q", c.name, rows, err, c.want)
		}
	}
	if rows, err := l.Next(1, Deactivated, "web", extension.GitRef("other", "r", "s")); err != nil || !rows[0].Ref.IsZero() {
		t.Errorf("a row that switches off holds no reference: %v, %v", rows, err)
	}
	if _, err := l.Upgrade("web", extension.BuiltinRef("web", "1")); err == nil {
		t.Error("what is not active was upgraded")
	}
}

func TestUpgradeKeepsTheStamp(t *testing.T) {
	l := NewLog()
	old := mustEvent(t, Activated, "web", 77, nil, 0)
	put(l, old)
	rows, err := l.Upgrade("web", extension.BuiltinRef("web", "0.2.0"))
	if err != nil || len(rows) != 1 || rows[0].Timestamp != 77 || !slices.Equal(rows[0].Prev, []crdt.RowID{old.ID}) {
		t.Fatalf("%v, %v", rows, err)
	}
}

func TestRecordActive(t *testing.T) {
	git := extension.Declaration{Manifest: extension.Manifest{Name: "notes", Ref: extension.GitRef("notes", "r", "s")}}
	l := NewLog()
	put(l, mustEvent(t, Activated, "a", 500, nil, 0))
	decls := []extension.Declaration{decl("web", "0.1.0"), decl("memory", "0.1.0"), git, decl("mcp-x", "0.1.0")}
	rows, err := RecordActive(l, decls, 100)
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v, %v", rows, err)
	}
	for i, name := range []string{"web", "memory", "mcp-x"} {
		if rows[i].Name != name || rows[i].Timestamp != 501 || rows[i].Kind != Activated {
			t.Errorf("row %d is %s", i, rows[i].Text)
		}
	}
	put(l, rows...)
	if rows, err := RecordActive(l, decls, 9000); err != nil || len(rows) != 0 {
		t.Errorf("the second run writes %v, %v", rows, err)
	}
	put(l, mustNext(t, l, 9001, Deactivated, "memory")...)
	if rows, _ := RecordActive(l, []extension.Declaration{decl("memory", "9.0.0")}, 9999); len(rows) != 0 {
		t.Errorf("a removal was undone: %v", rows)
	}
}

func TestRecordActiveUpgrades(t *testing.T) {
	for _, c := range []struct {
		had, own string
		writes   bool
	}{
		{"0.1.0", "0.2.0", true},
		{"0.1.0-rc.1", "0.1.0", true},
		{"0.9.0", "0.10.0", true},
		{"0.2.0", "0.1.0", false},
		{"0.1.0", "0.1.0", false},
		{"0.1.0+x", "0.1.0+y", false},
		{"nightly", "0.1.0", false},
		{"0.1", "0.2.0", false},
		{"0.1.0", "next", false},
		{"", "0.1.0", false},
	} {
		l := NewLog()
		put(l, mustNext(t, l, 50, Activated, "web")...)
		first, err := l.Upgrade("web", extension.BuiltinRef("web", c.had))
		if err != nil {
			t.Fatal(err)
		}
		put(l, first...)
		rows, err := RecordActive(l, []extension.Declaration{decl("web", c.own)}, 1000)
		if err != nil || (len(rows) == 1) != c.writes || c.writes && rows[0].Timestamp != 50 {
			t.Errorf("%q to %q: %v, %v", c.had, c.own, rows, err)
		}
	}
	l := NewLog()
	rows, err := RecordActive(l, []extension.Declaration{decl("BAD", "1.0.0"), decl("web", "1.0.0")}, 1)
	if err == nil || len(rows) != 1 || rows[0].Name != "web" {
		t.Errorf("one fault must not stop the others: %v, %v", rows, err)
	}
}

func TestHistorySaysWhichRuleDecided(t *testing.T) {
	old := mustEvent(t, Activated, "web", 1, nil, 0)
	void := mustEvent(t, Activated, "web", 8, nil, 0)
	on := mustEvent(t, Activated, "web", 9, []crdt.RowID{void.ID}, 0)
	off1 := mustEvent(t, Deactivated, "web", 9, nil, 1)
	off2 := mustEvent(t, Deactivated, "web", 9, nil, 2)
	win, lose := off1, off2
	if off2.beats(&off1) {
		win, lose = off2, off1
	}
	l := NewLog()
	put(l, off1, on, old, off2, void, mustEvent(t, Activated, "a", 99, nil, 0))
	bad := `{"kind":"paused","name":"web","timestamp":1}`
	l.Row(Store, crdt.Row{ID: crdt.RowIDOf(bad), Value: bad, Author: crdt.PeerID{7}})
	want := map[crdt.RowID]Entry{
		old.ID:            {Rule: RuleTimestamp, By: win.ID},
		void.ID:           {Rule: RulePrev, By: on.ID},
		on.ID:             {Rule: RuleKind, By: win.ID},
		lose.ID:           {Rule: RuleID, By: win.ID},
		win.ID:            {Rule: RuleCurrent},
		crdt.RowIDOf(bad): {Rule: RuleIgnored},
	}
	list := l.History("web")
	if len(list) != len(want) || list[0].Cause == nil || list[0].Author != (crdt.PeerID{7}) {
		t.Fatalf("history: %+v", list)
	}
	for i, e := range list {
		if e.Rule != want[e.ID].Rule || e.By != want[e.ID].By {
			t.Errorf("row %s: %s by %s", e.ID, e.Rule, e.By)
		}
		if i > 1 && e.Timestamp < list[i-1].Timestamp {
			t.Error("the history is not in order")
		}
	}
	if l.History("nothing") != nil || l.History("") != nil {
		t.Error("a name without rows has a history")
	}
}

func TestLastRefPrefersWhatIsNotVoid(t *testing.T) {
	for extra := range 8 {
		l := NewLog()
		put(l, mustEvent(t, Activated, "web", 5, nil, extra))
		up, err := l.Upgrade("web", extension.BuiltinRef("web", "0.2.0"))
		if err != nil {
			t.Fatal(err)
		}
		put(l, up...)
		put(l, mustNext(t, l, 9, Deactivated, "web")...)
		if ref, ok := l.LastRef("web"); !ok || ref.Version() != "0.2.0" {
			t.Errorf("the last reference is %v", ref)
		}
	}
	l := NewLog()
	put(l, mustEvent(t, Deactivated, "web", 5, nil, 0))
	if _, ok := l.LastRef("web"); ok {
		t.Error("there is no activation")
	}
	if _, ok := l.LastRef("fs"); ok {
		t.Error("there is no row")
	}
}

func TestEffectiveNarrows(t *testing.T) {
	l := NewLog()
	put(l, mustEvent(t, Activated, "web", 5, nil, 0), mustEvent(t, Activated, "fs", 5, nil, 0), mustEvent(t, Deactivated, "memory", 5, nil, 0))
	agent := NewLog()
	put(agent, mustEvent(t, Deactivated, "web", 5, nil, 0), mustEvent(t, Activated, "memory", 5, nil, 0))
	got := Effective(l.ReadActive(), agent.ReadDisabled())
	if len(got) != 1 || got[0].Name != "fs" || len(l.ReadActive()) != 2 {
		t.Errorf("effective: %v", got)
	}
	if s := FoldRows(slices.Values([]crdt.Row{{Value: "x"}})); len(s) != 0 {
		t.Errorf("a row that is none was folded: %v", s)
	}
}
