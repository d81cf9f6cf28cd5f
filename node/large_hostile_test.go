package node_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// Rows that name what can't be are shown as far as they go, with the reason, and spoil nothing.
func TestHostileRowsOfLargeContent(t *testing.T) {
	a, b := pair(t)
	good := long(1<<20+9, "good")
	cid, size, err := a.n.PutContent([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	noText, noTextSize, err := a.n.PutContent([]byte(strings.Repeat("\xff\xfe", 150<<10)))
	if err != nil {
		t.Fatal(err)
	}
	leaf := "bafkreigp4va6hljth7mxealpsgkh2cojhad5qkoxfrllq7hb25pvcujj2i" // of nothing that anybody has
	rows := []struct {
		name, words string
		cid         string
		size        int64
	}{
		{"no CID", "CID", "not a cid", 100},
		{"sha1", "sha1", "bafkrcfar62wy5rjkfgckxkx5pq5vczidpboca4q", 100},
		{"an identity hash", "identity", "bafkqabtimvwgy3yk", 100},
		{"no content codec", "dag-cbor", "bafyreifb7tsdmocu76eiz72lrz4hlvqayjuchecbfkgppgzx2cyrcsfq7i", 100},
		{"another base", "usual form", "f01551220cfe541e3ad333fd972016f91947d09c93807d829d72c56b87ce1d75f515129d2", 100},
		{"upper case", "usual form", strings.ToUpper(leaf), 100},
		{"a CID as long as a book", "can't be", strings.Repeat("b", 100<<10), 100},
		{"a size below zero", "can't be", cid, -1},
		{"no size", "can't be", cid, 0},
		{"64 MiB and a byte", "can't be", cid, 64<<20 + 1},
		{"the greatest size", "can't be", cid, 1<<63 - 1},
		{"a byte less", "a size of", cid, size - 1},
		{"a byte more", "a size of", cid, size + 1},
		{"a leaf that is too large", "a block of", leaf, 3 << 20},
		{"no text", "no text", noText, noTextSize},
	}
	for _, r := range rows {
		if err := a.n.WriteRow(room, crdt.Entry{Sender: "mallory", Content: r.name, ContentCID: r.cid, ContentSize: r.size}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.n.WriteRow(room, crdt.Entry{Sender: "a", Content: "good", ContentCID: cid, ContentSize: size}); err != nil {
		t.Fatal(err)
	}
	last := len(rows)
	b.untilShown("fetched", func(s control.SessionShow) bool {
		return s.Entries == int64(last+1) && s.Contents != nil && s.Contents.Missing == 0
	})
	for _, p := range []*peer{a, b} {
		log := p.log()
		for i, r := range rows {
			if e := log[i]; e.Content != r.name || !e.ContentMissing || !strings.Contains(e.ContentReason, r.words) || len(e.ContentCID) > 2000 {
				t.Errorf("%s: %s: content %.40q, reason %q", p.name, r.name, e.Content, e.ContentReason)
			}
		}
		if log[last].Content != good || log[last].ContentMissing {
			t.Errorf("%s: the good one: %d bytes, %q", p.name, len(log[last].Content), log[last].ContentReason)
		}
		if hits := ask(p, control.SessionSearch, control.SessionSearchParams{Session: room, Query: "no size", Limit: 5}); len(hits) != 1 {
			t.Errorf("%s: %d hits", p.name, len(hits))
		}
	}
	a.stored() // what can't be keeps nobody from being counted
	file, done, err := b.export(false)
	if err != nil || done.ContentsMissing != 0 {
		t.Fatalf("export: %+v, %v", done, err)
	}
	c := newPeer(t, "c", node.Config{})
	if in, err := c.bring(room, strings.NewReader(file)); err != nil || in.Entries != int64(last+1) || in.ContentsMissing != 0 {
		t.Fatalf("import: %+v, %v", in, err)
	}
	if e := c.log()[last]; e.Content != good {
		t.Errorf("the good one after export and import: %d bytes", len(e.Content))
	}
}

// Members can't fill the disk of this peer: the newest comes, as much as one session may bring.
func TestLargeContentHasABudget(t *testing.T) {
	a := newPeer(t, "a", node.Config{}).told()
	b := newPeer(t, "b", node.Config{})
	b.n.SetContentBudget(7 << 20)
	b.told()
	ask(a, control.SessionNew, control.SessionNewParams{Name: room})
	texts := []string{long(2<<20, "one"), long(2<<20, "two"), long(2<<20, "three"), long(2<<20, "four")}
	for _, text := range texts {
		a.post(text)
	}
	a.share(b)
	s := b.untilShown("at its limit", func(s control.SessionShow) bool {
		return s.Contents != nil && strings.Contains(s.Contents.Reason, "1 are beyond")
	})
	if s.Contents.Count != 4 || s.Contents.Missing != 1 {
		t.Errorf("b: %+v", s.Contents)
	}
	b.untilShown("stored on the other alone", func(s control.SessionShow) bool { return s.StoredOn == 1 })
	refused(b, control.SessionForget, control.SessionForgetParams{Session: room}, control.CodeConflict, "no other peer")
	for i, e := range b.log() {
		if want := i == 0; e.ContentMissing != want || !want && e.Content != texts[i] {
			t.Errorf("entry %d: missing %v, %d bytes", i, e.ContentMissing, len(e.Content))
		}
	}
	// Its own large content is not what the budget is for.
	b.post(long(3<<20, "mine"))
	b.untilShown("its own here", func(s control.SessionShow) bool { return s.Contents.Count == 5 && s.Contents.Missing == 1 })
	a.untilShown("complete, and told of what b lacks", func(s control.SessionShow) bool {
		x := with(s, b)
		return s.Contents.Count == 5 && s.Contents.Missing == 0 && s.StoredOn == 1 &&
			x.ContentsMissing != nil && *x.ContentsMissing == 1 && strings.Contains(x.Reason, "1 large content is not there yet")
	})
	// What is not here is said on the way out, and comes back in.
	if _, _, err := b.export(false); err == nil {
		t.Error("an export lost content without a word")
	}
	file, done, err := b.export(true)
	if err != nil || done.ContentsMissing != 1 {
		t.Fatalf("export: %+v, %v", done, err)
	}
	c := newPeer(t, "c", node.Config{})
	if in, err := c.bring(room, strings.NewReader(file)); err != nil || in.ContentsMissing != 1 {
		t.Fatalf("import: %+v, %v", in, err)
	}
	if _, _, err := c.n.PutContent([]byte(texts[0])); err != nil {
		t.Fatal(err)
	}
	if e := c.log()[0]; e.Content != texts[0] || e.ContentMissing {
		t.Errorf("once its blocks are here: %d bytes", len(e.Content))
	}
}

// Blocks go to who reads a session that names them, and to nobody else.
func TestLargeContentGoesToReadersAlone(t *testing.T) {
	a, b := pair(t)
	c := newPeer(t, "c", node.Config{}).online()
	ask(a, control.SessionNew, control.SessionNewParams{Name: "other"})
	ticket := ask(a, control.SessionShare, control.SessionShareParams{Session: "other", ShareOptions: control.ShareOptions{Role: "write"}})
	ask(c, control.SessionJoin, control.JoinParams{Ticket: ticket.Ticket, WaitMS: patience.Milliseconds()})
	a.post(long(300<<10, "secret"))
	a.stored()
	cid, doc := a.log()[0].ContentCID, a.show().ID
	other := ask(a, control.SessionDetails, control.SessionShowParams{Session: "other"}).ID
	loose, _, err := a.n.PutContent([]byte("what no row names"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, q := range []struct {
		who           *peer
		doc, root, id string
		what          string
		ok            bool
	}{
		{b, doc, cid, cid, "a reader", true},
		{c, doc, cid, cid, "a stranger to the session", false},
		{c, other, cid, cid, "a reader of a session that does not name it", false},
		{b, other, cid, cid, "a stranger to a session that does not name it", false},
		{b, doc, loose, loose, "a reader, about blocks that no row names", false},
		{b, doc, cid, loose, "a reader, about blocks that are not below", false},
	} {
		got, err := q.who.n.AskFor(ctx, a.n.Self().String(), q.doc, q.root, q.id)
		if err != nil || (len(got) > 0) != q.ok {
			t.Errorf("%s got %d bytes, %v", q.what, len(got), err)
		}
	}
}

// A stop between the blocks and the row leaves blocks that the collection takes, and nothing else.
func TestStopBetweenBlocksAndRow(t *testing.T) {
	p := newPeer(t, "p", node.Config{})
	ask(p, control.SessionNew, control.SessionNewParams{Name: room})
	text := long(2<<20, "kept")
	p.post(text)
	if _, _, err := p.n.PutContent([]byte(long(3<<20, "lost"))); err != nil {
		t.Fatal(err)
	}
	p.again()
	if log := p.log(); len(log) != 1 || log[0].Content != text {
		t.Fatalf("after the stop: %d entries", len(log))
	}
	if out := ask(p, control.ExtGC, control.ExtGCParams{}); out.Blocks != 0 {
		t.Errorf("fresh blocks were taken, which may be of a row to come: %+v", out)
	}
	p.age()
	if out := ask(p, control.ExtGC, control.ExtGCParams{}); out.Blocks != 4 {
		t.Errorf("collected %+v, want 3 leaves and their node", out)
	}
	if log := p.log(); log[0].Content != text {
		t.Errorf("after the collection: %d bytes, %s", len(log[0].Content), log[0].ContentReason)
	}
	p.post(long(3<<20, "lost"))
	if log := p.log(); log[1].Content != long(3<<20, "lost") {
		t.Errorf("the same content again: %d bytes", len(log[1].Content))
	}
}

// age makes the blocks old enough for a collection.
func (p *peer) age() {
	p.t.Helper()
	old := time.Now().Add(-24 * time.Hour)
	err := filepath.WalkDir(filepath.Join(p.cfg.Home, "blocks"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// What was dropped and collected is fetched again when the session comes back.
func TestForgottenContentComesAgain(t *testing.T) {
	a, b := pair(t)
	text := long(2<<20, "again")
	a.post(text)
	a.stored()
	b.untilShown("stored on 2", func(s control.SessionShow) bool { return s.StoredOn == 2 })
	ask(b, control.SessionForget, control.SessionForgetParams{Session: room})
	b.age()
	if out := ask(b, control.ExtGC, control.ExtGCParams{}); out.Blocks != 3 {
		t.Fatalf("collected %+v, want 2 leaves and their node", out)
	}
	a.untilShown("stored on 1", func(s control.SessionShow) bool { return s.StoredOn == 1 })
	a.share(b)
	a.stored()
	if e := b.log()[0]; e.Content != text || e.ContentMissing {
		t.Errorf("b: %d bytes, %s", len(e.Content), e.ContentReason)
	}
}

// Blocks that rotted are noticed when they are read, and come back from the others.
func TestRottedContentComesBack(t *testing.T) {
	a, b := pair(t)
	text := long(1<<20, "rots")
	a.post(text)
	a.stored()
	cut := 0
	err := filepath.WalkDir(filepath.Join(b.cfg.Home, "blocks"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		cut++
		return os.WriteFile(path, []byte("rust"), 0o600)
	})
	if err != nil || cut == 0 {
		t.Fatalf("%d blocks, %v", cut, err)
	}
	if e := b.log()[0]; !e.ContentMissing {
		t.Fatalf("rotted content was shown: %d bytes", len(e.Content))
	}
	b.untilShown("whole again", func(s control.SessionShow) bool { return s.Contents.Missing == 0 })
	if e := b.log()[0]; e.Content != text {
		t.Errorf("after: %d bytes, %s", len(e.Content), e.ContentReason)
	}
}

// Offline the count is about what was said before; after a restart a peer counts once it was there.
func TestLargeContentOverRestarts(t *testing.T) {
	a, b := pair(t)
	a.post(long(1<<20, "one"))
	a.stored()
	b.close()
	b.open()
	if e := b.log()[0]; e.ContentMissing {
		t.Errorf("b without a daemon: %s", e.ContentReason)
	}
	if s := b.show(); s.StoredOn != 1 || s.Contents.Missing != 0 || !strings.Contains(with(s, a).Reason, "not known to be there") {
		t.Errorf("b without a daemon: stored on %d, %+v", s.StoredOn, with(s, a))
	}
	if s := a.show(); s.StoredOn != 2 {
		t.Errorf("a while b is away: stored on %d", s.StoredOn)
	}
	text := long(2<<20, "two")
	a.post(text)
	b.told()
	b.untilShown("stored on 2", func(s control.SessionShow) bool { return s.Entries == 2 && s.StoredOn == 2 })
	if e := b.log()[1]; e.Content != text {
		t.Errorf("what was written meanwhile: %d bytes", len(e.Content))
	}
	a.stored()
}

// What a command wrote without a daemon is given out by the next one.
func TestLargeContentWrittenOffline(t *testing.T) {
	a, b := pair(t)
	a.post("short")
	a.stored()
	a.close()
	a.open()
	text := long(1<<20, "offline")
	a.post(text)
	if s := a.show(); s.StoredOn != 1 || s.Contents == nil || s.Contents.Missing != 0 {
		t.Errorf("offline: stored on %d, %+v", s.StoredOn, s.Contents)
	}
	a.told()
	a.stored()
	if e := b.log()[1]; e.Content != text {
		t.Errorf("b: %d bytes, %s", len(e.Content), e.ContentReason)
	}
}
