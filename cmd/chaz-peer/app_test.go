package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fake is a node in memory: it answers every method of the API with what the test gave it, and
// records what it was asked.
type fake struct {
	results map[string]any   // by method; an error is returned as one
	events  map[string][]any // of streams
	calls   []call
	opened  []nodeOptions
	closed  int
}

type call struct{ method, params, upload string }

func (f *fake) methods() []control.Method {
	streams := map[string]int64{
		control.SessionPostFile.Name(): 64 << 20, control.SessionLog.Name(): 0, control.SessionExport.Name(): 0, control.SessionImport.Name(): 1 << 30,
		control.ExtShow.Name(): 0, control.ExtTrust.Name(): 0, control.ExtExport.Name(): 0, control.ExtImport.Name(): 1 << 20,
	}
	var all []control.Method
	for _, name := range control.Names() {
		uploads, isStream := streams[name]
		all = append(all, control.Method{
			Name: name, Streams: isStream, Uploads: uploads,
			Handler: func(_ context.Context, params json.RawMessage, out *control.Stream) (any, error) {
				up, err := io.ReadAll(out.Upload())
				if err != nil {
					return nil, err
				}
				f.calls = append(f.calls, call{name, strings.TrimSpace(string(params)), string(up)})
				for _, e := range f.events[name] {
					if err := out.Send(e); err != nil {
						return nil, err
					}
				}
				if err, ok := f.results[name].(error); ok {
					return nil, err
				}
				return f.results[name], nil
			},
		})
	}
	return all
}

func (f *fake) open(_ context.Context, o nodeOptions) (*control.Client, func() error, error) {
	f.opened = append(f.opened, o)
	c, err := control.InProcess(f.methods(), slog.New(slog.DiscardHandler))
	return c, func() error { f.closed++; return nil }, err
}

// bench is one invocation of the program.
type bench struct {
	home  string
	env   map[string]string
	in    string
	tty   bool
	node  *fake
	run   runner
	setup func(*app)
}

type result struct {
	code     int
	out, err string
}

func newBench(t *testing.T) *bench {
	return &bench{home: t.TempDir(), env: map[string]string{}, node: &fake{results: map[string]any{}, events: map[string][]any{}}}
}

func (b *bench) do(args ...string) result {
	var out, errs bytes.Buffer
	env := map[string]string{"CHAZ_HOME": b.home}
	maps.Copy(env, b.env)
	a := &app{
		in: strings.NewReader(b.in), out: &out, err: &errs, hostname: "testhost",
		env: func(k string) string { return env[k] }, inTTY: b.tty, outTTY: b.tty, errTTY: b.tty,
		now:    func() time.Time { return time.UnixMilli(1_767_700_000_000) },
		engine: engine{Version: "1.2.3", Open: b.node.open, Run: b.run},
	}
	if b.setup != nil {
		b.setup(a)
	}
	code := a.run(context.Background(), args)
	return result{code, out.String(), errs.String()}
}

// daemon serves the fake node on the socket of the home.
func (b *bench) daemon(t *testing.T) {
	t.Helper()
	s, err := control.New(control.Config{Home: b.home, Methods: b.node.methods(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it); got:\n%s", path, got)
	}
}

type verb struct{ args, method, params string }

func verbs() []verb {
	return []verb{
		{"id", "id", `{}`},
		{"cmd --session s -- /extensions", "cmd", `{"session":"s","line":"/extensions"}`},
		{"cmd --session s --agent a /x", "cmd", `{"session":"s","agent":"a","line":"/x"}`},
		{"peers list", "peers.list", `{}`},
		{"peers pending", "peers.pending", `{}`},
		{"peers approve r", "peers.approve", `{"request":"r"}`},
		{"peers approve r --role W", "peers.approve", `{"request":"r","role":"write"}`},
		{"peers reject r", "peers.reject", `{"request":"r"}`},
		{"peers name p n", "peers.name", `{"peer":"p","name":"n"}`},
		{"peers name p", "peers.name", `{"peer":"p","name":""}`},
		{"peers pause p", "peers.pause", `{"peer":"p"}`},
		{"peers resume p", "peers.resume", `{"peer":"p"}`},
		{"session new --name n", "session.new", `{"name":"n","agents":null}`},
		{"session new --no-agent", "session.new", `{"name":"","agents":[]}`},
		{"session new --agent a --agent b", "session.new", `{"name":"","agents":["a","b"]}`},
		{"session list", "session.list", `{}`},
		{"session list --all", "session.list", `{"all":true}`},
		{"session show s --agent a", "session.show", `{"session":"s","agent":"a"}`},
		{"session post s hello", "session.post", `{"session":"s","content":"hello"}`},
		{"session post s - --as me --type directive", "session.post", `{"session":"s","as":"me","content":"from\nstdin","entry_type":"directive"}`},
		{"session log s -n 5", "session.log", `{"session":"s","tail":5}`},
		{"session search to be --session s", "session.search", `{"session":"s","query":"to be","limit":20}`},
		{"session wait s --stored-on 2 --timeout 1m30s", "session.wait", `{"session":"s","stored_on":2,"timeout_ms":90000}`},
		{"session import - --name n", "session.import", `{"name":"n","format":"jsonl"}`},
		{"session import - --session s --format automerge", "session.import", `{"session":"s","format":"automerge"}`},
		{"session export s", "session.export", `{"session":"s","format":"jsonl"}`},
		{"session share s", "session.share", `{"session":"s","role":"read","uses":1,"expires_ms":604800000}`},
		{"session share s --role admin --uses 0 --expires 0 --ask", "session.share", `{"session":"s","role":"admin","uses":0,"expires_ms":0,"ask":true}`},
		{"session tickets s", "session.tickets", `{"session":"s"}`},
		{"session tickets s --revoke t", "session.tickets.revoke", `{"session":"s","ticket":"t"}`},
		{"session join t --wait 2s --name n --role write", "session.join", `{"ticket":"t","wait_ms":2000,"name":"n","role":"write"}`},
		{"session attach s a", "session.attach", `{"session":"s","agent":"a"}`},
		{"session detach s a", "session.detach", `{"session":"s","agent":"a"}`},
		{"session host s", "session.host", `{"session":"s","agent":""}`},
		{"session close s", "session.close", `{"session":"s"}`},
		{"session forget s --force", "session.forget", `{"session":"s","force":true}`},
		{"agent new a model=m tools=x,y", "agent.new", `{"name":"a","config":{"model":"m","tools":"x,y"}}`},
		{"agent list", "agent.list", `{}`},
		{"agent show a", "agent.show", `{"agent":"a"}`},
		{"agent set a model m", "agent.set", `{"agent":"a","field":"model","value":"m"}`},
		{"agent share a --expires 1d12h", "agent.share", `{"agent":"a","role":"read","uses":1,"expires_ms":129600000}`},
		{"agent tickets a", "agent.tickets", `{"agent":"a"}`},
		{"agent tickets a --revoke t", "agent.tickets.revoke", `{"agent":"a","ticket":"t"}`},
		{"agent join t", "agent.join", `{"ticket":"t","wait_ms":30000}`},
		{"agent invite a p", "agent.invite", `{"agent":"a","peer":"p","role":"admin"}`},
		{"agent forget a", "agent.forget", `{"agent":"a"}`},
	}
}

// Every verb asks the method it should, with the parameters that its flags say.
func TestVerbs(t *testing.T) {
	for _, tc := range slices.Concat(verbs(), extVerbs()) {
		t.Run(tc.args, func(t *testing.T) {
			b := newBench(t)
			b.in = "from\nstdin\n"
			b.node.results = sampleResults()
			for _, jsonFlag := range []bool{false, true} {
				args := strings.Fields(tc.args)
				if jsonFlag {
					args = append([]string{"--json"}, args...)
				}
				r := b.do(args...)
				last := b.node.calls[len(b.node.calls)-1]
				if r.code != 0 || last.method != tc.method || last.params != tc.params {
					t.Fatalf("exit %d, asked %s %s, want %s %s\n%s", r.code, last.method, last.params, tc.method, tc.params, r.err)
				}
				if jsonFlag && r.out != "" && !json.Valid([]byte(strings.Split(r.out, "\n")[0])) {
					t.Errorf("--json prints %q", r.out)
				}
			}
			if len(b.node.opened) != 2 || b.node.closed != 2 {
				t.Errorf("the node was opened %d times and closed %d times", len(b.node.opened), b.node.closed)
			}
		})
	}
}

// A daemon is asked over its socket; the store is not opened then.
func TestDaemonIsAsked(t *testing.T) {
	b := newBench(t)
	b.node.results = sampleResults()
	b.daemon(t)
	if r := b.do("session", "post", "s", "x", "--json"); r.code != 0 || r.out != `{"id":"e1"}`+"\n" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.err)
	}
	if len(b.node.opened) != 0 || len(b.node.calls) != 1 {
		t.Errorf("opened %d times, called %d times", len(b.node.opened), len(b.node.calls))
	}
	if r := b.do("session", "log", "s", "--follow"); r.code != 0 {
		t.Errorf("follow: exit %d, %q", r.code, r.err)
	}
}

func TestOptionsReachTheNode(t *testing.T) {
	b := newBench(t)
	b.node.results = sampleResults()
	b.env = map[string]string{"CHAZ_CLOCK_SKEW": "-3d", "CHAZ_UNSAFE_IGNORE_ROLE": "1", "XDG_RUNTIME_DIR": "/run/x"}
	if err := os.WriteFile(filepath.Join(b.home, configFile), []byte("name: box\nclock_skew: 1h\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.do("id")
	o := b.node.opened[0]
	if o.Home != b.home || o.Settings.Name != "box" || o.Settings.ClockSkewMS != -3*24*3600*1000 || !o.IgnoreRole || o.RuntimeDir != "/run/x" {
		t.Errorf("options %+v", o)
	}
	b.env = map[string]string{"CHAZ_CLOCK_SKEW": "soon"}
	if r := b.do("id"); r.code != exitError || !strings.Contains(r.err, "CHAZ_CLOCK_SKEW") {
		t.Errorf("a bad skew: exit %d, %q", r.code, r.err)
	}
}

// Times are compared with the peer's clock, not with the machine's.
func TestPeerClockDecidesWhatIsAhead(t *testing.T) {
	b := newBench(t)
	b.node.results = sampleResults()
	b.node.events["session.log"] = []any{control.Entry{Sender: "a", Content: "x", Timestamp: 1_767_700_000_000 + 3_600_000, EntryType: "message"}}
	const ahead = "(ahead of this clock)"
	if r := b.do("session", "log", "s"); !strings.Contains(r.out, ahead) {
		t.Errorf("an hour ahead: %q, %q", r.out, r.err)
	}
	b.env["CHAZ_CLOCK_SKEW"] = "+2h"
	if r := b.do("session", "log", "s"); strings.Contains(r.out, ahead) || !strings.Contains(r.out, "a: x") {
		t.Errorf("offline, two hours fast: %q, %q", r.out, r.err)
	}
	b.env = map[string]string{}
	b.node.results["config"] = control.Settings{ClockSkewMS: 7_200_000}
	b.daemon(t)
	if r := b.do("session", "log", "s"); strings.Contains(r.out, ahead) || !strings.Contains(r.out, "a: x") {
		t.Errorf("a daemon two hours fast: %q, %q", r.out, r.err)
	}
}

func TestHomeFolder(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{"flag", map[string]string{"CHAZ_HOME": "/no"}, []string{"--home", dir + "/f"}, dir + "/f"},
		{"environment", map[string]string{"CHAZ_HOME": dir + "/e", "XDG_STATE_HOME": "/no"}, nil, dir + "/e"},
		{"XDG", map[string]string{"CHAZ_HOME": "", "XDG_STATE_HOME": dir + "/x"}, nil, dir + "/x/chaz-peer"},
		{"default", map[string]string{"CHAZ_HOME": "", "HOME": dir}, nil, dir + "/.local/state/chaz-peer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.env = tc.env
			b.node.results = sampleResults()
			if r := b.do(append(tc.args, "id")...); r.code != 0 || b.node.opened[0].Home != tc.want {
				t.Errorf("home %v, %s", b.node.opened, r.err)
			}
			info, err := os.Stat(tc.want)
			if err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("home %v, %v", info, err)
			}
			if b, err := os.ReadFile(filepath.Join(tc.want, configFile)); err != nil || string(b) != exampleConfig() {
				t.Errorf("config file: %v", err)
			}
		})
	}
}
