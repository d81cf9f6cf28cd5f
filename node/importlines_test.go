package node

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// A file read line by line is the file.
func FuzzLineReader(f *testing.F) {
	for _, s := range []string{"", "\n", "one", "one\n", "one\n\ntwo", "\r\n\x00\n", strings.Repeat("x", 70_000) + "\n" + strings.Repeat("y", 20)} {
		f.Add([]byte(s), 16)
	}
	f.Fuzz(func(t *testing.T, file []byte, size int) {
		in := &lineReader{r: bufio.NewReaderSize(iotest.HalfReader(bytes.NewReader(file)), size%100_000)}
		var got [][]byte
		for in.next() {
			line, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, line)
		}
		want := bytes.SplitAfter(file, []byte("\n"))
		if len(got) != len(want) || in.read != int64(len(file)) {
			t.Fatalf("%d lines and %d bytes, want %d and %d", len(got), in.read, len(want), len(file))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("line %d: %.80q, want %.80q", i+1, got[i], want[i])
			}
		}
	})
}

func TestLineReaderRefusesEndlessLines(t *testing.T) {
	endless := io.LimitReader(iotest.DataErrReader(zeros{}), maxImportLine+2)
	in := &lineReader{r: bufio.NewReaderSize(endless, 64<<10)}
	n, err := io.Copy(io.Discard, in)
	if err != errLongLine || n > maxImportLine {
		t.Errorf("%d bytes of an endless line, %v", n, err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// Whatever the text, the row of an entry fits, and what can stay in it stays.
func TestPropertyRowsFit(t *testing.T) {
	n, err := Open(t.Context(), Config{Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	rapid.Check(t, func(rt *rapid.T) {
		unit := rapid.SampledFrom([]string{"a", "\x01", "\"", "<", "é", "𝄞", "\u2028", "\xff", "\n"}).Draw(rt, "unit")
		room := inlineLimit
		e := crdt.Entry{Sender: "s", Type: crdt.EntryMessage}
		if meta := rapid.SampledFrom([]int{0, 0, 1000, 190 << 10}).Draw(rt, "metadata"); meta > 0 {
			e.Metadata = []byte(`"` + strings.Repeat("m", meta) + `"`)
			room -= len(e.Metadata)
		}
		grows := rapid.SampledFrom([]int{1, 2, 3, 6}).Draw(rt, "grows")
		e.Content = strings.Repeat(unit, max(0, room/grows/len(unit)+rapid.IntRange(-3, 3).Draw(rt, "more")))
		before := e.Content
		if err := n.moveOut(t.Context(), &e); err != nil {
			rt.Fatal(err)
		}
		row, err := crdt.Canonical(e)
		if err != nil || len(row) > crdt.MaxValue-256 {
			rt.Fatalf("a row of %d bytes, %v", len(row), err)
		}
		text, err := crdt.Canonical(before)
		if err != nil {
			rt.Fatal(err)
		}
		// A short one is not worth moving; its row fits all the same.
		if fits := len(text) <= room || len(before) <= 4*previewRunes; fits != (e.ContentCID == "") {
			rt.Fatalf("a text of %d bytes in JSON, room for %d: outside %v", len(text), room, !fits)
		}
		if e.ContentCID == "" {
			return
		}
		whole, reason := n.readContent(t.Context(), e)
		if want := strings.ToValidUTF8(before, "\uFFFD"); reason != "" || whole != want || !strings.HasPrefix(want, e.Content) {
			rt.Fatalf("%d bytes came back as %d: %s", len(want), len(whole), reason)
		}
	})
}

// The greatest text is taken, one byte more is refused in words.
func TestTheGreatestEntry(t *testing.T) {
	n, err := Open(t.Context(), Config{Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	id, err := n.createSession(t.Context(), "room", nil, "cli", nil)
	if err != nil {
		t.Fatal(err)
	}
	most := strings.Repeat("x", crdt.MaxContent)
	if _, err := n.addEntry(t.Context(), id, crdt.Entry{Sender: "s", Content: most}); err != nil {
		t.Fatal(err)
	}
	_, err = n.addEntry(t.Context(), id, crdt.Entry{Sender: "s", Content: most + "x"})
	var said *control.Error
	if !errors.As(err, &said) || said.Code != control.CodeTooLarge || !strings.Contains(said.Cause, "67108865 bytes") || !strings.Contains(said.Cause, "64 MiB") {
		t.Errorf("one byte more: %v", err)
	}
	var all []crdt.Entry
	err = n.repo.View(t.Context(), id, func(v *crdt.View) error { all = crdt.SessionView{View: v}.Entries(0, -1); return nil })
	if err != nil || len(all) != 1 {
		t.Fatalf("%d entries, %v", len(all), err)
	}
	if whole, reason := n.readContent(t.Context(), all[0]); whole != most {
		t.Errorf("%d bytes came back: %s", len(whole), reason)
	}
}
