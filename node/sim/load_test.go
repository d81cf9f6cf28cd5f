package sim

import (
	"bytes"
	"slices"
	"testing"

	binding "github.com/automerge/automerge-go"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// loadFile reads a saved document with the core itself.
func loadFile(file []byte) ([]crdt.ChangeHash, error) {
	doc, err := binding.Load(file)
	if err != nil {
		return nil, err
	}
	var heads []crdt.ChangeHash
	for _, h := range doc.Heads() {
		heads = append(heads, crdt.ChangeHash(h))
	}
	slices.SortFunc(heads, func(a, b crdt.ChangeHash) int { return bytes.Compare(a[:], b[:]) })
	return heads, nil
}

// TestFileHeads compares what is read off a file with what the core says of it.
func TestFileHeads(t *testing.T) {
	lab := newLab(t)
	files := 0
	both := func(file []byte) ([]crdt.ChangeHash, error) {
		files++
		want, err := loadFile(file)
		if got, bad := fileHeads(file); err != nil || bad != nil || !slices.Equal(got, want) {
			t.Errorf("the file names %v, the core %v (%v, %v)", got, want, bad, err)
		}
		return want, err
	}
	if r := play(t, lab, Options{Seed: 3, Core: CoreAlways, rules: rules{load: both}}); r.Failure != nil {
		t.Error(r.Failure)
	}
	if files == 0 {
		t.Error("no file was saved")
	}
	for _, b := range [][]byte{nil, make([]byte, 9), bytes.Repeat([]byte{0xff}, 40), append(make([]byte, 9), 1, 9, 9)} {
		if heads, err := fileHeads(b); err == nil && len(heads) > 0 {
			t.Errorf("heads in %x", b)
		}
	}
}
