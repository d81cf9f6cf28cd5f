package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// maxDepth is how deep calls between sandboxed extensions may be nested: a guest that uses a capability
// of another guest is one deeper.
const maxDepth = 8

type (
	stateKey struct{}
	depthKey struct{}
)

// callState is one call of a guest, in the context of everything that the call causes.
type callState struct {
	call     extension.Call
	settings extension.SettingsAccess // nil outside a session

	mu     sync.Mutex
	events int   // told or counted
	denial error // the last one
	sends  int   // entries added
	relist bool  // the guest says that its tools changed
}

func stateOf(ctx context.Context) *callState {
	s, _ := ctx.Value(stateKey{}).(*callState)
	return s
}

// event counts one and reports whether it may be told.
func (s *callState) event() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events++
	return s.events <= maxEvents
}

func (s *callState) refused(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denial = err
}

// who is in whose name a guest is called, as it is told.
type who struct {
	Session string    `json:"session,omitempty"`
	Agent   *whoAgent `json:"agent,omitempty"`
	Depth   int       `json:"depth,omitempty"`
}

type whoAgent struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func whoOf(c extension.Call) who {
	w := who{Depth: c.Depth}
	if !c.Session.IsZero() {
		w.Session = c.Session.String()
	}
	if !c.Agent.ID.IsZero() {
		w.Agent = &whoAgent{c.Agent.ID.String(), c.Agent.Name}
	}
	return w
}

// callError is a call that failed, in words fit for people and models.
type callError struct {
	text   string
	causes []error
}

func (e *callError) Error() string   { return e.text }
func (e *callError) Unwrap() []error { return e.causes }

// maxErrorText is the longest text of a guest's error, in characters.
const maxErrorText = 4000

// call calls an export of the guest in the name of c, within limit, with in as JSON. The answer is
// valid UTF-8 and no longer than the output limit; it may be anything else but JSON. The state says what
// happened meanwhile.
func (g *guest) call(ctx context.Context, export string, c extension.Call, limit time.Duration, in any) ([]byte, *callState, error) {
	depth, _ := ctx.Value(depthKey{}).(int)
	if depth >= maxDepth {
		return nil, nil, fmt.Errorf("call %s: calls between sandboxed extensions are nested deeper than %d", g.x.decl.Name, maxDepth)
	}
	input, err := json.Marshal(in)
	if err != nil {
		return nil, nil, fmt.Errorf("call %s: write the input: %w: %w", g.x.decl.Name, extension.ErrArgument, err)
	}
	if in == nil {
		input = nil
	}
	s := &callState{call: c, settings: c.Lent.Settings}
	if s.settings == nil && c.Session == g.home.Session {
		s.settings = g.settings
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ctx = context.WithValue(context.WithValue(ctx, stateKey{}, s), depthKey{}, depth+1)
	p, err := g.pool(ctx, depth)
	if err != nil {
		return nil, s, err
	}
	out, err := p.Call(ctx, export, input)
	g.settle(s)
	switch {
	case err != nil:
		return nil, s, g.failed(s, export, err)
	case int64(len(out)) > g.x.limits.Output:
		return nil, s, g.failed(s, export, engine.ErrOutput)
	case !utf8.Valid(out):
		return nil, s, g.failed(s, export, errors.New("its answer is not valid UTF-8"))
	}
	s.mu.Lock()
	relist := s.relist
	s.mu.Unlock()
	if relist && ctx.Err() == nil && export != g.x.dialect.lister() {
		g.relist(context.WithValue(ctx, depthKey{}, depth))
	}
	return out, s, nil
}

// settle tells of events that were counted only.
func (g *guest) settle(s *callState) {
	s.mu.Lock()
	more := s.events - maxEvents
	s.mu.Unlock()
	if more > 0 {
		g.x.gate.emit(s, Event{Outcome: Used, Detail: fmt.Sprintf("and %d more in the same call", more)})
	}
}

// failed makes an error of a call that failed.
func (g *guest) failed(s *callState, export string, err error) error {
	text := strings.TrimPrefix(err.Error(), fmt.Sprintf("call %s of %s: ", export, g.x.decl.Name))
	if errors.Is(err, engine.ErrDeadline) {
		text = engine.ErrDeadline.Error() // the engine names the time of its pool, which may be longer
	}
	if crashed(err) {
		return g.reported(s, text, err, extension.ErrCrashed)
	}
	return g.reported(s, text, err)
}

// crashed reports whether a call ended the instance.
func crashed(err error) bool {
	for _, e := range []error{engine.ErrTrap, engine.ErrExit, engine.ErrDeadline, engine.ErrFuel, engine.ErrMemory} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// reported makes an error of what a guest says went wrong. If something was refused to it meanwhile, the
// error is an [extension.ErrGrant] too.
func (g *guest) reported(s *callState, text string, causes ...error) error {
	s.mu.Lock()
	if s.denial != nil {
		causes = append(causes, s.denial)
	}
	s.mu.Unlock()
	return &callError{fmt.Sprintf("extension %s: %s", g.x.decl.Name, g.x.clean(text, maxErrorText)), causes}
}

// ask is call with a JSON answer, read into out; an answer with a text under "error" is an error.
func (g *guest) ask(ctx context.Context, export string, c extension.Call, limit time.Duration, in, out any) error {
	b, s, err := g.call(ctx, export, c, limit, in)
	if err != nil {
		return err
	}
	return g.read(s, export, b, out)
}

// read reads an answer.
func (g *guest) read(s *callState, export string, b []byte, out any) error {
	if len(b) == 0 {
		b = []byte("{}") // nothing to say
	}
	var failure struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(b, &failure); err != nil {
		return g.nonsense(export, err)
	}
	if failure.Error != "" {
		return g.reported(s, failure.Error)
	}
	if err := json.Unmarshal(b, out); err != nil {
		return g.nonsense(export, err)
	}
	return nil
}

// nonsense is an answer in another shape than the interface has.
func (g *guest) nonsense(export string, err error) error {
	return fmt.Errorf("extension %s: %s: its answer is not as the interface asks: %s", g.x.decl.Name, export, line(err.Error(), 200))
}
