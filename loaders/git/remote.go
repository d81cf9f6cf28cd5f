package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// remote is a repository at a host, spoken to in git's smart HTTP protocol (version 0).
type remote struct {
	door    *door
	session transport.UploadPackSession
	limits  packLimits
	dir     string // for packs, which are read from a file

	caps  *capability.List
	tips  map[plumbing.Hash]string // branches and tags
	packs []*pack
	// sha is the commit whose files may still have to be asked for one by one; zero if not.
	sha plumbing.Hash
}

func (l *Loader) openRemote(p place, progress func(done, total int64)) (*remote, error) {
	d := l.newDoor(p, progress)
	port, err := strconv.Atoi(p.port)
	if err != nil {
		return nil, err
	}
	host := p.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	// Not through go-git's table of protocols, which belongs to the whole process.
	client := githttp.NewClientWithOptions(d.client(), &githttp.ClientOptions{RedirectPolicy: githttp.FollowInitialRedirects})
	s, err := client.NewUploadPackSession(&transport.Endpoint{Protocol: p.scheme, Host: host, Port: port, Path: p.path}, nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", p, err)
	}
	return &remote{door: d, session: s, limits: newPackLimits(l.cfg), dir: l.cfg.Dir}, nil
}

func (r *remote) close() {
	for _, p := range r.packs {
		p.close()
	}
	_ = r.session.Close()
	r.door.close()
}

func (r *remote) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if why := r.door.reason(); why != nil {
		err = why
	}
	return fmt.Errorf("ask %s: %w", r.door.place, err)
}

// foreign is an error whose text may hold what a stranger wrote.
func foreign(doing string, err error) error {
	return fmt.Errorf("%s: %.300s", doing, strconv.QuoteToGraphic(err.Error()))
}

func (r *remote) find(ctx context.Context, sha string, anyway bool) (string, error) {
	adv, err := r.session.AdvertisedReferencesContext(ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return "", missing("the repository is empty")
	}
	if err != nil {
		return "", foreign("list branches and tags", err)
	}
	r.caps = adv.Capabilities
	if err := r.setTips(adv); err != nil {
		return "", err
	}
	want := plumbing.NewHash(sha)
	byID := r.caps.Supports(capability.AllowReachableSHA1InWant)
	if name, ok := r.tips[want]; ok {
		return name, r.take(ctx, want, byID)
	}
	if anyway && byID {
		return "", r.take(ctx, want, byID)
	}
	slim := byID && r.caps.Supports(capability.Filter)
	name, err := r.search(ctx, want, slim)
	if err != nil || !slim {
		return name, err
	}
	return name, r.take(ctx, want, byID)
}

// setTips keeps branches and tags. Other refs (such as those of pull requests) are not the repository's
// own: strangers write them.
func (r *remote) setTips(adv *packp.AdvRefs) error {
	r.tips = map[plumbing.Hash]string{}
	for _, refs := range []map[string]plumbing.Hash{adv.References, adv.Peeled} {
		for _, name := range slices.Sorted(maps.Keys(refs)) {
			if !branchOrTag(name) {
				continue
			}
			if _, ok := r.tips[refs[name]]; !ok {
				r.tips[refs[name]] = name
			}
		}
	}
	if len(r.tips) > maxTips {
		return fmt.Errorf("it has more than %d branches and tags", maxTips)
	}
	return nil
}

func branchOrTag(name string) bool {
	return strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/")
}

// search fetches the history of all branches and tags and looks for a commit there. slim leaves out
// files and folders.
func (r *remote) search(ctx context.Context, sha plumbing.Hash, slim bool) (string, error) {
	if len(r.tips) == 0 {
		return "", unreachable()
	}
	var filter packp.Filter
	if slim {
		filter = packp.FilterTreeDepth(0)
	}
	tips := slices.SortedFunc(maps.Keys(r.tips), func(a, b plumbing.Hash) int { return cmp.Compare(r.tips[a], r.tips[b]) })
	p, err := r.fetch(ctx, tips, 0, filter)
	if err != nil {
		return "", err
	}
	seen := map[plumbing.Hash]bool{}
	for _, tip := range tips {
		if reaches(tip, sha, seen, p.parents) {
			return r.tips[tip], nil
		}
	}
	return "", unreachable()
}

func unreachable() error { return fmt.Errorf("%w: %w", loaders.ErrInvalid, ErrUnreachable) }

// take fetches one commit without its history and, where the server allows to ask for the files that
// are needed one by one, without its files.
func (r *remote) take(ctx context.Context, sha plumbing.Hash, byID bool) error {
	var filter packp.Filter
	if byID && r.caps.Supports(capability.Filter) {
		filter = packp.FilterBlobNone()
		r.sha = sha
	}
	_, err := r.fetch(ctx, []plumbing.Hash{sha}, 1, filter)
	return err
}

// object implements [source] on what was fetched.
func (r *remote) object(ctx context.Context, id string, limit int64) ([]byte, error) {
	h := plumbing.NewHash(id)
	raw, ok, err := r.lookup(h, limit)
	if ok || err != nil || r.sha.IsZero() {
		return orMissing(raw, ok, err)
	}
	if _, err := r.fetch(ctx, []plumbing.Hash{h}, 0, ""); err != nil {
		if ctx.Err() != nil || r.door.reason() != nil {
			return nil, err
		}
		// Some servers give commits by hash, but not files: all files of the commit, then.
		sha := r.sha
		r.sha = plumbing.ZeroHash
		if _, err := r.fetch(ctx, []plumbing.Hash{sha}, 1, ""); err != nil {
			return nil, err
		}
	}
	return orMissing(r.lookup(h, limit))
}

func orMissing(raw []byte, ok bool, err error) ([]byte, error) {
	if err == nil && !ok {
		return nil, missing("the host did not send it")
	}
	return raw, err
}

func (r *remote) lookup(h plumbing.Hash, limit int64) ([]byte, bool, error) {
	for _, p := range r.packs {
		if raw, ok, err := p.object(h, limit); ok || err != nil {
			return raw, ok, err
		}
	}
	return nil, false, nil
}

// fetch asks for a pack with the wanted objects and what they lead to, and indexes it.
func (r *remote) fetch(ctx context.Context, wants []plumbing.Hash, depth int, filter packp.Filter) (*pack, error) {
	req := packp.NewUploadPackRequestFromCapabilities(r.caps)
	req.Wants = slices.Clone(wants) // sorted as it is written
	set := func(c capability.Capability) bool { return r.caps.Supports(c) && req.Capabilities.Set(c) == nil }
	set(capability.NoProgress)
	if depth > 0 && set(capability.Shallow) {
		req.Depth = packp.DepthCommits(depth)
	}
	if filter != "" && set(capability.Filter) {
		req.Filter = filter
	}
	res, err := r.session.UploadPack(ctx, req)
	if err != nil {
		return nil, foreign("ask for objects", err)
	}
	defer res.Close()
	var in io.Reader = res
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		in = sideband.NewDemuxer(sideband.Sideband64k, res)
	case req.Capabilities.Supports(capability.Sideband):
		in = sideband.NewDemuxer(sideband.Sideband, res)
	}
	p, err := receivePack(ctx, r.dir, in, r.limits)
	if err != nil {
		return nil, err
	}
	r.packs = append(r.packs, p)
	return p, nil
}
