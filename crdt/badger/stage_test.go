package badger

import (
	"bufio"
	"bytes"
	"io"
	"path/filepath"
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

func TestPiecesGoWithTheirValue(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{})
	for _, c := range []struct {
		size, large int // of the value; of a value beside it that makes the batch large
		pieces      int
	}{{300_000, 0, 5}, {70_000, 0, 2}, {700_000, 0, 12}, {200_000, 600_000, 4 + 10}, {10, 600_000, 10}, {61_000, 10, 2}, {0, 0, 0}} {
		image := s.dir
		mustClose(t, s)
		s = open(t, image, Options{}) // what has pieces is known after opening too
		var b crdt.Batch
		b.Put([]byte("k"), make([]byte, c.size))
		b.Put([]byte("beside"), make([]byte, c.large))
		if c.size == 0 {
			b.Delete([]byte("k"))
		}
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if n := countSpace(t, s, spacePiece); n != c.pieces {
			t.Errorf("%+v: %d pieces", c, n)
		}
		if index := countSpace(t, s, spaceSplit); index != len(s.split) || (c.pieces == 0) != (index == 0) {
			t.Errorf("%+v: %d keys in the index, %d in memory", c, index, len(s.split))
		}
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
	b := chainBatch(0)
	b.Delete([]byte("gone"))
	var stage []byte
	for _, w := range b.Writes {
		stage = append(append(stage, stageHeader(w)...), w.Value...)
	}
	f.Add(stage)
	f.Fuzz(func(t *testing.T, stage []byte) { checkStage(t, stage) })
}
