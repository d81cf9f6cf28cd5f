package docsync

import (
	"context"
	"crypto/ed25519"
	"errors"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// admit lets a peer in that is a reader already, that shows a chain of grants which makes it one,
// or that the policy accepts. A document that holds objects of unknown kinds may have rights taken
// away that this version does not see, so it is not served to new peers.
func (h *RepoHost) admit(ctx context.Context, peer crdt.PeerID, w Admit) (Loaded, error) {
	no := Loaded{Code: CodeNotServed}
	if !h.policy.Syncs(peer, w.Doc) {
		return no, nil
	}
	access, err := h.repo.Access(ctx, w.Doc)
	if errors.Is(err, crdt.ErrUnknownDoc) {
		return no, nil
	}
	if err != nil {
		return no, err
	}
	now := crdt.NowMillis(h.clock)
	reader := access.RoleAt(peer, now) >= crdt.Read
	if !reader {
		if reader, err = h.showsChain(ctx, peer, w, access, now); err != nil {
			return no, err
		}
		if reader && access.HasUnknown() {
			return Loaded{Code: CodeVersion}, nil
		}
	}
	if len(w.Secret) > 0 || (!reader && w.Asks()) {
		code, err := h.redeem(ctx, peer, w, access, reader)
		if err != nil || code != "" {
			return Loaded{Code: code}, err
		}
		reader = true
	}
	if !reader {
		return no, nil
	}
	return h.load(ctx, peer, w.Doc)
}

// showsChain reports whether the objects that came with an open make the peer a reader, and keeps
// them if so.
func (h *RepoHost) showsChain(ctx context.Context, peer crdt.PeerID, w Admit, access *crdt.Access, now int64) (bool, error) {
	if len(w.Objects) == 0 {
		return false, nil
	}
	objs, err := parseObjects(w.Doc, w.Objects)
	if err != nil {
		return false, err
	}
	if crdt.Resolve(w.Doc, append(access.Objects(), objs...)).RoleAt(peer, now) < crdt.Read {
		return false, nil
	}
	if access.HasUnknown() {
		return true, nil
	}
	_, err = h.repo.AddObjects(ctx, w.Doc, w.Objects)
	return true, err
}

func (h *RepoHost) redeem(ctx context.Context, peer crdt.PeerID, w Admit, access *crdt.Access, reader bool) (Code, error) {
	if access.HasUnknown() && !reader {
		return CodeVersion, nil
	}
	code, err := h.policy.Redeem(ctx, Request{Peer: peer, Doc: w.Doc, Secret: w.Secret, Role: w.Role, Note: w.Note})
	if err != nil {
		return CodeBusy, err
	}
	if reader {
		return "", nil // a ticket that gives nothing more takes nothing away
	}
	return code, nil
}

// parseObjects reads access objects of a document. That one is bad is the other peer's fault: who
// keeps it has checked it.
func parseObjects(doc crdt.DocID, raw [][]byte) ([]*crdt.Object, error) {
	objs := make([]*crdt.Object, len(raw))
	for i, b := range raw {
		o, err := crdt.ParseObject(b)
		if err != nil {
			return nil, bad(CauseObject, "%v", err)
		}
		if o.Doc != doc {
			return nil, bad(CauseObject, "an object of another document")
		}
		objs[i] = o
	}
	return objs, nil
}

func (h *RepoHost) loadObjects(ctx context.Context, peer crdt.PeerID, w LoadObjects) (ObjectsLoaded, error) {
	var out ObjectsLoaded
	access, err := h.repo.Access(ctx, w.Doc)
	if err != nil {
		return out, err
	}
	add := func(o *crdt.Object) {
		if !w.Have[o.ID] {
			out.IDs, out.Objects = append(out.IDs, o.ID), append(out.Objects, o.Raw)
		}
	}
	for _, o := range access.InOrder() {
		add(o)
	}
	if out.Vector, err = h.repo.Vector(ctx, w.Doc); err != nil {
		return out, err
	}
	if out.Refused, err = h.refused(ctx, w.Doc); err != nil {
		return out, err
	}
	if out.Info, err = h.describe(ctx, peer, w.Doc); err == nil {
		// What was read above, not what has come since: the difference is still to be sent.
		out.Info.Access = access.Digest()
	}
	return out, err
}

func (h *RepoHost) addObjects(ctx context.Context, peer crdt.PeerID, w AddObjects) (ObjectsAdded, error) {
	var out ObjectsAdded
	known, here, err := h.knownObjects(ctx, w.Doc)
	if err != nil {
		return out, err
	}
	var fresh [][]byte
	for _, b := range w.Objects {
		if id, ok := known[string(b)]; ok {
			out.IDs = append(out.IDs, id)
		} else {
			fresh = append(fresh, b)
		}
	}
	objs, err := parseObjects(w.Doc, fresh)
	if err != nil {
		return out, err
	}
	for _, o := range objs {
		out.IDs = append(out.IDs, o.ID)
	}
	switch {
	case here && len(fresh) > 0:
		out.Added, err = h.repo.AddObjects(ctx, w.Doc, fresh)
	case !here:
		if !hasGenesis(objs) {
			return out, bad(CauseObject, "objects of a document whose genesis did not come first")
		}
		_, err = h.repo.Adopt(ctx, w.Objects)
		out.Added = len(objs)
	}
	if err != nil {
		return out, err
	}
	out.Info, err = h.describe(ctx, peer, w.Doc)
	return out, err
}

// knownObjects finds the objects of a document by their very bytes. Among many peers each object comes
// from several of them; one whose bytes are here was verified when it was stored, and to verify it again
// is most of what it costs.
func (h *RepoHost) knownObjects(ctx context.Context, doc crdt.DocID) (known map[string]crdt.ObjectID, here bool, err error) {
	access, err := h.repo.Access(ctx, doc)
	if errors.Is(err, crdt.ErrUnknownDoc) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	known = map[string]crdt.ObjectID{}
	for _, o := range access.Objects() {
		known[string(o.Raw)] = o.ID
	}
	return known, true, nil
}

func hasGenesis(objs []*crdt.Object) bool {
	for _, o := range objs {
		if _, ok := o.Body.(*crdt.Genesis); ok {
			return true
		}
	}
	return false
}

func (h *RepoHost) loadOffer(ctx context.Context, peer crdt.PeerID, w LoadOffer) (OfferLoaded, error) {
	access, err := h.repo.Access(ctx, w.Doc)
	if err != nil {
		return OfferLoaded{}, err
	}
	out := OfferLoaded{Kind: access.Kind()}
	for _, o := range access.Chain(peer) {
		out.Objects = append(out.Objects, o.Raw)
	}
	return out, nil
}

func (h *RepoHost) consider(ctx context.Context, peer crdt.PeerID, w Consider) (Considered, error) {
	objs, err := parseObjects(w.Doc, w.Objects)
	if err != nil {
		return Considered{}, err
	}
	access := crdt.Resolve(w.Doc, objs)
	_, mine := access.GrantAt(h.repo.Self(), crdt.NowMillis(h.clock))
	if !hasGenesis(objs) || access.Kind() != w.Kind || mine < crdt.Read || !h.policy.AcceptOffer(ctx, peer, access) {
		return Considered{}, nil
	}
	_, err = h.repo.Adopt(ctx, w.Objects)
	return Considered{Accepted: err == nil}, err
}

func (h *RepoHost) loadProof(ctx context.Context, w LoadProof) (ProofLoaded, error) {
	page, err := h.signedFrom(ctx, w.Doc, w.Actor, w.Seq)
	if err != nil || len(page) == 0 {
		return ProofLoaded{}, err
	}
	// Of what came in bulk only the newest signature is here. It proves the branch as well, since
	// each change lists the one before it.
	out := ProofLoaded{Seq: w.Seq + uint64(len(page)) - 1, Sig: page[len(page)-1].Sig}
	out.Hash, _, err = h.repo.HashAt(ctx, w.Doc, w.Actor, out.Seq)
	return out, err
}

// signedFrom reads the changes of an actor from a place on up to the first whose own signature is
// here; none if there is none.
func (h *RepoHost) signedFrom(ctx context.Context, doc crdt.DocID, a crdt.ActorID, seq uint64) ([]crdt.SignedChange, error) {
	have, err := h.repo.Vector(ctx, doc)
	if err != nil || have[a].Seq < seq || seq == 0 {
		return nil, err
	}
	have[a] = crdt.Tip{Seq: seq - 1}
	page, _, _, err := h.repo.Page(ctx, doc, have, nil, 1)
	return page, err
}

// accuse checks that the actor's key has signed another change for a place that is taken here. With
// two signatures in hand the proof becomes an access object, which closes the actor everywhere.
func (h *RepoHost) accuse(ctx context.Context, w Accuse) (Accused, error) {
	access, err := h.repo.Access(ctx, w.Doc)
	if err != nil {
		return Accused{}, err
	}
	info, ok := access.Actor(w.Actor)
	if !ok || !ed25519.Verify(info.Key.Key(), crdt.ChangeMessage(w.Doc, w.Actor, w.Seq, w.Hash), w.Sig) {
		return Accused{}, bad(CauseObject, "a proof whose signature is not the actor's")
	}
	mine, ok, err := h.repo.HashAt(ctx, w.Doc, w.Actor, w.Seq)
	if err != nil || ok && mine == w.Hash {
		return Accused{}, err
	}
	page, err := h.signedFrom(ctx, w.Doc, w.Actor, w.Seq)
	if err != nil || len(page) == 0 || len(page[0].Sig) != ed25519.SignatureSize || info.Closed {
		// Also where the branch here ends before that place: the other side has compared.
		return Accused{Forked: err == nil}, err
	}
	a := crdt.SignedHash{Hash: mine, Sig: [ed25519.SignatureSize]byte(page[0].Sig)}
	b := crdt.SignedHash{Hash: w.Hash, Sig: [ed25519.SignatureSize]byte(w.Sig)}
	proof, err := h.repo.Identity().NewEquivocation(w.Doc, w.Actor, info.Key, w.Seq, a, b)
	if err != nil {
		return Accused{Forked: true}, err
	}
	_, err = h.repo.AddObjects(ctx, w.Doc, [][]byte{proof.Raw})
	return Accused{Forked: true}, err
}
