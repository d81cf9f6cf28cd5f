package git

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// ErrUnreachable says that a repository has a commit that none of its branches and tags holds. On some
// hosts anybody can put such a commit under the name of a repository of somebody else.
var ErrUnreachable = errors.New("the commit is on no branch or tag of the repository")

// Options are what a person at this peer allows for one reference.
type Options struct {
	// AllowUnreachable takes a commit that is on no branch or tag.
	AllowUnreachable bool
	// AllowLocal reads the folder that the reference names, though it is not in Config.AllowLocal.
	AllowLocal bool
}

// Origin says how this peer saw a commit in a repository.
type Origin struct {
	Repo string `json:"repo"` // without a fragment
	// Ref is a branch or tag that holds the commit ("refs/heads/main"); empty if a person took it without
	// that.
	Ref string `json:"ref,omitempty"`
}

// Origin tells how this peer saw the commit in the repository of ref. ok is false if it never looked
// there: what it has came from peers, or from another repository with the same commit.
func (l *Loader) Origin(ref extension.Ref) (o Origin, ok bool) {
	t, err := parseTarget(ref)
	if err != nil {
		return Origin{}, false
	}
	for _, o := range l.store.origins(t.sha) {
		if o.Repo == t.repo.String() {
			return o, true
		}
	}
	return Origin{}, false
}

// Fetch implements [loaders.Loader]: FetchWith without options.
func (l *Loader) Fetch(ctx context.Context, ref extension.Ref, from loaders.From) error {
	return l.FetchWith(ctx, ref, from, Options{})
}

// FetchWith brings the proof of a reference here: from the peers of from.Doc, then, with from.Outside,
// from the repository itself. Errors wrap [loaders.ErrInvalid], [loaders.ErrMissing],
// [loaders.ErrConsent] or [ErrUnreachable]; others may pass.
func (l *Loader) FetchWith(ctx context.Context, ref extension.Ref, from loaders.From, opt Options) error {
	t, err := parseTarget(ref)
	if err != nil {
		return fmt.Errorf("git reference: %w", err)
	}
	if err := l.fetch(ctx, t, from, opt); err != nil {
		return fmt.Errorf("fetch git commit %s: %w", t.sha, err)
	}
	return nil
}

func (l *Loader) fetch(ctx context.Context, t target, from loaders.From, opt Options) error {
	if done, err := l.here(ctx, t); done {
		return err
	}
	if l.cfg.Peers != nil {
		objects, err := l.fromPeers(ctx, t, from)
		switch {
		case err == nil:
			return l.store.put(t.sha, objects)
		case errors.Is(err, loaders.ErrInvalid), ctx.Err() != nil:
			return err
		}
	}
	if err := l.mayContact(t.repo, opt); err != nil {
		return err
	}
	if !from.Outside {
		return fmt.Errorf("no peer has it, and to ask %s %w", t.repo, loaders.ErrConsent)
	}
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if done, err := l.here(ctx, t); done {
		return err // another fetch was waited for, perhaps of the same
	}
	return l.fromRepo(ctx, t, from, opt)
}

// here reports whether nothing is left to fetch: all is here, or what is here can never load.
func (l *Loader) here(ctx context.Context, t target) (bool, error) {
	_, _, err := l.load(ctx, t, l.store.from(t.sha))
	return err == nil || errors.Is(err, loaders.ErrInvalid) || ctx.Err() != nil, err
}

// fromPeers asks the peers of the document.
func (l *Loader) fromPeers(ctx context.Context, t target, from loaders.From) ([]object, error) {
	ctx, cancel := l.deadline(ctx, "the peers")
	defer cancel()
	src := layered{l.store.from(t.sha), &peerSource{peers: l.cfg.Peers, doc: from.Doc, root: t.sha, progress: from.Progress}}
	_, objects, err := l.load(ctx, t, src)
	return objects, err
}

// fromRepo reads the repository itself and looks for the commit on its branches and tags.
func (l *Loader) fromRepo(ctx context.Context, t target, from loaders.From, opt Options) error {
	ctx, cancel := l.deadline(ctx, t.repo.String())
	defer cancel()
	repo, err := l.open(t.repo, from.Progress, opt)
	if err != nil {
		return err
	}
	defer repo.close()
	ref, err := repo.find(ctx, t.sha, opt.AllowUnreachable)
	if err != nil {
		return repo.explain(ctx, err)
	}
	_, objects, err := l.load(ctx, t, repo)
	if err != nil {
		return repo.explain(ctx, err)
	}
	if err := l.store.put(t.sha, objects); err != nil {
		return err
	}
	return l.store.addOrigin(t.sha, Origin{Repo: t.repo.String(), Ref: ref})
}

// deadline bounds a fetch; who is the one that did not answer in time.
func (l *Loader) deadline(ctx context.Context, who string) (context.Context, context.CancelFunc) {
	limit := l.cfg.Timeout
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s did not deliver within %s", who, limit.Round(time.Millisecond)))
}

// repository is an opened repository.
type repository interface {
	source
	// find makes the objects of a commit available and returns a branch or tag that holds it, or
	// ErrUnreachable. With anyway it looks no further than at the tips, and returns "".
	find(ctx context.Context, sha string, anyway bool) (ref string, err error)
	// explain puts the reason that is behind an error in its place, in words of our own.
	explain(ctx context.Context, err error) error
	close()
}

// mayContact says whether this peer may read a place at all.
func (l *Loader) mayContact(p place, opt Options) error {
	switch {
	case p.local() && !opt.AllowLocal && !l.allowsLocal(p.path):
		// The folder that the reference means is on the machine of whoever wrote it.
		return fmt.Errorf("no peer has it, and the folder %s is not one that this peer may read: %w", p, loaders.ErrMissing)
	case p.scheme == "http" && !l.allow.has(p.host, p.port):
		return fmt.Errorf("http is only for hosts that the policy of this peer lists, which %s is not: %w", p.host, loaders.ErrConsent)
	}
	return nil
}

func (l *Loader) open(p place, progress func(done, total int64), opt Options) (repository, error) {
	if p.local() {
		return l.openLocal(p.path, opt.AllowLocal)
	}
	return l.openRemote(p, progress)
}
