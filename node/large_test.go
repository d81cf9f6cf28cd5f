package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// long is a text of so many bytes, different for each name, that ends with the word "finis" and the name.
func long(size int, name string) string {
	end := " finis " + name
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%s %d: %s\n", name, i, strings.Repeat("\"words, words, words\" <&> ", 40))
	}
	return b.String()[:size-len(end)] + end
}

// pair are two peers in one session.
func pair(t *testing.T) (a, b *peer) {
	t.Helper()
	a, b = newPeer(t, "a", node.Config{}).told(), newPeer(t, "b", node.Config{}).told()
	ask(a, control.SessionNew, control.SessionNewParams{Name: room})
	a.share(b)
	return a, b
}

// told goes online, and tries nothing again without a sign from outside: what the tests wait for must come
// by signs alone.
func (p *peer) told() *peer {
	p.n.SetContentRetry(time.Hour)
	return p.online()
}

func (p *peer) post(text string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := control.CallStream(ctx, p.c, control.SessionPostFile, control.SessionPostParams{Session: room}, strings.NewReader(text), func(control.Progress) error { return nil })
	if err != nil {
		p.t.Fatalf("%s posts %d bytes: %v", p.name, len(text), err)
	}
}

// log is the session as a reader gets it.
func (p *peer) log() (out []control.Entry) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := control.CallStream(ctx, p.c, control.SessionLog, control.SessionLogParams{Session: room}, nil, func(e control.Entry) error { out = append(out, e); return nil })
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// export is the session as a file of JSON lines.
func (p *peer) export(allow bool) (string, control.Exported, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var b bytes.Buffer
	done, err := control.CallStream(ctx, p.c, control.SessionExport, control.SessionExportParams{Session: room, AllowMissing: allow}, nil, func(c control.Chunk) error {
		b.Write(c.Data)
		return nil
	})
	return b.String(), done, err
}

func (p *peer) bring(name string, file io.Reader) (control.Imported, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return control.CallStream(ctx, p.c, control.SessionImport, control.SessionImportParams{Name: name}, file, func(control.Progress) error { return nil })
}

func (p *peer) show() control.SessionShow {
	p.t.Helper()
	return ask(p, control.SessionDetails, control.SessionShowParams{Session: room})
}

func (p *peer) untilShown(what string, ok func(control.SessionShow) bool) control.SessionShow {
	p.t.Helper()
	return until(p, control.SessionDetails, control.SessionShowParams{Session: room}, what, ok)
}

// with is how the session stands with the other peer.
func with(s control.SessionShow, other *peer) control.DocumentPeer {
	for _, x := range s.Peers {
		if x.ID == other.n.Self().String() {
			return x
		}
	}
	return control.DocumentPeer{}
}

func TestLargeContentReachesTheOther(t *testing.T) {
	a, b := pair(t)
	texts := []string{long(1<<20, "hamlet"), "short", long(3<<20+17, "ophelia"), long(210<<10, "yorick")}
	for _, text := range texts {
		a.post(text)
	}
	a.stored()
	for _, p := range []*peer{a, b} {
		s := p.untilShown("stored on 2", func(s control.SessionShow) bool { return s.StoredOn == 2 })
		if s.Contents == nil || s.Contents.Count != 3 || s.Contents.Missing != 0 || s.Contents.Invalid != 0 {
			t.Errorf("%s: contents %+v", p.name, s.Contents)
		}
		log := p.log()
		if len(log) != len(texts) {
			t.Fatalf("%s: %d entries", p.name, len(log))
		}
		for i, e := range log {
			if e.Content != texts[i] || e.ContentMissing || (e.ContentCID == "") != (i == 1) {
				t.Errorf("%s: entry %d: %d bytes, missing %v, cid %q", p.name, i, len(e.Content), e.ContentMissing, e.ContentCID)
			}
		}
	}
	hits := ask(b, control.SessionSearch, control.SessionSearchParams{Query: "FINIS ophelia", Limit: 10})
	if len(hits) != 1 || hits[0].Content != texts[2] || !strings.Contains(hits[0].Excerpt, "ophelia") || len(hits[0].Excerpt) > 2000 {
		t.Errorf("search: %d hits", len(hits))
	}
	if hits := ask(b, control.SessionSearch, control.SessionSearchParams{Query: "finis ghost", Limit: 10}); len(hits) != 0 {
		t.Errorf("a word that is nowhere: %d hits", len(hits))
	}
	file, done, err := b.export(false)
	if err != nil || done.Entries != 4 || done.Bytes != int64(len(file)) || done.ContentsMissing != 0 {
		t.Fatalf("export: %+v, %v", done, err)
	}
	c := newPeer(t, "c", node.Config{})
	if in, err := c.bring(room, strings.NewReader(file)); err != nil || in.Entries != 4 || in.ContentsMissing != 0 {
		t.Fatalf("import: %+v, %v", in, err)
	}
	for i, e := range c.log() {
		if e.Content != texts[i] {
			t.Errorf("entry %d after export and import: %d bytes, want %d", i, len(e.Content), len(texts[i]))
		}
	}
	// What is stored elsewhere may be dropped here.
	ask(b, control.SessionForget, control.SessionForgetParams{Session: room})
}

// A peer that got the rows counts only when it has the blocks, and is told when it can have them.
func TestStoredOnCountsBlocks(t *testing.T) {
	a, b := pair(t)
	text := long(2<<20+1, "claudius")
	c := newPeer(t, "c", node.Config{})
	cid, size, err := c.n.PutContent([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	row := crdt.Entry{Sender: "a", Content: "the beginning", ContentCID: cid, ContentSize: size}
	if err := a.n.WriteRow(room, row); err != nil {
		t.Fatal(err)
	}
	follow, stop := b.follow()
	defer stop()
	agree(a, b)
	for _, p := range []*peer{a, b} {
		s := p.untilShown("told of the row", func(s control.SessionShow) bool { return s.Entries == 1 && s.Contents != nil })
		if s.StoredOn != 0 || s.Contents.Missing != 1 || s.Contents.Reason == "" {
			t.Errorf("%s before: stored on %d, %+v", p.name, s.StoredOn, s.Contents)
		}
		if e := p.log()[0]; e.Content != "the beginning" || !e.ContentMissing || e.ContentReason != "it is not here yet" || e.ContentSize != size {
			t.Errorf("%s before: %+v", p.name, e)
		}
	}
	if x := with(a.show(), b); x.ContentsMissing == nil || *x.ContentsMissing != 1 || !strings.Contains(x.Reason, "1 large content is not known to be there") {
		t.Errorf("b as a sees it: %+v", x)
	}
	refused(a, control.SessionForget, control.SessionForgetParams{Session: room}, control.CodeConflict, "no other peer")
	refused(a, control.SessionWait, control.SessionWaitParams{Session: room, StoredOn: 1, TimeoutMS: 1}, control.CodeTimeout, "1 large content is not here")
	if _, _, err := a.export(false); err == nil || !strings.Contains(err.Error(), cid) {
		t.Errorf("export of what is not here: %v", err)
	}

	if _, _, err := a.n.PutContent([]byte(text)); err != nil {
		t.Fatal(err)
	}
	a.post("and the rest is here")
	a.stored()
	b.untilShown("stored on 2", func(s control.SessionShow) bool { return s.StoredOn == 2 })
	if e := b.log()[0]; e.Content != text || e.ContentMissing {
		t.Errorf("b after: %d bytes, missing %v", len(e.Content), e.ContentMissing)
	}
	if x := with(a.show(), b); x.ContentsMissing == nil || *x.ContentsMissing != 0 || x.Reason != "" {
		t.Errorf("b as a sees it after: %+v", x)
	}
	// Who follows sees each entry once, and of this one all or, if it came too late, the beginning.
	seen := map[string]int{}
	for range 2 {
		e := <-follow
		seen[e.ID]++
		if e.ContentCID != "" && !e.ContentMissing && e.Content != text {
			t.Errorf("followed: %d bytes", len(e.Content))
		}
	}
	if len(seen) != 2 {
		t.Errorf("followed: %v", seen)
	}
}

// follow gives the entries as they arrive; stop ends it.
func (p *peer) follow() (<-chan control.Entry, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	out, done := make(chan control.Entry, 16), make(chan struct{})
	go func() {
		defer close(done)
		_, err := control.CallStream(ctx, p.c, control.SessionLog, control.SessionLogParams{Session: room, Follow: true}, nil, func(e control.Entry) error { out <- e; return nil })
		if err != nil && !errors.Is(err, context.Canceled) {
			p.t.Errorf("%s follows: %v", p.name, err)
		}
	}()
	return out, func() { cancel(); <-done }
}

func TestFollowShowsLargeContentOnceAndWhole(t *testing.T) {
	a, b := pair(t)
	follow, stop := b.follow()
	defer stop()
	texts := []string{long(4<<20, "one"), "two", long(1<<20, "three")}
	for _, text := range texts {
		a.post(text)
	}
	want := map[string]bool{texts[0]: true, texts[1]: true, texts[2]: true}
	for range texts {
		e := <-follow
		if e.ContentMissing || !want[e.Content] {
			t.Fatalf("followed: %d bytes, missing %v", len(e.Content), e.ContentMissing)
		}
		delete(want, e.Content)
	}
	a.post("the end")
	if e := <-follow; e.Content != "the end" {
		t.Errorf("an entry came twice: %.40q", e.Content)
	}
}

// A peer that knows only the one in between gets the content from there, once that has it.
func TestLargeContentGoesThroughARelay(t *testing.T) {
	a, b, c := newPeer(t, "a", node.Config{}).told(), newPeer(t, "b", node.Config{}).told(), newPeer(t, "c", node.Config{}).told()
	ask(a, control.SessionNew, control.SessionNewParams{Name: room})
	a.shareAs(b, "admin")
	b.shareAs(c, "read")
	texts := []string{long(6<<20, "one"), long(1<<20, "two")}
	for _, text := range texts {
		a.post(text)
	}
	s := c.untilShown("complete", func(s control.SessionShow) bool { return s.Entries == 2 && s.Contents.Missing == 0 })
	if x := with(s, a); x.State == control.InSync {
		t.Fatalf("a and c are connected, so this test shows nothing: %+v", x)
	}
	for i, e := range c.log() {
		if e.Content != texts[i] {
			t.Errorf("entry %d at c: %d bytes", i, len(e.Content))
		}
	}
	b.untilShown("stored on 3", func(s control.SessionShow) bool { return s.StoredOn == 3 })
}

func TestImportTakesLongLines(t *testing.T) {
	p := newPeer(t, "p", node.Config{})
	line := func(text string) []byte {
		b, err := json.Marshal(map[string]any{"sender": "s", "content": text, "timestamp": 1})
		if err != nil {
			t.Fatal(err)
		}
		return append(b, '\n')
	}
	most := long(8<<20, "all")
	file := slicesOf(line("before"), line(most), []byte("\n"), line("after"))
	in, err := p.bring(room, bytes.NewReader(file))
	if err != nil || in.Entries != 3 {
		t.Fatalf("import: %+v, %v", in, err)
	}
	log := p.log()
	if len(log) != 3 || log[1].Content != most && log[0].Content != most && log[2].Content != most {
		t.Errorf("the long line did not come whole")
	}
	above := strings.Repeat("x", crdt.MaxContent+1)
	_, err = p.bring("other", bytes.NewReader(slicesOf(line("before"), line(above))))
	var said *control.Error
	if !errors.As(err, &said) || said.Code != control.CodeUsage || !strings.Contains(said.Cause, "line 2") || !strings.Contains(said.Cause, "64 MiB") {
		t.Errorf("a line over the limit: %v", err)
	}
	for _, c := range ask(p, control.SessionList, control.SessionListParams{All: true}) {
		if c.Name == "other" {
			t.Error("a part of it was imported")
		}
	}
	ctx := context.Background()
	_, err = control.CallStream(ctx, p.c, control.SessionPostFile, control.SessionPostParams{Session: room}, strings.NewReader(above), func(control.Progress) error { return nil })
	if !errors.As(err, &said) || said.Code != control.CodeTooLarge {
		t.Errorf("a post over the limit: %v", err)
	}
}

func slicesOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
