package node

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// target is an extension that a person means.
type target struct {
	ref     extension.Ref
	session crdt.DocID // zero: none was named, and the reference says nothing
}

// activeExt is one external extension that a session has on.
type activeExt struct {
	session crdt.DocID
	name    string
	ref     extension.Ref
	by      crdt.PeerID
	at      int64
}

// activeExts lists the external extensions of one session, or (zero) of all.
func (n *Node) activeExts(ctx context.Context, only crdt.DocID) ([]activeExt, error) {
	var out []activeExt
	for _, s := range n.repo.List() {
		if s.Kind != crdt.Session || !only.IsZero() && s.ID != only {
			continue
		}
		err := n.repo.Peek(ctx, s.ID, func(v *crdt.View) error {
			log, err := activationLog(v)
			if err != nil {
				return err
			}
			for _, a := range log.ReadActive() {
				if a.Ref.Kind() != extension.Builtin {
					x := activeExt{session: s.ID, name: a.Name, ref: a.Ref}
					for _, e := range log.History(a.Name) {
						if e.Rule == activation.RuleCurrent {
							x.by, x.at = e.Author, e.Timestamp
						}
					}
					out = append(out, x)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// findExt resolves what a person gives for an extension: a name in a session, a source, a content key or
// the beginning of one. With fetch missing bytes may be brought to learn a name.
func (n *Node) findExt(ctx context.Context, text, sessionRef string, from loaders.From) (target, error) {
	var t target
	var err error
	if sessionRef != "" {
		if t.session, err = n.findSession(sessionRef); err != nil {
			return t, err
		}
	}
	src, isSource, err := n.readSource(text)
	if err != nil {
		return t, usage("see `chaz-peer ext show --help` for the forms", "read reference: %s", err) // not the text: there may be a password in it
	}
	on, err := n.activeExts(ctx, t.session)
	if err != nil {
		return t, err
	}
	if !isSource {
		return n.findNamed(ctx, text, t, on)
	}
	for _, a := range on {
		if src.is(a.ref) {
			t.ref = a.ref
			if t.session.IsZero() {
				t.session = a.session
			}
			return t, nil
		}
	}
	if from.Doc.IsZero() {
		from.Doc = t.session
	}
	t.ref, err = n.identify(ctx, src, from)
	return t, err
}

// findNamed looks among what is on, then among the decisions.
func (n *Node) findNamed(ctx context.Context, text string, t target, on []activeExt) (target, error) {
	hits := map[string]activeExt{}
	for _, a := range on {
		if a.name == text {
			hits[a.ref.String()] = a
		}
	}
	all, err := n.loading.set.List(ctx)
	if err != nil {
		return t, err
	}
	for _, d := range all {
		_, module, _ := strings.Cut(d.Key, ".")
		byKey := len(text) >= 8 && (strings.HasPrefix(d.Key, text) || strings.HasPrefix(module, text))
		if ref, err := extension.ParseRef([]byte(d.Ref)); err == nil && d.Publisher == "" && (byKey || len(hits) == 0 && d.Name == text) {
			hits[d.Ref] = activeExt{session: d.Session, ref: ref}
		}
	}
	switch len(hits) {
	case 0:
		return t, &control.Error{
			Code: control.CodeNotFound, Cause: fmt.Sprintf("find extension %.80q: nothing of that name is on in %s, and nothing was decided about it", text, sessionWords(t.session)),
			Remedy: remedyForNothing(text),
		}
	case 1:
		for _, a := range hits {
			t.ref = a.ref
			if t.session.IsZero() {
				t.session = a.session
			}
		}
		return t, nil
	}
	var forms []string
	for _, a := range hits {
		forms = append(forms, refText(a.ref))
	}
	slices.Sort(forms)
	return t, &control.Error{
		Code: control.CodeAmbiguous, Cause: fmt.Sprintf("find extension %.80q: it means %s", text, strings.Join(forms, " and ")),
		Remedy: "name the session with --session, or give one of them",
	}
}

func sessionWords(id crdt.DocID) string {
	if id.IsZero() {
		return "any session"
	}
	return "session " + id.Short()
}

// remedyForNothing helps who names something that is not known here.
func remedyForNothing(text string) string {
	if _, err := ipld.ParseID(text); err != nil && (strings.HasPrefix(text, "baf") || strings.HasPrefix(text, "Qm")) && len(text) > 12 {
		return "if it is meant as a CID: " + shorter(err).Error()
	}
	if strings.ContainsAny(text, `/\`) || strings.HasSuffix(text, ".wasm") {
		return "a folder or module gets a CID by `chaz-peer ext pack PATH`; show that"
	}
	return "see `/extensions list` of the session, or give ipld:CID, git:REPO@SHA or registry:DOC@VERSION"
}

// identify finds out how the extension behind a source is called, fetching what is missing as far as from
// allows.
func (n *Node) identify(ctx context.Context, s source, from loaders.From) (extension.Ref, error) {
	l := n.loading
	var m *loaders.Manifest
	var err error
	switch s.kind {
	case extension.IPLD:
		m, err = l.ipld.Identify(ctx, s.cid, from)
	case extension.Git:
		m, err = l.git.Identify(ctx, s.repo, s.sha, from)
		if _, file, ok := strings.Cut(s.repo, "#wasm="); ok && s.name == "" {
			s.name = nameFromFile(file)
		}
	case extension.Eidetica:
		m, err = l.registry.Identify(ctx, s.doc, s.version, from)
	}
	if err != nil {
		return extension.Ref{}, extFault(err)
	}
	name := s.name
	if m != nil {
		name = m.Name
	}
	if name == "" {
		return extension.Ref{}, usage("repeat with #name=NAME behind it", "this module does not say how it is called")
	}
	ref := s.named(name)
	if err := extension.CheckName(name, ref); err != nil {
		return ref, usage("", "add %s: %s", name, err)
	}
	return ref, nil
}
