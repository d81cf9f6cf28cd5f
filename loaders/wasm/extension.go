package wasm

import (
	"context"
	"errors"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// Extension is a sandboxed extension. Nothing of the guest runs before the first
// [Extension.Instantiate]. Methods are safe for concurrent use.
type Extension struct {
	m        Module
	decl     extension.Declaration
	limits   engine.Limits
	services Services
	dialect  dialect
	gate     *gate
	http     *client
	logs     *ring
	known    *trustedTools
	secrets  *redactor
	rt       Runtime
}

// New makes an extension of a module with its granted powers. It checks everything that can be checked
// without running the guest.
func New(rt Runtime, m Module, s Services) (*Extension, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("make extension %.80q: %w", m.Decl.Name, err)
	}
	secrets := new(redactor)
	g, err := newGate(m.Decl.Name, m.Caps, s.Audit, secrets.hide)
	if err != nil {
		return nil, fmt.Errorf("make extension %.80q: %w", m.Decl.Name, err)
	}
	known, err := newTrustedTools(m)
	if err != nil {
		return nil, fmt.Errorf("make extension %.80q: %w", m.Decl.Name, err)
	}
	d, err := dialectOf(m.ABI)
	if err != nil {
		return nil, fmt.Errorf("make extension %.80q: %w", m.Decl.Name, err)
	}
	x := &Extension{
		m: m, decl: m.declaration(), limits: m.limits(), services: s, dialect: d, gate: g, http: newClient(g, s.HTTP),
		logs: new(ring), known: known, secrets: secrets, rt: rt,
	}
	return x, nil
}

// Declaration implements [extension.Extension].
func (x *Extension) Declaration() extension.Declaration { return x.decl }

// Logs returns the last lines that the guest wrote, the oldest first. They are of the guest: escaped,
// cut, and without the secrets that it was given.
func (x *Extension) Logs() []LogLine { return x.logs.lines() }

// Prepare compiles the module, which may take seconds the first time on a machine; nothing of it runs. An
// instance that is built later then has the deadline of its building for itself.
func (x *Extension) Prepare(ctx context.Context) error {
	code, err := x.rt.Compile(ctx, x.m.WASM)
	if err != nil {
		return fmt.Errorf("prepare %s: %w", x.decl.Name, err)
	}
	code.Close() // what was compiled is kept for a while; who opens a pool holds it
	return nil
}

// Instantiate implements [extension.Extension]: it compiles the module if the engine does not know it,
// opens a pool for the scope, reads the guest's list of tools, and holds it against what was declared
// and trusted.
func (x *Extension) Instantiate(ctx context.Context, s extension.ScopeContext) (*extension.Instance, error) {
	if s == nil || !x.decl.LivesAt(s.Scope()) {
		return nil, fmt.Errorf("instantiate %s: it does not live at this scope", x.decl.Name)
	}
	g, err := x.open(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("instantiate %s: %w", x.decl.Name, err)
	}
	i, err := x.dialect.instance(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("instantiate %s: %w", x.decl.Name, errors.Join(err, g.close(ctx)))
	}
	i.Shutdown = g.shutdown
	return i, nil
}

// clean makes a text of the guest fit to be shown: without secrets, on one line, cut.
func (x *Extension) clean(text string, limit int) string {
	return line(x.secrets.hide(text), limit)
}

// note writes a line of the host into the guest's log.
func (x *Extension) note(level, text string) {
	x.logs.add(level, "host: "+x.clean(text, 300))
}
