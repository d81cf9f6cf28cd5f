package routine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // the zones of the tests, whatever the machine has

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rows is a store in memory that keeps rows as JSON text per field, as documents do.
type rows struct {
	mu     sync.Mutex
	fields map[Key]map[string]string
	scopes map[Scope]bool
	fail   map[string]int // "read", "update", "rows": so many calls fail
	writes int
	reads  int // of whole scopes
	t      *testing.T
}

func newRows(t *testing.T) *rows {
	return &rows{fields: map[Key]map[string]string{}, scopes: map[Scope]bool{}, fail: map[string]int{}, t: t}
}

var errDisk = errors.New("the disk is gone")

// enter takes the lock and says whether this call is to fail.
func (s *rows) enter(ctx context.Context, call string) (func(), error) {
	s.mu.Lock()
	if call == "rows" {
		s.reads++
	}
	if ctx.Err() != nil {
		return s.mu.Unlock, ctx.Err()
	}
	if s.fail[call] > 0 {
		s.fail[call]--
		return s.mu.Unlock, errDisk
	}
	return s.mu.Unlock, nil
}

func (s *rows) Scopes(ctx context.Context) ([]Scope, error) {
	leave, err := s.enter(ctx, "scopes")
	defer leave()
	var out []Scope
	for sc := range s.scopes {
		out = append(out, sc)
	}
	return out, err
}

func (s *rows) Rows(ctx context.Context, scope Scope) ([]Routine, error) {
	leave, err := s.enter(ctx, "rows")
	defer leave()
	var out []Routine
	for key, f := range s.fields {
		if r, ok := Decode(key.ID, f); ok && key.Scope == scope {
			out = append(out, r)
		}
	}
	return out, err
}

func (s *rows) Row(ctx context.Context, key Key) (Routine, bool, error) {
	leave, err := s.enter(ctx, "read")
	defer leave()
	r, ok := Decode(key.ID, s.fields[key])
	return r, ok && err == nil, err
}

func (s *rows) Put(ctx context.Context, scope Scope, r Routine) error {
	leave, err := s.enter(ctx, "put")
	defer leave()
	if err == nil {
		s.scopes[scope] = true
		s.fields[Key{scope, r.ID}] = r.Fields()
		s.writes++
	}
	return err
}

func (s *rows) Update(ctx context.Context, key Key, o Outcome) error {
	leave, err := s.enter(ctx, "update")
	defer leave()
	if err != nil {
		return err
	}
	s.writes++
	row, ok := s.fields[key]
	if o.Delete || !ok {
		delete(s.fields, key)
		return nil
	}
	for k, v := range o.Fields() {
		if row[k] = v; v == "" {
			delete(row, k)
		}
	}
	return nil
}

func (s *rows) Delete(ctx context.Context, key Key) error {
	leave, err := s.enter(ctx, "delete")
	defer leave()
	delete(s.fields, key)
	return err
}

// add writes a row as if it had come by sync.
func (s *rows) add(scope Scope, r Routine) Key {
	s.t.Helper()
	if err := s.Put(context.Background(), scope, r); err != nil {
		s.t.Fatal(err)
	}
	return Key{scope, r.ID}
}

// edit changes fields of a row as another peer would.
func (s *rows) edit(key Key, change func(map[string]string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.fields[key])
}

func (s *rows) get(key Key) (Routine, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Decode(key.ID, s.fields[key])
}

// failNext makes the next n calls of a kind fail.
func (s *rows) failNext(call string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[call] = n
}

func (s *rows) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// skewed is a clock that is wrong by a skew, which may change.
type skewed struct{ skew atomic.Int64 }

func (c *skewed) Now() time.Time                         { return time.Now().Add(time.Duration(c.skew.Load())) }
func (c *skewed) After(d time.Duration) <-chan time.Time { return time.After(d) }
func (c *skewed) jump(d time.Duration)                   { c.skew.Add(int64(d)) }

// fired is one call of the dispatcher.
type fired struct {
	peer  string
	scope Scope
	ext   string
	load  string
	at    time.Time
}

// handlers dispatches by extension name and records what fired.
type handlers struct {
	mu    sync.Mutex
	peer  string
	clock Clock
	log   []fired
	do    map[string]func(context.Context) error
}

func (h *handlers) Dispatch(ctx context.Context, ext string, key Key, payload json.RawMessage) error {
	h.mu.Lock()
	h.log = append(h.log, fired{h.peer, key.Scope, ext, string(payload), h.clock.Now().UTC()})
	do, ok := h.do[ext]
	h.mu.Unlock()
	if !ok {
		return fmt.Errorf("dispatch routine: there is no extension %q", ext)
	}
	if do == nil {
		return nil
	}
	return do(ctx)
}

func (h *handlers) on(ext string, do func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.do[ext] = do
}

func (h *handlers) fires() []fired {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.log)
}

// times lists when fires happened.
func (h *handlers) times() (out []string) {
	for _, f := range h.fires() {
		out = append(out, f.at.Format("15:04:05"))
	}
	return out
}

// homeOf answers by the home field of the row.
type homeOf string

func (h homeOf) IsHome(_ context.Context, _ Key, r Routine) bool {
	return r.Home == "" || r.Home == string(h)
}

// peer is one engine with what is around it.
type peer struct {
	*Engine
	t      *testing.T
	rows   *rows
	clock  *skewed
	calls  *handlers
	log    bytes.Buffer
	cancel context.CancelFunc
	ended  chan error
}

func newPeer(t *testing.T, name string, s *rows, change func(*Config)) *peer {
	p := &peer{t: t, rows: s, clock: &skewed{}}
	p.calls = &handlers{peer: name, clock: p.clock, do: map[string]func(context.Context) error{"ok": nil, "bad": func(context.Context) error { return errors.New("no luck") }}}
	cfg := Config{
		Store: s, Dispatcher: p.calls, Homes: homeOf(name), Clock: p.clock,
		Log: slog.New(slog.NewTextHandler(&p.log, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	p.Engine = New(cfg)
	return p
}

func (p *peer) start() {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel, p.ended = cancel, make(chan error, 1)
	go func() { p.ended <- p.Run(ctx) }()
	synctest.Wait()
}

func (p *peer) halt() {
	p.t.Helper()
	p.cancel()
	if err := <-p.ended; err != nil {
		p.t.Errorf("run: %v", err)
	}
}

func (p *peer) warnings(text string) int { return strings.Count(p.log.String(), text) }

// world runs a test with one peer in fake time, which starts at midnight of 1 January 2000, UTC.
func world(t *testing.T, test func(*testing.T, *peer)) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, "here", newRows(t), nil)
		test(t, p)
		if p.cancel != nil {
			p.halt()
		}
	})
}

// pass lets time pass until everybody waits again.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func cronOf(expr string) Trigger     { return must(Cron(expr, "")) }
func every(d time.Duration) Trigger  { return must(Every(d)) }
func onceIn(d time.Duration) Trigger { return must(Once(time.Now().Add(d))) }

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}
