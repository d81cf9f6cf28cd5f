package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// bring makes sure, as far as allowed, that the bytes of an extension are here. Who asks for that wants
// them: where no peer has them now they come when one appears.
func (n *Node) bring(ctx context.Context, t target, outside bool, out *control.Events[control.Progress]) error {
	l := n.loading
	r := l.set.Resolve(ctx, t.session, t.ref.Name(), t.ref)
	if r.Package != nil || r.State == loaders.StateInvalid {
		return nil
	}
	if _, err := l.set.Package(ctx, t.ref); err == nil {
		return nil // denied, and here
	}
	err := l.set.Fetch(ctx, t.ref, loaders.From{Doc: t.session, Outside: outside, Progress: func(done, total int64) {
		if out != nil {
			_ = out.Send(control.Progress{Done: done, Total: total, Unit: "bytes"}) // the end of the call tells of a lost client
		}
	}})
	if errors.Is(err, loaders.ErrMissing) && !t.session.IsZero() {
		l.replay.Want(t.session, t.ref)
	}
	return err
}

func (n *Node) extShow(ctx context.Context, p control.ExtShowParams, out *control.Events[control.Progress]) (control.ExtCard, error) {
	t, err := n.findExt(ctx, p.Ref, p.Session, loaders.From{Outside: p.Outside})
	if err != nil {
		return control.ExtCard{}, err
	}
	lacking := n.bring(ctx, t, p.Outside, out)
	card, err := n.card(ctx, t)
	if err == nil && !card.BytesHere && lacking != nil && card.State != "denied" {
		card.Reason = lacking.Error()
		var fault *control.Error
		if errors.As(extFault(lacking), &fault) {
			card.Remedy = fault.Remedy
		}
	}
	return card, err
}

// card is what a person decides on.
func (n *Node) card(ctx context.Context, t target) (control.ExtCard, error) {
	r := n.loading.set.Resolve(ctx, t.session, t.ref.Name(), t.ref)
	out := control.ExtCard{
		Name: t.ref.Name(), Ref: json.RawMessage(t.ref.String()), RefText: refText(t.ref), State: stateWord(r.State),
		Reason: r.Reason, Remedy: r.Remedy,
	}
	if r.Package == nil && r.State == loaders.StateDenied {
		if pkg, err := n.loading.set.Package(ctx, t.ref); err == nil {
			r.Package = pkg // who looks again may think otherwise
		}
	}
	if r.Package == nil {
		return out, nil
	}
	tools, refused, err := n.loading.discover(ctx, r.Package)
	if err != nil {
		out.Reason = "its tools could not be listed: " + err.Error()
		tools = nil
	}
	c := loaders.Describe(r, nil, tools)
	m := r.Package.Manifest
	out.BytesHere, out.Version, out.CID = true, c.Version, c.Root
	out.WASMSHA256, out.Key, out.Size, out.Publisher, out.Signed = c.SHA256, c.Key, c.Size, c.Publisher, r.Package.Signed
	out.License, out.Homepage, out.Source, out.ABI = c.License, c.Homepage, c.Source, c.ABI
	for _, s := range m.LivesAt() {
		out.Scopes = append(out.Scopes, strings.TrimPrefix(string(s), "per_"))
	}
	out.Hooks = control.List[string](c.Always) // which says in words also what it gives to others
	for i, tool := range c.Tools {
		x := control.ExtTool{Name: tool.Name, Description: tool.Description}
		if i < len(tools) {
			x.Schema = tools[i].InputSchema
		}
		out.Tools = append(out.Tools, x)
	}
	for _, why := range refused {
		out.Limits = append(out.Limits, "A tool of it is left out: "+why)
	}
	out.ToolsKnown = c.Declared
	for _, cmd := range c.Commands {
		out.Commands = append(out.Commands, cmd.Name)
	}
	out.Asks = powers(m.Capabilities)
	if r.State == loaders.StateTrusted {
		out.Grants = powers(r.Caps)
	}
	out.Limits = append(control.List[string](c.Limits), out.Limits...)
	out.Diff = diffOut(c, r)
	out.Text = c.Text()
	return out, nil
}

func diffOut(c *loaders.Card, r loaders.Resolution) *control.ExtDiff {
	if c.Changes == nil || r.Decision == nil {
		return nil
	}
	d := &control.ExtDiff{Key: r.Decision.Key, Added: c.Changes.Added, Removed: c.Changes.Removed, Changed: c.Changes.Parts}
	var old struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(r.Decision.Manifest, &old) == nil {
		d.Version = old.Version
	}
	return d
}

// powers spells each power with its sentence.
func powers(c extension.GuestCaps) (out control.List[control.ExtPower]) {
	for _, flag := range c.Flags() {
		one, err := extension.ParseGuestCap(flag)
		words := flag
		if err == nil && len(one.Words()) > 0 {
			words = one.Words()[0]
		}
		out = append(out, control.ExtPower{Words: words, Cap: flag})
	}
	return out
}

// stateWord is a state as the local API spells it.
func stateWord(s loaders.State) string {
	if s == loaders.StateNeedsReview {
		return "needs_review"
	}
	return string(s)
}

func (n *Node) extPending(ctx context.Context, p control.ExtPendingParams) (control.List[control.ExtPending], error) {
	var only crdt.DocID
	if p.Session != "" {
		id, err := n.findSession(p.Session)
		if err != nil {
			return nil, err
		}
		only = id
	}
	on, err := n.activeExts(ctx, only)
	if err != nil {
		return nil, err
	}
	out := control.List[control.ExtPending]{}
	for _, a := range on {
		r := n.loading.set.Resolve(ctx, a.session, a.name, a.ref)
		if r.State == loaders.StateTrusted || r.State == loaders.StateDenied || r.State == loaders.StateInvalid {
			continue
		}
		where := control.ExtSession{ID: a.session.String(), Name: n.docNames.of(a.session.String())}
		i := slices.IndexFunc(out, func(x control.ExtPending) bool {
			return string(x.Ref) == a.ref.String() && x.State == stateWord(r.State)
		})
		if i >= 0 {
			out[i].Sessions = append(out[i].Sessions, where)
			continue
		}
		out = append(out, control.ExtPending{
			Name: a.name, Ref: json.RawMessage(a.ref.String()), RefText: refText(a.ref), Sessions: control.List[control.ExtSession]{where},
			By: a.by.String(), ByName: n.nameOf(a.by), At: control.Time(a.at), BytesHere: r.Package != nil, State: stateWord(r.State), Reason: r.Reason,
		})
	}
	return out, nil
}

func (n *Node) extAudit(ctx context.Context, p control.ExtAuditParams) (control.List[control.ExtEvent], error) {
	list, err := n.loading.journal.Read(ctx, p.N)
	if err != nil {
		return nil, err
	}
	out := control.List[control.ExtEvent]{}
	for _, e := range list {
		x := control.ExtEvent{At: control.Time(e.At), What: string(e.What), Name: e.Name, Key: e.Key, Ref: e.Ref, Detail: e.Why}
		if ref, err := extension.ParseRef([]byte(e.Ref)); err == nil {
			x.Ref = refText(ref)
		}
		if !e.Session.IsZero() {
			x.Session, x.SessionName = e.Session.String(), n.docNames.of(e.Session.String())
		}
		out = append(out, x)
	}
	return out, nil
}

func (n *Node) extLogs(_ context.Context, p control.ExtLogsParams) (control.List[control.ExtLogLine], error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return nil, err
	}
	x := n.loading.lastBuilt(id, p.Name)
	if x == nil {
		return nil, &control.Error{
			Code: control.CodeNotFound, Cause: fmt.Sprintf("read log of %.80q: it has not run in this session since the daemon started", p.Name),
			Remedy: "see `chaz-peer ext list`",
		}
	}
	lines := x.Logs()
	if p.N > 0 && len(lines) > p.N {
		lines = lines[len(lines)-p.N:]
	}
	out := control.List[control.ExtLogLine]{}
	for _, l := range lines {
		out = append(out, control.ExtLogLine{Level: l.Level, Text: l.Text})
	}
	return out, nil
}
