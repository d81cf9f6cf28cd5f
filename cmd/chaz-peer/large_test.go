package main

import (
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// What people see of large content: how much there is, and of what is not here why.
func TestLargeContentInWords(t *testing.T) {
	missing := control.Entry{
		Sender: "mallory", Content: "the beginning", Timestamp: noon, EntryType: "message",
		ContentCID: "bafy", ContentSize: 3 << 20, ContentMissing: true, ContentReason: "it is not here\x1b yet",
	}
	whole := missing
	whole.Content, whole.ContentMissing, whole.ContentReason = "all of it", false, ""
	lacks := sampleDocPeers()[0]
	lacks.Reason, lacks.ContentsMissing = "2 large contents are not there yet", ptr[int64](2)
	contents := &control.Contents{Count: 3, Bytes: 4 << 20, Missing: 1, Reason: "no connected peer has given all of it so far", Invalid: 1}
	show := sampleShow()
	show.Contents, show.Peers = contents, control.List[control.DocumentPeer]{lacks}
	status := sampleStatus()
	status.Documents[0].Contents, status.Documents[0].Peers = contents, show.Peers
	words := "3 large contents, 4194304 bytes (4.0 MiB); 1 not here (no connected peer has given all of it so far); 1 named that can't be"
	for _, c := range []struct {
		args   string
		method string
		result any
		events []any
		out    []string
		err    string
	}{
		{"session log hamlet", "session.log", control.LogEnd{}, []any{whole, missing}, []string{"mallory: all of it\n", "mallory: the beginning…\n    [only the beginning of 3145728 bytes (3.0 MiB): it is not here\ufffd yet]\n"}, ""},
		{"session log hamlet --json", "session.log", control.LogEnd{}, []any{whole, missing}, []string{`"content_cid":"bafy","content_size":3145728}`, `"content_missing":true,"content_reason":"it is not here\u001b yet"}`}, ""},
		{"session search all", "session.search", control.List[control.Hit]{{Session: docS, Entry: whole, Excerpt: "…all of…"}}, nil, []string{"mallory: …all of…\n    3145728 bytes (3.0 MiB) in all\n"}, ""},
		{"session show hamlet", "session.show", show, nil, []string{"\n  " + words + "\n", "in sync  2 large contents are not there yet"}, ""},
		{"status", "status", status, nil, []string{"with 1 of 1", "server (12D3KooWHk9Y2r6f): in sync: 2 large contents are not there yet", words}, ""},
		{"session import -", "session.import", control.Imported{ID: docS, ContentsMissing: 2}, nil, []string{docS}, "warning: 2 large contents are not here; a peer"},
		{"session export hamlet", "session.export", control.Exported{ContentsMissing: 1}, nil, nil, "warning: 1 large content is not here; the file has only the beginning\n"},
		{"session export hamlet --format automerge", "session.export", control.Exported{ContentsMissing: 1}, nil, nil, "warning: 1 large content is not in an Automerge file"},
	} {
		t.Run(c.args, func(t *testing.T) {
			b := newBench(t)
			b.node.results[c.method], b.node.events[c.method] = c.result, c.events
			if c.method == "status" {
				b.daemon(t)
			}
			r := b.do(strings.Fields(c.args)...)
			if r.code != 0 {
				t.Fatalf("exit %d, %s", r.code, r.err)
			}
			for _, want := range c.out {
				if !strings.Contains(r.out, want) {
					t.Errorf("%q is not in\n%s", want, r.out)
				}
			}
			if c.err == "" && r.err != "" || !strings.Contains(r.err, c.err) {
				t.Errorf("stderr %q, want %q", r.err, c.err)
			}
		})
	}
}

// A long text goes as a file beside the parameters, and one that is too long goes nowhere.
func TestPostOfALongText(t *testing.T) {
	b := newBench(t)
	b.node.results = sampleResults()
	b.in = strings.Repeat("x", maxInput) + "\n"
	b.do("session", "post", "s", "-")
	b.in = strings.Repeat("y", maxInput+1) + "\n"
	if r := b.do("session", "post", "s", "-", "--as", "me"); r.code != 0 || r.out != "e2\n" {
		t.Errorf("exit %d, %q, %s", r.code, r.out, r.err)
	}
	b.in = strings.Repeat("z", maxText+1)
	if r := b.do("session", "post", "s", "-"); r.code != exitError || !strings.Contains(r.err, "longer than 64 MiB") || !strings.Contains(r.err, "try: split it") {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
	want := []call{
		{"session.post", `{"session":"s","content":"` + strings.Repeat("x", maxInput) + `"}`, ""},
		{"session.post.file", `{"session":"s","as":"me","content":""}`, strings.Repeat("y", maxInput+1)},
	}
	if len(b.node.calls) != len(want) {
		t.Fatalf("%d calls", len(b.node.calls))
	}
	for i, c := range want {
		if b.node.calls[i] != c {
			t.Errorf("call %d: %.100v", i, b.node.calls[i])
		}
	}
}
