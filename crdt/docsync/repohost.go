package docsync

import (
	"context"
	"errors"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// RepoHost answers the work of sessions from a [crdt.Repo]. It holds no state of its own.
type RepoHost struct {
	repo   *crdt.Repo
	clock  crdt.Clock
	policy Policy
	pages  *Pages
}

// NewRepoHost returns the host of all sessions of a peer. The arguments stay the caller's to close.
func NewRepoHost(repo *crdt.Repo, clock crdt.Clock, policy Policy, pages *Pages) *RepoHost {
	return &RepoHost{repo, clock, policy, pages}
}

var _ Host = (*RepoHost)(nil)

// Watch implements [Host].
func (h *RepoHost) Watch() Feed { return h.repo.Changes() }

// Notify implements [Host].
func (h *RepoHost) Notify(peer crdt.PeerID, n Notice) { h.policy.Notice(peer, n) }

// Describe implements [Host].
func (h *RepoHost) Describe(ctx context.Context, peer crdt.PeerID, ids []crdt.DocID) ([]DocInfo, error) {
	if ids == nil {
		for _, sum := range h.repo.List() {
			ids = append(ids, sum.ID)
		}
	}
	out := make([]DocInfo, 0, len(ids))
	for _, id := range ids {
		info, err := h.describe(ctx, peer, id)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

func (h *RepoHost) describe(ctx context.Context, peer crdt.PeerID, id crdt.DocID) (DocInfo, error) {
	gone := DocInfo{Doc: id, Gone: true}
	if !h.policy.Syncs(peer, id) {
		return gone, nil
	}
	access, err := h.repo.Access(ctx, id)
	if errors.Is(err, crdt.ErrUnknownDoc) {
		return gone, nil
	}
	if err != nil {
		return gone, err
	}
	sum, ok := h.repo.Summary(id)
	if !ok {
		return gone, nil
	}
	now := crdt.NowMillis(h.clock)
	_, own := access.GrantAt(peer, now)
	return DocInfo{
		Doc: id, Kind: sum.Kind, Vector: sum.Vector, Access: sum.Access,
		Peer: access.RoleAt(peer, now), Named: own >= crdt.Read,
	}, nil
}

// Do implements [Host].
func (h *RepoHost) Do(ctx context.Context, peer crdt.PeerID, w Work) (Result, error) {
	switch w := w.(type) {
	case LoadDoc:
		return h.load(ctx, peer, w.Doc)
	case Admit:
		return h.admit(ctx, peer, w)
	case LoadObjects:
		return h.loadObjects(ctx, peer, w)
	case AddObjects:
		return h.addObjects(ctx, peer, w)
	case LoadPage:
		return h.loadPage(ctx, peer, w)
	case ApplyPage:
		return h.applyPage(ctx, peer, w)
	case LookUp:
		return h.lookUp(ctx, w)
	case LoadOffer:
		return h.loadOffer(ctx, peer, w)
	case Consider:
		return h.consider(ctx, peer, w)
	case RecordAck:
		return nil, h.recordAck(ctx, peer, w)
	case LoadProof:
		return h.loadProof(ctx, w)
	case Accuse:
		return h.accuse(ctx, w)
	}
	return nil, fmt.Errorf("do work of a sync session: %T is unknown", w)
}

func (h *RepoHost) recordAck(ctx context.Context, peer crdt.PeerID, w RecordAck) error {
	v := w.Vector
	if w.Equal != nil {
		// Most documents of a new connection stand where they stood: that takes no write, and does
		// not bring them into memory.
		acks, err := h.repo.Acks(ctx, w.Doc)
		if have, ok := acks[peer]; err != nil || ok && have.Digest() == *w.Equal {
			return err
		}
		if v, err = h.repo.Vector(ctx, w.Doc); err != nil || v.Digest() != *w.Equal {
			return err // it has moved on, which brings an exchange
		}
	}
	if err := h.repo.SetAck(ctx, w.Doc, peer, v); err != nil {
		return err
	}
	h.policy.Notice(peer, AckRecorded{w.Doc})
	return nil
}

func (h *RepoHost) load(ctx context.Context, peer crdt.PeerID, id crdt.DocID) (Loaded, error) {
	var out Loaded
	access, err := h.repo.Access(ctx, id)
	if err != nil {
		return out, err
	}
	if out.Vector, err = h.repo.Vector(ctx, id); err != nil {
		return out, err
	}
	if out.Refused, err = h.refused(ctx, id); err != nil {
		return out, err
	}
	out.IDs = access.IDs()
	for _, o := range access.Chain(h.repo.Self()) {
		out.Chain = append(out.Chain, o.Raw)
	}
	out.Info, err = h.describe(ctx, peer, id)
	return out, err
}

func (h *RepoHost) refused(ctx context.Context, id crdt.DocID) ([]RefusedEntry, error) {
	list, err := h.repo.Refused(ctx, id)
	if err != nil {
		return nil, err
	}
	reasons := make(map[crdt.ChangeHash]crdt.Reason, len(list))
	for _, c := range list {
		reasons[c.Hash] = c.Reason
	}
	return refusedEntries(reasons), nil
}

func (h *RepoHost) loadPage(ctx context.Context, peer crdt.PeerID, w LoadPage) (PageLoaded, error) {
	var out PageLoaded
	for limit := w.Limit; ; limit /= 2 {
		// The repo marks what it leaves out, so it gets a map of its own for each try.
		without := make(map[crdt.ChangeHash]bool, len(w.Without))
		for hash := range w.Without {
			without[hash] = true
		}
		page, upTo, more, err := h.repo.Page(ctx, w.Doc, w.Have, without, limit)
		if err != nil {
			return out, err
		}
		out.UpTo, out.More = upTo, more
		if len(page) == 0 {
			break
		}
		// Many small changes may not fit with all their signatures: then fewer of them.
		if out.Page, err = h.pages.Encode(newestSigs(page)); err == nil {
			break
		}
		if len(page) == 1 || limit <= 1 {
			return out, err
		}
	}
	var err error
	if out.Vector, err = h.repo.Vector(ctx, w.Doc); err != nil {
		return out, err
	}
	out.Info, err = h.describe(ctx, peer, w.Doc)
	return out, err
}

func (h *RepoHost) applyPage(ctx context.Context, peer crdt.PeerID, w ApplyPage) (PageApplied, error) {
	var out PageApplied
	page, err := h.pages.Decode(w.Page)
	if err != nil {
		return out, err
	}
	if out.Verdicts, err = h.repo.Apply(ctx, w.Doc, page); err != nil {
		return out, err
	}
	out.Info, err = h.describe(ctx, peer, w.Doc)
	return out, err
}

func (h *RepoHost) lookUp(ctx context.Context, w LookUp) (LookedUp, error) {
	out := LookedUp{Hashes: make([]crdt.ChangeHash, len(w.At))}
	for i, e := range w.At {
		hash, _, err := h.repo.HashAt(ctx, w.Doc, e.Actor, e.Seq)
		if err != nil {
			return out, err
		}
		out.Hashes[i] = hash
	}
	return out, nil
}
