package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// goGuest is a guest written in Go that runs in this process, by export: everything but the sandbox.
type goGuest map[string]func(ctx context.Context, h engine.Host, input []byte) ([]byte, error)

func (g goGuest) Compile(context.Context, []byte) (Compiled, error) { return g, nil }

func (g goGuest) Open(_ context.Context, o engine.Options) (Pool, error) {
	size := o.Size
	if size == 0 {
		size = 4
	}
	return &goPool{g: g, o: o, slots: make(chan struct{}, size)}, nil
}

func (g goGuest) Close() {}

// goPool has as many instances as a real one, so that calls wait for each other.
type goPool struct {
	g     goGuest
	o     engine.Options
	slots chan struct{}
	mu    sync.Mutex
	done  bool
}

func (p *goPool) Has(export string) bool { return p.g[export] != nil }

func (p *goPool) Call(ctx context.Context, export string, input []byte) ([]byte, error) {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	if done {
		return nil, engine.ErrClosed
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	fn := p.g[export]
	if fn == nil {
		return nil, engine.ErrNoExport
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out, err := fn(ctx, p.o.Host, input)
	if err == nil && int64(len(out)) > p.o.Limits.Output {
		return nil, engine.ErrOutput
	}
	return out, err
}

func (p *goPool) Close(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	return nil
}

// says is an export that always answers the same.
func says(text string) func(context.Context, engine.Host, []byte) ([]byte, error) {
	return func(context.Context, engine.Host, []byte) ([]byte, error) { return []byte(text), nil }
}

// chazCall calls the host function of chaz-ext-1 and returns its answer, or the error in it.
func chazCall(ctx context.Context, h engine.Host, op string) (json.RawMessage, error) {
	b, err := h.User(ctx, chazFunction, []byte(op))
	if err != nil {
		return nil, err
	}
	var out struct {
		OK    json.RawMessage `json:"ok"`
		Error string          `json:"error"`
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, err
	}
	if out.Error != "" {
		return nil, errors.New(out.Error)
	}
	return out.OK, nil
}

// audit keeps events.
type audit struct {
	mu   sync.Mutex
	list []Event
}

func (a *audit) add(e Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, e)
}

func (a *audit) with(op Op, o Outcome) []Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(a.list), func(e Event) bool { return e.Op != op || e.Outcome != o })
}

// memSession is a session in memory.
type memSession struct {
	mu      sync.Mutex
	entries []json.RawMessage
}

func (s *memSession) Read(_ context.Context, n int) ([]json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 || n > len(s.entries) {
		n = len(s.entries)
	}
	return slices.Clone(s.entries[len(s.entries)-n:]), nil
}

func (s *memSession) Send(_ context.Context, text, kind string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := json.Marshal(map[string]string{"kind": kind, "text": text})
	s.entries = append(s.entries, b)
	return fmt.Sprint("entry-", len(s.entries)), err
}

// memKV keeps data in memory.
type memKV struct {
	mu   sync.Mutex
	data map[string]map[string]json.RawMessage
}

func (k *memKV) Get(_ context.Context, session, key string) (json.RawMessage, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.data[session][key], nil
}

func (k *memKV) Set(_ context.Context, session, key string, value json.RawMessage, quota int64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	size := int64(len(key) + len(value))
	for other, v := range k.data[session] {
		if other != key {
			size += int64(len(other) + len(v))
		}
	}
	if size > quota {
		return fmt.Errorf("set %s: the quota of %d bytes is used up", key, quota)
	}
	if k.data == nil {
		k.data = map[string]map[string]json.RawMessage{}
	}
	if k.data[session] == nil {
		k.data[session] = map[string]json.RawMessage{}
	}
	k.data[session][key] = slices.Clone(value)
	return nil
}

func (k *memKV) Delete(_ context.Context, session, key string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.data[session], key)
	return nil
}

func (k *memKV) List(_ context.Context, session, prefix string) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var keys []string
	for key := range k.data[session] {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

type memSecrets map[string]string

func (s memSecrets) Secret(_ context.Context, name string) (string, error) {
	if v, ok := s[name]; ok {
		return v, nil
	}
	return "", extension.ErrNotFound
}

// memSettings are settings in memory.
type memSettings struct {
	mu  sync.Mutex
	set map[string]json.RawMessage
}

func (s *memSettings) Get(_ context.Context, key string) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set[key], nil
}

func (s *memSettings) Set(_ context.Context, key string, value any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value == nil {
		delete(s.set, key)
		return nil
	}
	b, err := json.Marshal(value)
	if s.set == nil {
		s.set = map[string]json.RawMessage{}
	}
	s.set[key] = b
	return err
}

// echoModel is a model that repeats the last message.
type echoModel struct{}

func (echoModel) Sample(_ context.Context, _ extension.Call, l extension.GuestLLM, r SampleRequest) (SampleResult, error) {
	last := r.Messages[len(r.Messages)-1].Content
	return SampleResult{Text: fmt.Sprintf("%s (%d calls a day)", last, l.CallsPerDay), Model: "echo"}, nil
}

// lent is what other extensions provide.
type lent struct {
	memory    extension.MemoryAccess
	messenger extension.Messenger
	caps      map[string]extension.CapFunc
}

func (l lent) Memory(string) extension.MemoryAccess { return l.memory }
func (l lent) Messenger(string) extension.Messenger { return l.messenger }
func (l lent) Cap(id, _ string) extension.CapFunc   { return l.caps[id] }

// memMemory is a memory in memory.
type memMemory struct {
	mu   sync.Mutex
	rows []extension.MemoryRow
}

func (m *memMemory) Search(_ context.Context, q extension.MemoryQuery) ([]extension.MemoryRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.rows), func(r extension.MemoryRow) bool { return !strings.Contains(r.Value, q.Text) }), nil
}

func (m *memMemory) Remember(_ context.Context, r extension.MemoryRow, bank string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Bank = bank
	m.rows = append(m.rows, r)
	return nil
}

func (m *memMemory) Banks(context.Context) ([]extension.BankInfo, error) {
	return []extension.BankInfo{{Name: "self", ID: "b", Permission: "write"}}, nil
}

// post is a messenger that writes to one session.
type post struct{ s *memSession }

func (p post) Send(ctx context.Context, _ crdt.DocID, text, kind string) (string, error) {
	return p.s.Send(ctx, text, kind)
}

// world is a host with everything that a guest may be granted.
type world struct {
	session  *memSession
	settings *memSettings
	memory   *memMemory
	audit    *audit
	drift    []string
	call     extension.Call
	services Services
}

func newWorld() *world {
	w := &world{session: &memSession{}, settings: &memSettings{}, memory: &memMemory{}, audit: &audit{}}
	w.call = extension.Call{
		Session: crdt.DocID{1}, Agent: extension.Agent{ID: crdt.DocID{2}, Name: "ada"},
		Lent: extension.Lent{
			Settings: w.settings,
			Caps: lent{w.memory, post{w.session}, map[string]extension.CapFunc{
				"acme/shout": func(_ context.Context, op string, in json.RawMessage) (json.RawMessage, error) {
					return json.Marshal(op + ":" + strings.ToUpper(string(in)))
				},
			}},
			Tools: func() []extension.ToolInfo {
				return []extension.ToolInfo{{Name: "read_file", Owner: "fs", Parameters: json.RawMessage(`{}`)}}
			},
		},
	}
	w.services = Services{
		Session: func(id string) SessionAccess {
			if id == w.call.Session.String() {
				return w.session
			}
			return nil
		},
		KV: &memKV{}, Secrets: memSecrets{"API_KEY": "hunter2-hunter2"}, LLM: echoModel{}, Audit: w.audit.add,
		Drift: func(reason string) { w.drift = append(w.drift, reason) },
	}
	return w
}

// module is a module without code, for a goGuest.
func module(abi string) Module {
	return Module{
		Decl: extension.Declaration{
			Manifest: extension.Manifest{Name: "demo", Ref: extension.IPLDRef("demo", "bafy")},
			Scopes:   []extension.Scope{extension.PerSession},
		},
		ABI: abi, SHA256: sha256.Sum256(nil),
	}
}

// live makes an extension and its instance of the session of the world.
func (w *world) live(t *testing.T, rt Runtime, m Module) (*Extension, *extension.Instance) {
	t.Helper()
	x, err := New(rt, m, w.services)
	if err != nil {
		t.Fatal(err)
	}
	return x, w.build(t, x)
}

func (w *world) build(t *testing.T, x *Extension) *extension.Instance {
	t.Helper()
	i, err := x.Instantiate(t.Context(), w.scope())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return i
}

// doc is a document of which only the id is of interest.
type doc struct {
	extension.Document
	id crdt.DocID
}

func (d doc) ID() crdt.DocID { return d.id }

func (w *world) scope() extension.ScopeContext {
	return extension.SessionContext{Peer: &extension.Peer{}, Doc: doc{id: w.call.Session}, Settings: w.settings}
}

// run calls a tool by its full name.
func (w *world) run(t *testing.T, i *extension.Instance, tool, args string) (string, error) {
	t.Helper()
	for _, x := range i.Tools {
		if x.Name == tool {
			return x.Run(t.Context(), w.call, json.RawMessage(args))
		}
	}
	t.Fatalf("there is no tool %s", tool)
	return "", nil
}

func wants(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; one with %q was expected", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error %q does not say %q", err, word)
		}
	}
}
