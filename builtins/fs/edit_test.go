package fs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
)

func TestEdit(t *testing.T) {
	const file = "one\ntwo\ntwo and three\n"
	for name, c := range map[string]struct {
		file, args  string
		want, reply string
	}{
		"one":                {file, `"old_text":"one","new_text":"1"`, "1\ntwo\ntwo and three\n", "Edited f: 1 replacement, +0 lines, 3 lines now."},
		"longer":             {file, `"old_text":"one\n","new_text":"1\n1\n1\n"`, "1\n1\n1\ntwo\ntwo and three\n", "Edited f: 1 replacement, +2 lines, 5 lines now."},
		"shorter":            {file, `"old_text":"one\ntwo\n","new_text":""`, "two and three\n", "Edited f: 1 replacement, -2 lines, 1 lines now."},
		"to nothing":         {"a", `"old_text":"a","new_text":""`, "", "Edited f: 1 replacement, -1 lines, 0 lines now."},
		"list":               {file, `"edits":[{"old_text":"and","new_text":"&"},{"old_text":"one","new_text":"1"}]`, "1\ntwo\ntwo & three\n", "Edited f: 2 replacements, +0 lines, 3 lines now."},
		"list of one":        {file, `"edits":[{"old_text":"and","new_text":"&"}]`, "one\ntwo\ntwo & three\n", "Edited f: 1 replacement, +0 lines, 3 lines now."},
		"the list wins":      {file, `"old_text":"nowhere","new_text":"x","edits":[{"old_text":"one","new_text":"1"}]`, "1\ntwo\ntwo and three\n", "Edited f: 1 replacement, +0 lines, 3 lines now."},
		"null list":          {file, `"old_text":"one","new_text":"1","edits":null`, "1\ntwo\ntwo and three\n", "Edited f: 1 replacement, +0 lines, 3 lines now."},
		"swap":               {"a b", `"edits":[{"old_text":"a","new_text":"b"},{"old_text":"b","new_text":"a"}]`, "b a", "Edited f: 2 replacements, +0 lines, 1 lines now."},
		"new holds next old": {"a b", `"edits":[{"old_text":"a","new_text":"b"},{"old_text":"b","new_text":"c"}]`, "b c", "Edited f: 2 replacements, +0 lines, 1 lines now."},
		"neighbours":         {"ab", `"edits":[{"old_text":"b","new_text":"B"},{"old_text":"a","new_text":"A"}]`, "AB", "Edited f: 2 replacements, +0 lines, 1 lines now."},
		"overlapping itself": {"xaaax", `"old_text":"aa","new_text":"b"`, "xbax", "Edited f: 1 replacement, +0 lines, 1 lines now."},
		"other bytes stay":   {"\xff\x00a\xc3", `"old_text":"a","new_text":"b"`, "\xff\x00b\xc3", "Edited f: 1 replacement, +0 lines, 1 lines now."},
		"same again":         {"a", `"old_text":"a","new_text":"a"`, "a", "Edited f: 1 replacement, +0 lines, 1 lines now."},
	} {
		w := newDesk(t, map[string]string{"f": c.file})
		got, err := w.call(t.Context(), "edit_file", json.RawMessage(`{"path":"f",`+c.args+`}`))
		if err != nil || string(w.files["f"]) != c.want || got != c.reply {
			t.Errorf("%s: %q, %v; file %q", name, got, err, w.files["f"])
		}
	}
}

func TestEditRefuses(t *testing.T) {
	const file = "one\ntwo\ntwo and three\n"
	for name, c := range map[string]struct {
		args  string
		says  []string
		never string
	}{
		"not found":         {`"old_text":"four","new_text":"4"`, []string{"f", "not found"}, "edit 1"},
		"not found, list":   {`"edits":[{"old_text":"one","new_text":"1"},{"old_text":"four","new_text":"4"}]`, []string{"edit 2", "not found"}, ""},
		"twice":             {`"old_text":"two","new_text":"2"`, []string{"occurs 2 times"}, "edit 1"},
		"twice, list":       {`"edits":[{"old_text":"two","new_text":"2"},{"old_text":"one","new_text":"1"}]`, []string{"edit 1", "occurs 2 times"}, ""},
		"only after others": {`"edits":[{"old_text":"one","new_text":"four"},{"old_text":"four","new_text":"4"}]`, []string{"edit 2", "not found"}, ""},
		"no old":            {`"new_text":"1"`, []string{"old_text is missing"}, "edit 1"},
		"no new":            {`"old_text":"one"`, []string{"new_text is missing"}, "edit 1"},
		"null":              {`"old_text":"one","new_text":null`, []string{"new_text is missing"}, ""},
		"no new, list":      {`"edits":[{"old_text":"one","new_text":"1"},{"old_text":"and"}]`, []string{"edit 2", "new_text is missing"}, ""},
		"no old, list":      {`"edits":[{"new_text":"1"},{"old_text":"and","new_text":"&"}]`, []string{"edit 1", "old_text is missing"}, ""},
		"hollow, list of 1": {`"edits":[{}]`, []string{"old_text is missing"}, "edit 1"},
		"neither":           {``, []string{"old_text and new_text", "edits"}, ""},
		"empty list":        {`"edits":[]`, []string{"empty"}, ""},
		"empty list wins":   {`"old_text":"one","new_text":"1","edits":[]`, []string{"empty"}, ""},
		"empty old":         {`"old_text":"","new_text":"1"`, []string{"old_text is empty"}, ""},
		"overlap":           {`"edits":[{"old_text":"and three","new_text":"x"},{"old_text":"two and","new_text":"y"}]`, []string{"edits 1 and 2 overlap"}, ""},
		"inside another":    {`"edits":[{"old_text":"one","new_text":"x"},{"old_text":"and","new_text":"y"},{"old_text":"o and t","new_text":"z"}]`, []string{"edits 2 and 3 overlap"}, ""},
		"the same twice":    {`"edits":[{"old_text":"one","new_text":"x"},{"old_text":"one","new_text":"x"}]`, []string{"edits 1 and 2 overlap"}, ""},
	} {
		w := newDesk(t, map[string]string{"f": file})
		args := strings.TrimSuffix(`{"path":"f",`+c.args, ",") + `}`
		_, err := w.call(t.Context(), "edit_file", json.RawMessage(args))
		if err == nil || w.writes != 0 || string(w.files["f"]) != file {
			t.Errorf("%s: %v; written %d times", name, err, w.writes)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %q does not say %q", name, err, s)
			}
		}
		if c.never != "" && strings.Contains(err.Error(), c.never) {
			t.Errorf("%s: %q says %q", name, err, c.never)
		}
	}
}

func TestEditDoors(t *testing.T) {
	one := map[string]string{"path": "f", "old_text": "a", "new_text": "b"}
	w := newDesk(t, map[string]string{"f": "a"})
	if _, err := w.call(t.Context(), "edit_file", map[string]string{"path": "/f", "old_text": "a", "new_text": "b"}); !errors.Is(err, extension.ErrGrant) || !strings.Contains(err.Error(), "read /f") {
		t.Errorf("not granted: %v", err)
	}
	w.broken = errors.New("write f: disk full")
	if text, err := w.call(t.Context(), "edit_file", one); !errors.Is(err, w.broken) || text != "" {
		t.Errorf("disk full: %q, %v", text, err)
	}
	w.broken = nil
	w.files["f"] = append(make([]byte, maxEdit), 'a')
	if _, err := w.call(t.Context(), "edit_file", one); err == nil || !strings.Contains(err.Error(), "too large") || w.writes != 0 {
		t.Errorf("too large: %v", err)
	}
	w.files["f"] = append(make([]byte, maxEdit-1), 'a')
	if _, err := w.call(t.Context(), "edit_file", one); err != nil || len(w.files["f"]) != maxEdit {
		t.Errorf("just not too large: %v", err)
	}
}

// Edits at the same time must not lose each other.
func TestEditsTogether(t *testing.T) {
	const n = 50
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "line %d.\n", i)
	}
	w := newDesk(t, map[string]string{"f": text.String()})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			_, err := w.call(context.Background(), "edit_file", map[string]string{
				"path": "f", "old_text": fmt.Sprintf("line %d.", i), "new_text": fmt.Sprintf("done %d.", i),
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := strings.Count(string(w.files["f"]), "done "); got != n {
		t.Errorf("%d of %d edits are left", got, n)
	}
}

// A write that hangs must not hold up the others beyond their time.
func TestWaitEnds(t *testing.T) {
	w := writer{make(chan struct{}, 1)}
	w.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.do(ctx, func() error { t.Error("it ran"); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-w.turn
	ran := false
	if err := w.do(t.Context(), func() error { ran = true; return nil }); err != nil || !ran {
		t.Errorf("control: %v, %v", ran, err)
	}
}
