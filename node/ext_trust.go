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

func (n *Node) extTrust(ctx context.Context, p control.ExtTrustParams, out *control.Events[control.Progress]) (control.ExtTrusted, error) {
	t, err := n.findExt(ctx, p.Ref, p.Session, loaders.From{Outside: p.Outside})
	if err != nil {
		return control.ExtTrusted{}, err
	}
	req, err := n.trustRequest(ctx, p, t, out)
	if err != nil {
		return control.ExtTrusted{}, err
	}
	d, err := n.loading.set.Trust(ctx, req)
	if err != nil {
		return control.ExtTrusted{}, extFault(err)
	}
	if err := n.trustMoved(ctx, t.session); err != nil {
		return control.ExtTrusted{}, err
	}
	res := control.ExtTrusted{Name: d.Name, Key: d.Key, Everywhere: d.Everywhere, Sessions: n.sessionsOf(d)}
	r := n.loading.set.Resolve(ctx, d.Session, d.Name, t.ref)
	res.State, res.Reason, res.Caps = stateWord(r.State), r.Reason, powers(r.Caps)
	if st, ok := n.loading.replay.States(t.session)[d.Name]; ok && st.Ref.Equal(t.ref) && st.State != r.State {
		res.State, res.Reason = stateWord(st.State), st.Reason
	}
	return res, nil
}

// trustRequest checks what was said against what is here.
func (n *Node) trustRequest(ctx context.Context, p control.ExtTrustParams, t target, out *control.Events[control.Progress]) (loaders.TrustRequest, error) {
	if p.Session == "" && !p.Everywhere {
		return loaders.TrustRequest{}, usage("name the session with --session, or say --everywhere", "trust %s: for which session?", t.ref.Name())
	}
	if p.SHA256 == "" {
		return loaders.TrustRequest{}, usage("look at it with `chaz-peer ext show` and name the content you saw", "trust %s: no content is named", t.ref.Name())
	}
	if err := n.bring(ctx, t, p.Outside, out); err != nil {
		return loaders.TrustRequest{}, extFault(err)
	}
	pkg, err := n.loading.set.Package(ctx, t.ref)
	if err != nil {
		return loaders.TrustRequest{}, extFault(err)
	}
	if p.SHA256 != pkg.Key().String() && p.SHA256 != pkg.SHA256() {
		return loaders.TrustRequest{}, &control.Error{
			Code: control.CodeConflict, Cause: fmt.Sprintf("trust %s: its content is %s, not what was named", t.ref.Name(), pkg.SHA256()),
		}
	}
	if asks := pkg.Manifest.Capabilities; !asks.IsZero() && !p.AllRequested && !p.NoCaps && len(p.Caps) == 0 {
		return loaders.TrustRequest{}, usage(
			"give --cap for each that you agree to, --all-requested, or --no-caps",
			"trust %s: it asks for %s, and nothing says what it gets", t.ref.Name(), strings.Join(asks.Flags(), " "),
		)
	}
	req := loaders.TrustRequest{
		Ref: t.ref, Everywhere: p.Everywhere, Expect: p.SHA256, AllRequested: p.AllRequested, None: p.NoCaps, Mounts: p.Mounts, Publisher: p.Publisher,
		Why: "a person on this peer said so",
	}
	if !p.Everywhere {
		req.Session = t.session
	}
	for _, flag := range p.Caps {
		c, err := extension.ParseGuestCap(flag)
		if err == nil {
			req.Caps = req.Caps.Union(c)
		}
		if err != nil {
			return req, usage("spell powers as `chaz-peer ext show` does", "trust %s: %s", t.ref.Name(), err)
		}
	}
	tools, _, err := n.loading.discover(ctx, pkg)
	if err != nil {
		return req, &control.Error{Code: control.CodeInternal, Cause: fmt.Sprintf("trust %s: its tools can't be listed: %s", t.ref.Name(), err), Remedy: "this code does not work here; ask who published it"}
	}
	if pkg.Manifest.Tools == nil {
		req.Tools = fingerprintOf(tools)
	}
	return req, nil
}

// trustMoved brings everything that runs in step with the decisions.
func (n *Node) trustMoved(ctx context.Context, session crdt.DocID) error {
	err := n.loading.replay.Changed(ctx)
	if !session.IsZero() {
		err = errors.Join(err, n.loading.replay.Ensure(ctx, session))
	}
	return err
}

func (n *Node) sessionsOf(d loaders.Decision) control.List[control.ExtSession] {
	out := control.List[control.ExtSession]{}
	if !d.Session.IsZero() {
		out = append(out, control.ExtSession{ID: d.Session.String(), Name: n.docNames.of(d.Session.String())})
	}
	return out
}

func (n *Node) extDeny(ctx context.Context, p control.ExtDecideParams) (control.ExtAffected, error) {
	t, err := n.findExt(ctx, p.Ref, p.Session, loaders.From{})
	if err != nil {
		return control.ExtAffected{}, err
	}
	r := n.loading.set.Resolve(ctx, t.session, t.ref.Name(), t.ref)
	if _, err := n.loading.set.Deny(ctx, t.ref, ""); err != nil {
		return control.ExtAffected{}, extFault(err)
	}
	out := control.ExtAffected{Name: t.ref.Name()}
	if r.Package != nil {
		out.Key = r.Package.Key().String()
	}
	return n.affected(ctx, out, func(a activeExt) bool { return a.ref.Equal(t.ref) })
}

func (n *Node) extUntrust(ctx context.Context, p control.ExtDecideParams) (control.ExtAffected, error) {
	var only crdt.DocID
	if p.Session != "" {
		id, err := n.findSession(p.Session)
		if err != nil {
			return control.ExtAffected{}, err
		}
		only = id
	}
	what := p.Ref
	if _, isSource, err := parseSource(p.Ref); err != nil || isSource {
		t, err := n.findExt(ctx, p.Ref, p.Session, loaders.From{})
		if err != nil {
			return control.ExtAffected{}, err
		}
		what = t.ref.String()
	}
	gone, err := n.loading.set.UntrustIn(ctx, what, only)
	if err != nil {
		return control.ExtAffected{}, extFault(err)
	}
	if len(gone) == 0 {
		return control.ExtAffected{}, n.nothingTrusted(ctx, p.Ref, what, only)
	}
	return n.affected(ctx, control.ExtAffected{Name: gone[0].Name, Key: gone[0].Key}, func(a activeExt) bool {
		return slices.ContainsFunc(gone, func(d loaders.Decision) bool {
			return d.Name == a.name && (d.Everywhere || d.Session == a.session)
		})
	})
}

// nothingTrusted says why there was nothing to take back.
func (n *Node) nothingTrusted(ctx context.Context, typed, what string, only crdt.DocID) error {
	all, err := n.loading.set.List(ctx)
	if err != nil {
		return err
	}
	if !only.IsZero() && slices.ContainsFunc(all, func(d loaders.Decision) bool {
		return d.Everywhere && (d.Name == what || d.Ref == what || d.Key == what)
	}) {
		return &control.Error{
			Code: control.CodeConflict, Cause: fmt.Sprintf("untrust %.80q: it is trusted everywhere, not in session %s alone", typed, only.Short()),
			Remedy: "leave --session out to take that back, or switch it off in this session with `/extensions remove`",
		}
	}
	return &control.Error{
		Code: control.CodeNotFound, Cause: fmt.Sprintf("untrust %.80q: nothing of that name is trusted in %s", typed, sessionWords(only)), Remedy: "see `chaz-peer ext list`",
	}
}

// affected ends what a decision took the trust of, and lists the sessions that have it on.
func (n *Node) affected(ctx context.Context, out control.ExtAffected, hit func(activeExt) bool) (control.ExtAffected, error) {
	if err := n.loading.replay.Changed(ctx); err != nil {
		return out, err
	}
	on, err := n.activeExts(ctx, crdt.DocID{})
	if err != nil {
		return out, err
	}
	out.Sessions = control.List[control.ExtSession]{}
	for _, a := range on {
		if hit(a) {
			out.Sessions = append(out.Sessions, control.ExtSession{ID: a.session.String(), Name: n.docNames.of(a.session.String())})
		}
	}
	return out, nil
}

func (n *Node) extList(ctx context.Context, _ control.ExtListParams) (control.List[control.ExtHere], error) {
	decisions, err := n.loading.set.List(ctx)
	if err != nil {
		return nil, err
	}
	running := n.loading.replay.Running()
	out := control.List[control.ExtHere]{}
	for _, d := range decisions {
		if d.Publisher != "" {
			continue // a rule, not content
		}
		ref, err := extension.ParseRef([]byte(d.Ref))
		if err != nil {
			continue
		}
		x := control.ExtHere{
			Name: d.Name, Ref: json.RawMessage(d.Ref), RefText: refText(ref), Key: d.Key, Everywhere: d.Everywhere || d.Deny,
			Sessions: n.sessionsOf(d), Caps: powers(d.Caps), Since: control.Time(d.At), State: "denied",
		}
		if strings.HasPrefix(d.Key, "{") {
			x.Key = "" // a denial of bytes that were never here
		}
		var m struct {
			Version string `json:"version"`
		}
		if json.Unmarshal(d.Manifest, &m) == nil {
			x.Version = m.Version
		}
		if !d.Deny {
			r := n.loading.set.Resolve(ctx, d.Session, d.Name, ref)
			x.State, x.Reason = stateWord(r.State), r.Reason
		}
		for session, names := range running {
			if (d.Everywhere || session == d.Session) && slices.Contains(names, d.Name) {
				x.Instances++
			}
		}
		out = append(out, x)
	}
	return out, nil
}
