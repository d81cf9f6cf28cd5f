package fs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A file of numbered words, of which some are replaced in any order by words that look like others,
// becomes what replacing each on its own says.
func TestSpliceProperty(t *testing.T) {
	overlaps, fits := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "words")
		words := make([]string, n)
		for i := range words {
			words[i] = fmt.Sprintf("<%d>", i)
		}
		before := strings.Join(words, "")
		order := rapid.Permutation(words).Draw(t, "order")
		chosen := order[:rapid.IntRange(1, n).Draw(t, "chosen")]
		var edits []replacement
		want := map[string]string{}
		for i, w := range chosen {
			text := rapid.SampledFrom(append([]string{"", "x", before}, words...)).Draw(t, fmt.Sprint("new", i))
			edits = append(edits, replacement{w, text})
			want[w] = text
		}
		var after strings.Builder
		for _, w := range words {
			if text, changed := want[w]; changed {
				w = text
			}
			after.WriteString(w)
		}
		original := []byte(before)
		got, err := splice(original, edits)
		if err != nil || string(got) != after.String() || string(original) != before {
			t.Fatalf("%q, %v, want %q", got, err, after.String())
		}
		fits++

		// One more that reaches into a neighbour must be refused whole.
		if i := strings.Index(before, chosen[0]); i > 0 {
			_, err := splice(original, append(edits, replacement{before[i-1 : i+2], "x"}))
			if err == nil {
				t.Fatal("an overlap was taken")
			}
			overlaps++
		}
	})
	if overlaps == 0 || fits == 0 {
		t.Errorf("%d overlaps and %d fits were tried", overlaps, fits)
	}
}

func FuzzSplice(f *testing.F) {
	f.Add([]byte("one two"), "one", "1", "two", "2")
	f.Add([]byte("aaa"), "aa", "b", "a", "c")
	f.Add([]byte("\xff\x00"), "\x00", "", "", "x")
	f.Fuzz(func(t *testing.T, text []byte, old1, new1, old2, new2 string) {
		before := bytes.Clone(text)
		one, err := splice(text, []replacement{{old1, new1}})
		once := old1 != "" && bytes.Count(text, []byte(old1)) == 1
		if (err == nil) != once || err != nil && !errors.Is(err, errOnce) {
			t.Fatalf("once %v, but %v", once, err)
		}
		if once && !bytes.Equal(one, bytes.Replace(text, []byte(old1), []byte(new1), 1)) {
			t.Fatalf("%q", one)
		}
		ab, errAB := splice(text, []replacement{{old1, new1}, {old2, new2}})
		ba, errBA := splice(text, []replacement{{old2, new2}, {old1, new1}})
		if (errAB == nil) != (errBA == nil) || !bytes.Equal(ab, ba) {
			t.Fatalf("the order counts: %q %v, %q %v", ab, errAB, ba, errBA)
		}
		if errAB == nil && len(ab) != len(text)-len(old1)-len(old2)+len(new1)+len(new2) {
			t.Fatalf("%d bytes", len(ab))
		}
		if !bytes.Equal(text, before) {
			t.Fatal("the original was changed")
		}
	})
}

// Whatever the arguments are, an error leaves the file alone.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(`{"path":"f","old_text":"a","new_text":"b"}`), []byte("a"))
	f.Add([]byte(`{"path":"f","edits":[{"old_text":"a","new_text":"b"},{"old_text":"c","new_text":"d"}]}`), []byte("ac"))
	f.Add([]byte(`{"path":"f","edits":[{"old_text":"a"}],"edits":[{"new_text":"b"}]}`), []byte("a"))
	f.Fuzz(func(t *testing.T, args, file []byte) {
		w := newDesk(t, map[string]string{"f": string(file)})
		text, err := w.call(t.Context(), "edit_file", json.RawMessage(args))
		if (err == nil) != (w.writes == 1) || (err == nil) == (text == "") {
			t.Fatalf("%q, %v, %d writes", text, err, w.writes)
		}
		if err != nil && !bytes.Equal(w.files["f"], file) {
			t.Fatal("an error, and the file is another")
		}
	})
}
