package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
	"github.com/chaz-peer/chaz-peer/node/command"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// Resolve implements [command.Sources]. Who types a source agrees to its being fetched, and so learns its
// name; that it may run is another question.
func (h slashHost) Resolve(ctx context.Context, c command.Call, text string) (extension.Ref, string, error) {
	n := h.n
	src, isSource, err := n.readSource(text)
	if err != nil {
		return extension.Ref{}, "", err
	}
	var ref extension.Ref
	if isSource {
		ref, err = n.identify(ctx, src, loaders.From{Doc: c.Session, Outside: true})
	} else {
		ref, err = n.packPath(ctx, text)
	}
	var told *control.Error
	if errors.As(err, &told) {
		if told.Remedy != "" {
			err = fmt.Errorf("%s: %s", told.Cause, told.Remedy)
		} else {
			err = errors.New(told.Cause)
		}
	}
	if err != nil {
		return ref, "", err
	}
	return ref, n.nextStep(ctx, c.Session, ref), nil
}

// packPath packs a folder or file of this machine; only what came of it enters a log.
func (n *Node) packPath(ctx context.Context, text string) (extension.Ref, error) {
	if !filepath.IsAbs(text) {
		return extension.Ref{}, fmt.Errorf("%.120q is no absolute path, and neither ipld:CID, git:REPO@SHA nor registry:DOC@VERSION", text)
	}
	if err := checkPath(text); err != nil {
		return extension.Ref{}, err
	}
	p, err := n.loading.ipld.Pack(ctx, text, ipld.PackOptions{})
	if err != nil {
		return extension.Ref{}, err
	}
	n.loading.set.Changed()
	name := nameFromFile(text)
	if p.Manifest != nil {
		name = p.Manifest.Name
	}
	return extension.IPLDRef(name, p.Root), nil
}

// checkPath refuses what reading would wait for: a pipe, a device.
func checkPath(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("pack %s: it is neither a folder nor a file", path)
	}
	return nil
}

// nextStep says what a person has to do so that the code runs here.
func (n *Node) nextStep(ctx context.Context, session crdt.DocID, ref extension.Ref) string {
	where := orElse(n.docNames.of(session.String()), session.Short())
	switch r := n.loading.set.Resolve(ctx, session, ref.Name(), ref); r.State {
	case loaders.StateTrusted:
		return "It is trusted on this peer."
	case loaders.StatePending, loaders.StateNeedsReview:
		return strings.Join([]string{
			refText(ref) + " does not run before somebody on this peer trusts it:",
			fmt.Sprintf("  chaz-peer ext show %s --session %s", ref.Name(), where),
			fmt.Sprintf("  chaz-peer ext trust %s --session %s", ref.Name(), where),
		}, "\n")
	default:
		return fmt.Sprintf("It does not run on this peer: %s: %s", r.State, r.Reason)
	}
}

// noDaemon is why nobody is asked.
const noDaemon = "no daemon runs here"

// extFault turns a loader's error into an answer with a remedy.
func extFault(err error) error {
	e := &control.Error{Code: control.CodeInternal, Cause: err.Error()}
	switch {
	case errors.Is(err, loaders.ErrConsent):
		e.Code, e.Remedy = control.CodeDenied, "repeat with --fetch to contact the host that the reference names"
	case errors.Is(err, loaders.ErrMissing):
		e.Code, e.Remedy = control.CodeNotFound, "try again when a peer that has it is connected, or `chaz-peer ext import` a CAR file of it"
		if strings.Contains(e.Cause, noDaemon) {
			e.Remedy = "start `chaz-peer run`, which asks the peers of the session, or `chaz-peer ext import` a CAR file of it"
		}
	case errors.Is(err, loaders.ErrInvalid):
		e.Code, e.Remedy = control.CodeUsage, "this content can't be loaded as it is; ask who published it"
	default:
		return err
	}
	return e
}
