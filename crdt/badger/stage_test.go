package badger

import (
	"bufio"
	"bytes"
	"io"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// checkStage reads the bytes as a stage; what it could read reads the same when written again.
func checkStage(t *testing.T, stage []byte) {
	var writes []crdt.KeyWrite
	r := bufio.NewReader(bytes.NewReader(stage))
	for {
		w, err := readStaged(r)
		if err != nil {
			if err == io.EOF && len(stage) > 0 && writes == nil {
				t.Fatal("bytes, but no write and no error")
			}
			break
		}
		writes = append(writes, w)
	}
	var again []byte
	for _, w := range writes {
		again = append(append(again, stageHeader(w)...), w.Value...)
	}
	r = bufio.NewReader(bytes.NewReader(again))
	for i, want := range writes {
		w, err := readStaged(r)
		if err != nil || !bytes.Equal(w.Key, want.Key) || !bytes.Equal(w.Value, want.Value) || (w.Value == nil) != (want.Value == nil) {
			t.Fatalf("write %d: %v, %v", i, w, err)
		}
	}
	if _, err := readStaged(r); err != io.EOF {
		t.Fatalf("at the end: %v", err)
	}
}

func TestExpandMakesUpForOldPieces(t *testing.T) {
	for _, c := range []struct{ old, size, puts, deletes int }{
		{0, 10, 1, 0},
		{0, -1, 0, 1},
		{0, pieceSize, 1, 0},
		{0, pieceSize + 1, 4, 0},
		{3, 10, 1, 4},              // pieces 0-2 and the index go
		{3, -1, 0, 5},              // and the entry
		{3, pieceSize + 1, 4, 1},   // piece 2 goes
		{2, 5 * pieceSize, 7, 0},   // 5 pieces, index, entry
		{2, 2*pieceSize + 1, 5, 0}, // 3 pieces, index, entry
		{5, 2*pieceSize + 1, 5, 2}, // pieces 3 and 4 go
		{1, 1 << 20, 1<<20/60000 + 3, 0},
	} {
		w := crdt.KeyWrite{Key: []byte("k")}
		if c.size >= 0 {
			w.Value = make([]byte, c.size)
		}
		puts, deletes := 0, 0
		for _, o := range expand(nil, w, c.old) {
			if o.delete {
				deletes++
			} else {
				puts++
			}
			if len(o.value) > pieceSize {
				t.Errorf("%+v: an entry of %d bytes", c, len(o.value))
			}
		}
		if puts != c.puts || deletes != c.deletes {
			t.Errorf("%+v: %d puts, %d deletions", c, puts, deletes)
		}
	}
}

func FuzzReadStaged(f *testing.F) {
	b := chainBatch(7)
	b.Delete([]byte("gone"))
	var stage []byte
	for _, w := range b.Writes {
		stage = append(append(stage, stageHeader(w)...), w.Value...)
	}
	f.Add(stage)
	f.Fuzz(func(t *testing.T, stage []byte) { checkStage(t, stage) })
}
