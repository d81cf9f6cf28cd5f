package node_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// What an extension keeps is apart for each session and each owner, within its quota, and goes with the
// session.
func TestExtDataIsKeptApart(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{})
	for _, s := range []string{room, "other"} {
		ask(p, control.SessionNew, control.SessionNewParams{Name: s})
	}
	kv := map[string]any{"capabilities": map[string]any{"kv": 100}}
	keeper, thief := p.pack(probe("keeper", kv)), p.pack(probe("thief", kv))
	for _, s := range []string{room, "other"} {
		for _, x := range []control.ExtPacked{keeper, thief} {
			ask(p, control.RunCmd, control.CmdParams{Session: s, Line: "/extensions add " + x.Ref})
			p.trust(x.Name, s)
		}
	}
	do := func(session, name, op, want string) {
		t.Helper()
		p.wantCalled(session, name+"__host", op, "ok", want)
	}
	do(room, "keeper", `{"op":"kv.set","key":"a","value":"hamlet"}`, `{"ok":true}`)
	do(room, "keeper", `{"op":"kv.get","key":"a"}`, `"hamlet"`)
	do("other", "keeper", `{"op":"kv.get","key":"a"}`, `{"ok":null}`)
	do(room, "thief", `{"op":"kv.get","key":"a"}`, `{"ok":null}`)
	do(room, "thief", `{"op":"kv.list","prefix":""}`, `{"ok":[]}`)
	for _, trick := range []string{`a\u0000b`, `\u0000keeper`, ""} {
		do(room, "thief", `{"op":"kv.set","key":"`+trick+`","value":1}`, `"error"`)
		do(room, "thief", `{"op":"kv.list","prefix":"`+trick+`"}`, `{"ok":[]}`)
	}
	big := strings.Repeat("x", 60)
	do(room, "keeper", `{"op":"kv.set","key":"b","value":"`+big+`"}`, `{"ok":true}`)
	do(room, "keeper", `{"op":"kv.set","key":"c","value":"`+big+`"}`, `100 are granted`)
	do(room, "keeper", `{"op":"kv.set","key":"b","value":"`+big+`y"}`, `{"ok":true}`) // in the place of what was there
	do("other", "keeper", `{"op":"kv.set","key":"c","value":"`+big+`"}`, `{"ok":true}`)

	// Other content under the same name, by nobody who signed it, begins with nothing; the old one has its own.
	other := p.pack(probe("keeper", map[string]any{"version": "2.0.0", "capabilities": map[string]any{"kv": 100}}))
	p.cmd("/extensions add "+other.Ref, "Replaced keeper")
	p.trust("keeper", room)
	do(room, "keeper", `{"op":"kv.list","prefix":""}`, `{"ok":[]}`)
	p.cmd("/extensions add "+keeper.Ref, "Replaced keeper")
	do(room, "keeper", `{"op":"kv.list","prefix":""}`, `{"ok":["a","b"]}`)

	// Calls at the same time do not get past the quota together.
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			p.call("thief__host", fmt.Sprintf(`{"op":"kv.set","key":"k%d","value":"%s"}`, i, big[:40]))
		})
	}
	wg.Wait()
	do(room, "thief", `{"op":"kv.list","prefix":"k"}`, `{"ok":["k`)
	got := p.call("thief__host", `{"op":"kv.list","prefix":""}`).Output
	if n := strings.Count(got, "k"); n != 2+1 { // of "ok" one
		t.Errorf("%s: 44 bytes each, 100 are granted", got)
	}

	id := ask(p, control.SessionDetails, control.SessionShowParams{Session: room}).ID
	if n := p.n.KeptData(id); n == 0 {
		t.Error("nothing is kept: the control")
	}
	ask(p, control.SessionForget, control.SessionForgetParams{Session: room, Force: true})
	if n := p.n.KeptData(id); n != 0 {
		t.Errorf("%d values of a session that was forgotten", n)
	}
	do("other", "keeper", `{"op":"kv.list","prefix":""}`, `{"ok":["c"]}`)
}

// A secret that a guest was given stands in no log, no journal, no entry, and on no peer.
func TestExtSecretsStayOut(t *testing.T) {
	t.Parallel()
	const value = "hunter2-and-much-more"
	var sent string
	var mu sync.Mutex
	host := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent = r.Header.Get("Authorization")
	}))
	defer host.Close()
	said := &notes{}
	a, b := extPair(t, node.Config{Log: slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	address := strings.TrimPrefix(host.URL, "http://")
	a.switchOn(probe("courier", map[string]any{"capabilities": map[string]any{
		"secrets": []any{"KEY"}, "session_write": true, "settings": "write", "kv": 1000, "net": []any{address},
	}}))
	ask(b, control.SecretSet, control.SecretSetParams{Name: "KEY", Value: value})
	b.extState("courier", "pending")
	b.trust("courier", room)
	do := func(op string) string {
		t.Helper()
		r := ask(b, control.ToolCall, control.ToolCallParams{Session: room, Tool: "courier__host", Args: []byte(op), Approve: true})
		if strings.Contains(r.Output, value) {
			t.Errorf("%s: the secret is in the answer: %q", op, r.Output)
		}
		return r.Output
	}
	if out := do(`{"op":"secret","name":"KEY"}`); !strings.Contains(out, `"ok"`) {
		t.Fatalf("the secret is not given: %s", out)
	}
	if out := do(`{"op":"secret","name":"OTHER"}`); !strings.Contains(out, "error") {
		t.Errorf("a secret that was not granted: %s", out)
	}
	do(`{"op":"session.send","text":"psst: ` + value + `"}`)
	do(`{"op":"settings.set","key":"k","value":"` + value + `"}`)
	do(`{"op":"kv.set","key":"` + value + `","value":1}`)
	do(`{"op":"` + value + `"}`)
	do(`{"op":"http","method":"GET","url":"` + host.URL + `/` + value + `","headers":{"Authorization":"` + value + `"}}`)
	mu.Lock()
	if sent != value {
		t.Errorf("the granted host got %q: the control", sent)
	}
	mu.Unlock()
	b.stored()
	for _, p := range []*peer{a, b} {
		for _, e := range p.entries() {
			// What a person types as an argument stands there; nothing of what the guest wrote does.
			if e.EntryType != "tool_call" && strings.Contains(e.Content, value) {
				t.Errorf("%s: %s %s: %s", p.name, e.EntryType, e.Sender, e.Content)
			}
		}
	}
	if audit := text(ask(b, control.ExtAudit, control.ExtAuditParams{})); strings.Contains(audit, value) {
		t.Errorf("the journal: %s", audit)
	}
	if logs := text(ask(b, control.ExtLogs, control.ExtLogsParams{Session: room, Name: "courier"})); strings.Contains(logs, value) {
		t.Errorf("the guest's log: %s", logs)
	}
	if strings.Contains(said.String(), value) || strings.Contains(said.String(), base64.StdEncoding.EncodeToString([]byte(value))) {
		t.Errorf("the log:\n%s", said)
	}
	b.close()
	defer b.open()
	err := filepath.WalkDir(b.cfg.Home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(path, "/store") {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(value)) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
