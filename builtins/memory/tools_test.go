package memory

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/builtins/bank/banktest"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

func TestRememberAndRecall(t *testing.T) {
	x := alone(t)
	if _, out := x.recall("anything"); out != "No memories yet." {
		t.Fatalf("an empty store: %q", out)
	}
	out, err := x.call("remember", map[string]any{"key": "tea", "value": "Anna drinks green tea", "tags": []string{"People", "food"}})
	if err != nil || !strings.Contains(out, "tea") || !strings.Contains(out, "your own memory") || !strings.Contains(out, "Anna drinks green tea") {
		t.Fatalf("%q, %v", out, err)
	}
	x.peer.Clock.Advance(time.Second)
	x.remember("coffee", "Ben drinks coffee\nblack", "tags", []string{"people"})
	x.remember("deploy", "run make release")

	if keys, _ := x.recall("DRINKS"); keys != "coffee tea" && keys != "tea coffee" {
		t.Errorf("DRINKS finds %s", keys)
	}
	if keys, _ := x.recall("green"); keys != "tea" {
		t.Errorf("green finds %s", keys)
	}
	if keys, _ := x.recall("  "); keys != "deploy coffee tea" {
		t.Errorf("an empty query must give the newest first: %s", keys)
	}
	if keys, _ := x.recall("", "limit", 2); keys != "deploy coffee" {
		t.Errorf("two of them: %s", keys)
	}
	if keys, _ := x.recall("drinks", "tags", []string{"PEOPLE", "food"}); keys != "tea" {
		t.Errorf("with both tags: %s", keys)
	}
	if _, out := x.recall("drinks", "tags", []string{"music"}); out != "None of the 3 memories has the tags music." {
		t.Errorf("no such tag: %q", out)
	}
	if _, out := x.recall("quantum", "tags", []string{"people"}); out != "None of 2 memories fits quantum." {
		t.Errorf("no such word: %q", out)
	}
	_, out = x.recall("coffee")
	if want := `coffee: Ben drinks coffee\nblack [people] (2023-11-14T22:13:21.000Z)`; out != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
	for _, limit := range []int{0, -1} {
		if _, err := x.call("recall", map[string]any{"query": "x", "limit": limit}); !errors.Is(err, extension.ErrArgument) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

func TestNewestOfAKeyCounts(t *testing.T) {
	x := alone(t)
	x.remember("home", "Berlin")
	x.remember("home", "Oslo")
	if keys, out := x.recall("", "limit", 10); keys != "home" || !strings.Contains(out, "Oslo") {
		t.Fatalf("got %q", out)
	}
	if _, out := x.recall("berlin"); out != "None of 1 memories fits berlin." {
		t.Fatalf("the old one is found: %q", out)
	}
	// A stamp from the future must not hide what is remembered now, not even the last one there is.
	for i, at := range []int64{4_000_000_000_000, math.MaxInt64} {
		x.peer.AddRows(x.agent.ID, "memory", map[string]any{"key": "home", "value": "nowhere", "timestamp": at, "tags": []string{}})
		if _, out := x.recall("nowhere"); !strings.Contains(out, "nowhere") {
			t.Fatalf("the row of the future does not count: %q", out)
		}
		value := fmt.Sprintf("Lima%d", i)
		x.remember("home", value)
		if _, out := x.recall("home"); !strings.Contains(out, value) {
			t.Fatalf("stamp %d hides what was remembered after it: %q", at, out)
		}
	}
}

func TestRowsOfOneStamp(t *testing.T) {
	x := alone(t)
	var best crdt.RowID
	want := ""
	for _, v := range []string{"a", "b", "c", "d"} {
		text := fmt.Sprintf(`{"key":"k","tags":[],"timestamp":5,"value":%q}`, v)
		if id := crdt.RowIDOf(text); want == "" || string(id[:]) > string(best[:]) {
			best, want = id, v
		}
		x.peer.AddRows(x.agent.ID, "memory", map[string]any{"key": "k", "value": v, "timestamp": 5, "tags": []string{}})
		x.recall("") // in steps: what counts must not depend on the order of arrival
	}
	if _, out := x.recall(""); !strings.HasPrefix(out, "k: "+want+" ") {
		t.Fatalf("got %q, want %s", out, want)
	}
}

func TestDeletedRows(t *testing.T) {
	x := alone(t)
	x.remember("one", "first")
	x.remember("two", "second")
	x.remember("one", "third")
	x.recall("third")
	err := x.peer.Update(t.Context(), x.agent.ID, func(tx *crdt.Tx) error {
		for r := range tx.Rows("memory") {
			if strings.Contains(r.Value, "third") {
				return tx.DeleteRow("memory", r.ID)
			}
		}
		return errors.New("no row to delete")
	})
	if err != nil {
		t.Fatal(err)
	}
	if keys, out := x.recall("first second third"); !strings.Contains(keys, "one") || strings.Contains(out, "third") || !strings.Contains(out, "first") {
		t.Fatalf("after the newest row was deleted the one before counts again: %q", out)
	}
}

func TestRememberBadInput(t *testing.T) {
	x := alone(t)
	for _, args := range []map[string]any{
		{"key": " ", "value": "v"},
		{"key": "k", "value": ""},
		{"key": strings.Repeat("k", 513), "value": "v"},
		{"key": "k", "value": "v", "tags": make([]string, 65)},
		{"key": "k", "value": "v", "tags": []string{strings.Repeat("t", 257)}},
		{"key": "k", "value": "v", "bank": "no such"},
		{"key": 7, "value": "v"},
	} {
		if out, err := x.call("remember", args); !errors.Is(err, extension.ErrArgument) {
			t.Errorf("%.60v: %q, %v", args, out, err)
		}
	}
	if out, err := x.call("remember", map[string]any{"key": "k", "value": strings.Repeat("v", crdt.MaxValue)}); err == nil {
		t.Errorf("a value over the limit of a row: %.60s", out)
	}
	x.remember("k", strings.Repeat("v", crdt.MaxValue-1000)) // what fits is taken
	ghost := newActor(t, x.peer, x.session, extension.Agent{ID: crdt.DocID{1}, Name: "ghost"})
	for _, tool := range []string{"remember", "recall", "list_memory_banks"} {
		if _, err := ghost.call(tool, map[string]any{"key": "k", "value": "v", "query": ""}); !errors.Is(err, extension.ErrNoAgent) {
			t.Errorf("%s of an agent that is not hosted here: %v", tool, err)
		}
	}
}

func TestHostileRows(t *testing.T) {
	x := alone(t)
	x.remember("good", "found")
	x.peer.AddRows(x.agent.ID, "memory",
		7, "text", nil, []int{1}, map[string]any{}, map[string]any{"key": "k"}, map[string]any{"key": "", "value": "v", "timestamp": 1},
		map[string]any{"key": "k", "value": "v", "timestamp": "yesterday"}, map[string]any{"key": "k", "value": 7, "timestamp": 1},
		map[string]any{"key": "k", "value": "v", "timestamp": 1.5}, map[string]any{"key": []int{1}, "value": "v", "timestamp": 1},
		map[string]any{"key": "bad\x1b[2J\nkey", "value": "evil \u202e\r\n\x00 value\u2028next: line", "tags": []string{"a\nb"}, "timestamp": int64(math.MinInt64)},
	)
	_, out := x.recall("")
	if n := strings.Count(out, "\n"); n != 1 {
		t.Errorf("two memories on %d lines:\n%s", n+1, out)
	}
	if strings.ContainsAny(out, "\x1b\x00\u202e\u2028\r") || !strings.Contains(out, "-9223372036854775808") {
		t.Errorf("got %q", out)
	}
}

func TestSizeOfAnAnswer(t *testing.T) {
	x := alone(t)
	big := strings.Repeat("größe ", 6_000)
	var rows []any
	for i := range 10_050 {
		rows = append(rows, map[string]any{"key": fmt.Sprint("k", i), "value": "small thing", "timestamp": 10 + i, "tags": []string{}})
	}
	rows = append(rows, map[string]any{"key": "huge", "value": big, "timestamp": 5, "tags": []string{}})
	x.peer.AddRows(x.agent.ID, "memory", rows...)
	_, out := x.recall("thing", "limit", 1<<40)
	if len(out) > 60_000 || !strings.Contains(out, "more were found; narrow the query]") {
		t.Errorf("an answer of %d bytes", len(out))
	}
	_, out = x.recall("größe", "limit", 1)
	if n := utf8.RuneCountInString(out); n < 35_000 || !utf8.ValidString(out) {
		t.Errorf("one memory is told whole: %d characters of %d", n, len([]rune(big)))
	}
	_, out = x.recall("größe small", "limit", 10)
	if n := utf8.RuneCountInString(out); n > 6_000 || !strings.Contains(out, "…") {
		t.Errorf("a huge memory leaves room for the others: %d characters", n)
	}
	if _, out := x.recall("xyzzy", "tags", []string{strings.Repeat("t", 1<<20)}); len(out) > 1_000 {
		t.Errorf("the refusal has %d bytes", len(out))
	}
}

func TestBanksOfAnAgent(t *testing.T) {
	net := banktest.NewNet()
	a, b := net.Peer(t, 1), net.Peer(t, 2)
	nova, otto := a.NewAgent("nova"), a.NewAgent("otto")
	session := a.NewSession(nova, otto)
	x, y := newActor(t, a, session, nova), newActor(t, a, session, otto)
	x.says("new team", "Made")
	x.says("grant team nova write", "may now")
	x.says("grant team otto read", "may now")

	x.remember("plan", "ship on friday", "bank", "team")
	x.remember("plan", "call mother")
	if keys, out := x.recall("ship call"); keys != "plan plan" || !strings.Contains(out, "— bank team") {
		t.Errorf("own and granted: %q", out)
	}
	if _, out := x.recall("ship call", "bank", "team"); strings.Contains(out, "mother") || !strings.Contains(out, "friday") {
		t.Errorf("one bank: %q", out)
	}
	if _, out := x.recall("ship call", "bank", "self"); !strings.Contains(out, "mother") || strings.Contains(out, "friday") {
		t.Errorf("own memory: %q", out)
	}
	if _, out := y.recall("ship call"); !strings.Contains(out, "friday") || strings.Contains(out, "mother") {
		t.Errorf("another agent sees the bank and nobody's own memory: %q", out)
	}
	_, err := y.call("remember", map[string]any{"key": "plan", "value": "no", "bank": "team"})
	if !errors.Is(err, extension.ErrReadOnly) || !strings.Contains(err.Error(), "/memory grant team otto write") || !strings.Contains(err.Error(), a.Self().String()) {
		t.Errorf("a bank for reading: %v", err)
	}
	_, err = y.call("remember", map[string]any{"key": "plan", "value": "no", "bank": "other"})
	if !errors.Is(err, extension.ErrArgument) || !strings.Contains(err.Error(), "self (write), team (read)") {
		t.Errorf("an unknown bank: %v", err)
	}

	// A bank of another peer that this one may only read, whatever the grant says.
	foreign := b.NewBank(crdt.MemoryBank, "foreign")
	b.Invite(foreign, a, crdt.Write)
	x.says("grant foreign nova write", "may now")
	b.Lower(foreign, a)
	_, err = x.call("remember", map[string]any{"key": "k", "value": "v", "bank": "foreign"})
	if !errors.Is(err, extension.ErrReadOnly) || !strings.Contains(err.Error(), "this peer may only read it; ask an admin of the bank (peer "+b.Self().String()) {
		t.Errorf("a bank that this peer may only read: %v", err)
	}
	out, err := x.call("list_memory_banks", nil)
	want := fmt.Sprintf("self: write, %s (your own memory)\nforeign: read, %s (granted for writing, but this peer may only read it)\nteam: write, ", nova.ID, foreign)
	if err != nil || !strings.HasPrefix(out, want) {
		t.Errorf("got %s, %v\nwant %s", out, err, want)
	}

	// A bank that was granted and is gone from this peer.
	x.says("delete team", "no longer kept")
	if _, err := x.call("recall", map[string]any{"query": "ship", "bank": "team"}); err == nil || !strings.Contains(err.Error(), "not on this peer") {
		t.Errorf("recall from a bank that is not here: %v", err)
	}
	if _, err := x.call("remember", map[string]any{"key": "k", "value": "v", "bank": "team"}); !errors.Is(err, extension.ErrReadOnly) || !strings.Contains(err.Error(), "not on this peer") {
		t.Errorf("remember in a bank that is not here: %v", err)
	}
	if keys, _ := x.recall("ship call"); keys != "plan" {
		t.Errorf("the others are still searched: %s", keys)
	}
}

func TestAttachedBankIsForReading(t *testing.T) {
	x := alone(t)
	x.says("new lent", "Made")
	bank := x.peer.NewBank(crdt.MemoryBank, "far")
	x.peer.AddRows(bank, "memory", map[string]any{"key": "sea", "value": "deep", "timestamp": 1, "tags": []string{}})
	x.says("attach far", "Attached")
	if keys, _ := x.recall("deep"); keys != "sea" {
		t.Errorf("an attached bank is recalled: %s", keys)
	}
	_, err := x.call("remember", map[string]any{"key": "k", "value": "v", "bank": "far"})
	if !errors.Is(err, extension.ErrReadOnly) || !strings.Contains(err.Error(), "/memory grant far nova write") {
		t.Errorf("an attached bank is for reading: %v", err)
	}
	if out, err := x.call("list_memory_banks", nil); err != nil || !strings.Contains(out, "far: read, "+bank.String()+" (attached to this session)") {
		t.Errorf("%q, %v", out, err)
	}
}
