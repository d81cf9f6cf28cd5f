package node

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/wasm"
	"github.com/chaz-peer/chaz-peer/node/replay"
)

// build makes a runnable extension of a trusted resolution: compiled, with nothing of it run yet.
func (l *loading) build(ctx context.Context, session crdt.DocID, r loaders.Resolution) (extension.Extension, error) {
	rt, err := l.runtime(ctx)
	if err != nil {
		return nil, err
	}
	p := r.Package
	m := moduleOf(p)
	m.Caps, m.Limits, m.WASM = r.Caps, r.Limits, l.shared(m)
	key := builtKey{name: p.Manifest.Name}
	if !replay.BeyondSessions(r) {
		m.Decl.Scopes, key.session = []extension.Scope{extension.PerSession}, session
	}
	var mounts map[string]string
	if r.Decision != nil {
		m.ToolPrint, mounts = r.Decision.Tools, r.Decision.Mounts
	}
	x, err := wasm.New(rt, m, wasm.Services{
		Session: func(id string) wasm.SessionAccess { return l.sessionFor(id, p.Manifest.Name) },
		KV:      guestKV{l.data, owner(p)},
		Secrets: l.n.secrets,
		Mounts:  mounts,
		Audit:   func(e wasm.Event) { l.auditGuest(e) },
		Drift:   func(reason string) { l.drifted(session, p, reason) },
	})
	if err != nil {
		return nil, err
	}
	if err := x.Prepare(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.built[key] = guestCode{x, m.WASM, m.SHA256}
	l.mu.Unlock()
	return x, nil
}

// guestCode is an extension as it was built last in a session, with its module.
type guestCode struct {
	x    *wasm.Extension
	wasm []byte
	sum  [32]byte
}

// lastBuilt is what ran last under a name in a session: its own, or what it shares with all. nil is nothing.
func (l *loading) lastBuilt(session crdt.DocID, name string) *wasm.Extension {
	st, on := l.replay.States(session)[name]
	l.mu.Lock()
	defer l.mu.Unlock()
	if g, ok := l.built[builtKey{session, name}]; ok {
		return g.x
	}
	if g := l.built[builtKey{name: name}]; g.x != nil && on && st.State == loaders.StateTrusted && g.x.Declaration().Ref.Equal(st.Ref) {
		return g.x
	}
	return nil
}

// shared returns the bytes of a module once for all sessions that run it.
func (l *loading) shared(m wasm.Module) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.built {
		if g.sum == m.SHA256 {
			return g.wasm
		}
	}
	return m.WASM
}

// moduleOf is a package as the sandbox takes it, without powers.
func moduleOf(p *loaders.Package) wasm.Module {
	m := p.Manifest
	out := wasm.Module{
		Decl: m.Declaration(p.Ref), Version: m.Version, ABI: m.ABI, WASM: p.WASM, SHA256: p.Key().WASM,
		Deterministic: m.Deterministic, Provides: m.Provides,
	}
	if m.Tools != nil {
		out.Tools = []wasm.DeclaredTool{}
	}
	for _, t := range m.Tools {
		out.Tools = append(out.Tools, wasm.DeclaredTool(t))
	}
	for _, c := range m.Commands {
		out.Commands = append(out.Commands, wasm.DeclaredCommand(c))
	}
	return out
}

// owner says whose the kept data is: the publisher's under this name, or this content's.
func owner(p *loaders.Package) string {
	m := p.Manifest
	if p.Signed && m.Publisher != nil {
		if id, err := m.Publisher.ID(); err == nil {
			return m.Name + "/" + id.String()
		}
	}
	return m.Name + "/" + p.Key().String()
}

// sessionFor opens the session that a guest is called in.
func (l *loading) sessionFor(id, name string) wasm.SessionAccess {
	doc, err := crdt.ParseDocID(id)
	if err != nil || !l.n.repo.Has(doc) {
		return nil
	}
	return guestSession{l.n, doc, name}
}

// auditGuest notes what a guest did with its powers, or was refused.
func (l *loading) auditGuest(e wasm.Event) {
	level := l.n.log.Info
	if e.Outcome != wasm.Used {
		level = l.n.log.Warn
	}
	level("sandboxed extension", "extension", e.Extension, "op", string(e.Op), "target", e.Target, "outcome", string(e.Outcome), "session", e.Session, "detail", e.Detail)
}

// drifted takes note of tools that are not those that were trusted. The sandbox has hidden them already.
func (l *loading) drifted(session crdt.DocID, p *loaders.Package, reason string) {
	l.later(func(ctx context.Context) error {
		if err := l.set.Drift(ctx, session, p, reason); err != nil {
			return err
		}
		return l.replay.Changed(ctx)
	})
}

// later runs work that must not run inside a call of the extension, and must not get lost. Close waits for it.
func (l *loading) later(fn func(context.Context) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.work.Go(func() {
		if err := fn(context.Background()); err != nil {
			l.n.log.Error("task failed", "cause", err)
		}
	})
}

// blocksTools says why an extension that may not run keeps the session's tools from running: it enforces
// rules, and the policy of this peer says so.
func (l *loading) blocksTools(ctx context.Context, ref extension.Ref, r loaders.Resolution) string {
	if l.set.Policy().EnforcingPending != "block" || !l.enforces(ctx, ref, r) {
		return ""
	}
	return fmt.Sprintf("%s enforces rules in this session and does not run on this peer (%s)", ref.Name(), r.State)
}

// enforces reports whether code enforces rules, as far as this peer knows it: by its bytes, also those of
// what was denied, else by what was decided on.
func (l *loading) enforces(ctx context.Context, ref extension.Ref, r loaders.Resolution) bool {
	if r.Package != nil {
		return r.Package.Manifest.Enforcing
	}
	if pkg, err := l.set.Package(ctx, ref); err == nil {
		return pkg.Manifest.Enforcing
	}
	var m struct {
		Enforcing bool `json:"enforcing"`
	}
	return r.Decision != nil && json.Unmarshal(r.Decision.Manifest, &m) == nil && m.Enforcing
}

// notice tells, once for each reference, that something waits for a decision here.
func (l *loading) notice(ctx context.Context, session crdt.DocID, st replay.Status) {
	if st.State != loaders.StatePending && st.State != loaders.StateNeedsReview {
		return
	}
	seen := crdt.NewTable[int64](l.n.home.store, "ext_noticed")
	key := string(st.State) + " " + st.Ref.String()
	if _, err := seen.Get(ctx, key); err == nil {
		return
	}
	if err := seen.Put(ctx, key, crdt.NowMillis(l.n.clock)); err != nil {
		l.n.log.Error("note extension", "cause", err)
		return
	}
	l.n.cfg.Report(fmt.Sprintf("the extension %s waits for a decision here: `chaz-peer ext show %s --session %s`", st.Name, st.Name, session.Short()))
}

// hubAPI is what the replay needs of the hub.
type hubAPI struct{ *hub.Hub }

// installed registers an extension for the whole peer and returns what went wrong.
func (h hubAPI) installed(ctx context.Context, x extension.Extension) (errs []error) {
	for _, r := range h.Hub.Install(ctx, []extension.Extension{x}) {
		if r.Err != nil {
			errs = append(errs, r.Err)
		}
	}
	return errs
}

// discover lists the tools of a package that declares none, in an instance without any power. It is for
// showing and for the fingerprint of a decision: a person asked for it.
func (l *loading) discover(ctx context.Context, p *loaders.Package) ([]loaders.Tool, []string, error) {
	if p.Manifest.Tools != nil {
		return p.Manifest.Tools, nil, nil
	}
	rt, err := l.runtime(ctx)
	if err != nil {
		return nil, nil, err
	}
	list, refused, err := wasm.Discover(ctx, rt, moduleOf(p))
	out := []loaders.Tool{}
	for _, t := range list {
		out = append(out, loaders.Tool(t))
	}
	return out, refused, err
}

// fingerprintOf is what a decision keeps of the tools that were shown.
func fingerprintOf(tools []loaders.Tool) string {
	list := make([]wasm.DeclaredTool, len(tools))
	for i, t := range tools {
		list[i] = wasm.DeclaredTool(t)
	}
	return wasm.Fingerprint(list)
}

// refText is the one-line form of a reference.
func refText(ref extension.Ref) string {
	switch ref.Kind() {
	case extension.IPLD:
		return "ipld:" + ref.Field("cid")
	case extension.Git:
		repo, fragment, _ := strings.Cut(ref.Field("repo"), "#")
		if fragment != "" {
			fragment = "#" + fragment
		}
		return "git:" + repo + "@" + ref.Field("sha") + fragment
	case extension.Eidetica:
		return "registry:" + ref.Field("db_id") + "@" + ref.Version()
	}
	return ref.String()
}
