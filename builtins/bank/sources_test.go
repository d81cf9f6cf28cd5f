package bank_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/builtins/bank/banktest"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

func TestRecordsOfGrants(t *testing.T) {
	ctx := context.Background()
	p := banktest.NewNet().Peer(t, 1)
	nova := p.NewAgent("nova")
	doc := p.Document(nova.ID)
	good, bad := p.NewBank(crdt.MemoryBank, "good"), p.NewBank(crdt.MemoryBank, "bad")
	records := map[string]any{
		good.String() + "/name": "self", good.String() + "/db_id": good.String(), good.String() + "/permission": "write",
		// Left behind by a delete that raced an edit, or nonsense.
		bad.String() + "/name": "bad", bad.String() + "/permission": "write",
		good.Short() + "/db_id": good.String(), good.Short() + "/permission": "write",
		nova.ID.String() + "/db_id": good.String(), nova.ID.String() + "/permission": "write",
		"x/db_id": "x", "x/permission": "read", "db_id": "y", "/db_id": "",
	}
	write := func(more map[string]any) {
		t.Helper()
		err := doc.Update(ctx, func(tx *crdt.Tx) error {
			for k, v := range more {
				if err := tx.Set("memory_banks", k, v); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	write(records)
	list := func() []bank.Source {
		t.Helper()
		out, err := bank.Memory().Sources(ctx, p.Handles, doc, []string{"none", ""})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	got := list()
	if len(got) != 2 || got[1].ID != good || got[1].Name == bank.Self {
		t.Fatalf("got %+v", got)
	}
	if s, err := bank.Pick(got, bank.Self); err != nil || s.ID != nova.ID {
		t.Fatalf("self is %v, %v", s.ID, err)
	}
	for _, ref := range []string{good.String(), "good", good.Short()} { // by id, by its name of now, as it is listed
		if s, err := bank.Pick(got, ref); err != nil || s.ID != good {
			t.Fatalf("%s is %v, %v", ref, s.ID, err)
		}
	}
	if _, err := bank.Pick(got, "team"); !errors.Is(err, extension.ErrArgument) || !strings.Contains(err.Error(), "self (write), "+good.Short()+" (write)") {
		t.Fatalf("an unknown bank: %v", err)
	}
	for _, permission := range []any{"admin", "owner", "", 7} {
		write(map[string]any{good.String() + "/permission": permission})
		if got := list(); len(got) != 1 {
			t.Fatalf("permission %v counts: %+v", permission, got)
		}
	}
}

func TestAgentOfAnotherPeer(t *testing.T) {
	net := banktest.NewNet()
	a, b := net.Peer(t, 1), net.Peer(t, 2)
	nova := a.NewAgent("nova")
	ctx := context.Background()
	if _, err := bank.Agent(ctx, a.Handles, nova); err != nil {
		t.Fatal(err)
	}
	a.Invite(nova.ID, b, crdt.Read)
	for _, who := range []extension.Agent{nova, {}, {ID: crdt.DocID{1}, Name: "ghost"}} {
		if _, err := bank.Agent(ctx, b.Handles, who); !errors.Is(err, extension.ErrNoAgent) {
			t.Errorf("agent %q: %v", who.Name, err)
		}
	}
}

func TestLentSetting(t *testing.T) {
	ctx := context.Background()
	p := banktest.NewNet().Peer(t, 1)
	s := p.Settings("memory", p.NewSession())
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "[]"}, {"", "[]"}, {"team", "[team]"}, {[]string{"a", "", "b"}, "[a b]"}, {7, "[]"}, {[]int{1}, "[]"}, {map[string]int{}, "[]"},
	} {
		if err := s.Set(ctx, bank.Setting, c.value); err != nil {
			t.Fatal(err)
		}
		if got, err := bank.Lent(ctx, s); err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%v reads as %v, %v; want %s", c.value, got, err, c.want)
		}
	}
	if err := s.Set(ctx, bank.Setting, strings.Split(strings.Repeat("a,", 500), ",")); err != nil {
		t.Fatal(err)
	}
	if got, _ := bank.Lent(ctx, s); len(got) != 64 {
		t.Errorf("%d banks of one session are looked at", len(got))
	}
}

func TestCache(t *testing.T) {
	ctx := context.Background()
	p := banktest.NewNet().Peer(t, 1)
	docs := []crdt.DocID{p.NewBank(crdt.MemoryBank, "a"), p.NewBank(crdt.MemoryBank, "b"), p.NewBank(crdt.MemoryBank, "c")}
	cache := bank.NewCache[[]string](20)
	computed := 0
	get := func(i int) (out []string) {
		t.Helper()
		err := p.View(ctx, docs[i], func(v *crdt.View) error {
			out = cache.Get(v, func(old []string) ([]string, int) {
				computed++
				return append(old, fmt.Sprint(v.RowCount("memory"))), 10
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	get(0)
	if get(0); computed != 1 {
		t.Fatalf("computed %d times for one version", computed)
	}
	p.AddRows(docs[0], "memory", map[string]any{"key": "k"})
	if got := get(0); fmt.Sprint(got) != "[0 1]" || computed != 2 {
		t.Fatalf("a new version, computed from the old: %v, %d", got, computed)
	}
	get(1)
	get(0)
	if get(2); cache.Len() != 2 {
		t.Fatalf("%d documents in a budget for 2", cache.Len())
	}
	if get(0); computed != 4 {
		t.Fatal("what was used last left, or its like")
	}
	if get(1); computed != 5 {
		t.Fatal("the one that was not used for the longest time stayed")
	}
	var wg sync.WaitGroup
	shared := bank.NewCache[int](1)
	for i := range 16 {
		wg.Go(func() {
			_ = p.View(ctx, docs[i%3], func(v *crdt.View) error {
				shared.Get(v, func(int) (int, int) { return 1, 1 })
				return nil
			})
		})
	}
	wg.Wait()
	if shared.Len() != 1 {
		t.Fatalf("%d documents in a budget for 1", shared.Len())
	}
}

func TestTextFromElsewhere(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"}, {"a\x1b[31mb", "a�[31mb"}, {"a\u202eb", "a�b"}, {"a\u2028b\nc\td", "a b c d"}, {"a\xffb", "a�b"}, {"ä漢字ü", "ä漢字ü"}, {"123456789012345", "123456789012…"},
	} {
		if got := bank.Line(c.in, 12); got != c.want {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	if got := bank.Text("a\r\nb\tc\x00", 12); got != "a\nb\tc�" {
		t.Errorf("Text keeps lines: %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		in, most := string(rapid.SliceOf(rapid.Byte()).Draw(t, "in")), rapid.IntRange(0, 40).Draw(t, "most")
		if rapid.Bool().Draw(t, "valid") {
			in = rapid.String().Draw(t, "text")
		}
		line, text := bank.Line(in, most), bank.Text(in, most)
		for _, s := range []string{line, text} {
			if !utf8.ValidString(s) || utf8.RuneCountInString(s) > most+1 {
				t.Fatalf("%q", s)
			}
			for _, r := range s {
				if unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && r != '\n' && r != '\t' {
					t.Fatalf("%q holds %U", s, r)
				}
			}
		}
		if strings.ContainsAny(line, "\n\t\r") {
			t.Fatalf("%q is more than a line", line)
		}
		if bank.Line(line, most+1) != line {
			t.Fatalf("%q changes again", line)
		}
	})
}
