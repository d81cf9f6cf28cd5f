package docsync

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Do implements [Host].
func (h *memHost) Do(_ context.Context, peer crdt.PeerID, w Work) (Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := w.Document()
	if err := h.fail[id]; err != nil {
		return nil, err
	}
	d := h.docs[id]
	switch w := w.(type) {
	case AddObjects:
		return h.addObjects(peer, id, w.Objects)
	case Consider:
		return h.consider(peer, id, w.Objects)
	case Admit:
		return h.admit(peer, d, w)
	}
	if d == nil {
		return nil, errors.New("no such document")
	}
	switch w := w.(type) {
	case LoadDoc:
		return h.load(peer, d), nil
	case LoadObjects:
		return h.loadObjects(peer, d, w), nil
	case LoadPage:
		return h.loadPage(peer, d, w)
	case ApplyPage:
		return h.applyPage(peer, d, w)
	case LookUp:
		var out LookedUp
		for _, e := range w.At {
			out.Hashes = append(out.Hashes, d.hashAt(e.Actor, e.Seq))
		}
		return out, nil
	case LoadOffer:
		return OfferLoaded{Kind: crdt.Session, Objects: d.chain(peer)}, nil
	case RecordAck:
		if h.acks[id] == nil {
			h.acks[id] = map[crdt.PeerID]crdt.Vector{}
		}
		if w.Equal == nil {
			h.acks[id][peer] = w.Vector
		} else if d.vector.Digest() == *w.Equal {
			h.acks[id][peer] = d.vector.Clone()
		}
		return nil, nil
	case LoadProof:
		return d.proof(w), nil
	case Accuse:
		if !bytes.Equal(w.Sig, memSign(w.Actor, w.Seq, w.Hash)) {
			return nil, bad(CauseObject, "not the actor's signature")
		}
		h.accused++
		return Accused{Forked: d.hashAt(w.Actor, w.Seq) != w.Hash}, nil
	}
	return nil, fmt.Errorf("unknown work %T", w)
}

func (h *memHost) loadObjects(peer crdt.PeerID, d *memDoc, w LoadObjects) ObjectsLoaded {
	out := ObjectsLoaded{Info: h.info(peer, d.id), Vector: d.vector.Clone(), Refused: refusedEntries(d.refused)}
	for _, oid := range d.ids() {
		if w.Have[oid] {
			continue
		}
		at := len(out.IDs)
		if d.objs[oid].Kind == "genesis" {
			at = 0
		}
		out.IDs, out.Objects = slices.Insert(out.IDs, at, oid), slices.Insert(out.Objects, at, d.objs[oid].raw())
	}
	return out
}

func (d *memDoc) proof(w LoadProof) ProofLoaded {
	for _, c := range d.log {
		if c.Actor == w.Actor && c.Seq == w.Seq {
			return ProofLoaded{Seq: c.Seq, Hash: c.hash, Sig: c.sig}
		}
	}
	return ProofLoaded{}
}

func (d *memDoc) chain(p crdt.PeerID) (out [][]byte) {
	for _, oid := range d.ids() {
		switch o := d.objs[oid]; {
		case o.Kind == "genesis":
			out = slices.Insert(out, 0, o.raw())
		case o.Kind == "member" && o.Peer == p:
			out = append(out, o.raw())
		}
	}
	return out
}

func (h *memHost) load(peer crdt.PeerID, d *memDoc) Loaded {
	return Loaded{Info: h.info(peer, d.id), IDs: d.ids(), Chain: d.chain(h.self), Vector: d.vector.Clone(), Refused: refusedEntries(d.refused)}
}

func parseMem(id crdt.DocID, raw [][]byte) (out []memObject, err error) {
	for _, b := range raw {
		var o memObject
		if err := wire.dec.Unmarshal(b, &o); err != nil || (o.Kind == "genesis") != (o.id() == crdt.ObjectID(id)) || (o.Kind != "genesis" && o.Doc != id) {
			return nil, bad(CauseObject, "not an object of this document")
		}
		out = append(out, o)
	}
	return out, nil
}

func (h *memHost) addObjects(peer crdt.PeerID, id crdt.DocID, raw [][]byte) (Result, error) {
	objs, err := parseMem(id, raw)
	if err != nil {
		return nil, err
	}
	d := h.docs[id]
	if d == nil {
		if objs[0].Kind != "genesis" {
			return nil, bad(CauseObject, "the genesis did not come first")
		}
		d = newMemDoc(id)
		h.docs[id] = d
	}
	out := ObjectsAdded{}
	for _, o := range objs {
		if _, known := d.objs[o.id()]; !known {
			out.Added++
		}
		d.objs[o.id()] = o
		out.IDs = append(out.IDs, o.id())
	}
	if out.Added > 0 {
		h.changed(id)
	}
	out.Info = h.info(peer, id)
	return out, nil
}

func (h *memHost) consider(peer crdt.PeerID, id crdt.DocID, raw [][]byte) (Result, error) {
	if !h.accept[peer] {
		return Considered{}, nil
	}
	_, err := h.addObjects(peer, id, raw)
	return Considered{Accepted: err == nil}, err
}

func (h *memHost) admit(peer crdt.PeerID, d *memDoc, w Admit) (Result, error) {
	no := Loaded{Code: CodeNotServed}
	if d == nil {
		return no, nil
	}
	if _, role := d.roles(peer); role >= crdt.Read {
		return h.load(peer, d), nil
	}
	objs, err := parseMem(d.id, w.Objects)
	if err != nil {
		return nil, err
	}
	with := newMemDoc(d.id, slices.Concat(slices.Collect(maps.Values(d.objs)), objs)...)
	_, shown := with.roles(peer)
	role, redeems := h.secret[string(w.Secret)]
	switch {
	case d.unknown() && (shown >= crdt.Read || w.Asks()):
		return Loaded{Code: CodeVersion}, nil
	case shown >= crdt.Read:
		d.objs = with.objs
	case redeems:
		delete(h.secret, string(w.Secret))
		o := memObject{Kind: "member", Doc: d.id, Peer: peer, Role: uint8(role)}
		d.objs[o.id()] = o
	case len(w.Secret) == 0 && w.Asks():
		h.asked = append(h.asked, Request{Peer: peer, Doc: d.id, Role: w.Role, Note: w.Note})
		return Loaded{Code: CodePending}, nil
	default:
		return no, nil
	}
	h.changed(d.id)
	return h.load(peer, d), nil
}

func (h *memHost) loadPage(peer crdt.PeerID, d *memDoc, w LoadPage) (Result, error) {
	out := PageLoaded{UpTo: w.Have.Clone(), Vector: d.vector.Clone(), Info: h.info(peer, d.id)}
	without := maps.Clone(w.Without)
	limit := w.Limit
	if h.limit > 0 {
		limit = h.limit
	}
	var page []crdt.SignedChange
	size := 0
	for _, c := range d.log {
		if c.Seq <= w.Have[c.Actor].Seq {
			continue
		}
		if without[c.hash] || slices.ContainsFunc(c.Deps, func(dep crdt.ChangeHash) bool { return without[dep] }) {
			without[c.hash] = true
			continue
		}
		if len(page) > 0 && size+len(c.raw) > limit {
			out.More = true
			break
		}
		page = append(page, crdt.SignedChange{Raw: c.raw, Sig: c.sig})
		size += len(c.raw)
		out.UpTo[c.Actor] = crdt.Tip{Seq: c.Seq, Hash: c.hash}
	}
	if len(page) == 0 {
		return out, nil
	}
	var err error
	out.Page, err = h.pages.Encode(page)
	return out, err
}

func (h *memHost) applyPage(peer crdt.PeerID, d *memDoc, w ApplyPage) (Result, error) {
	page, err := h.pages.Decode(w.Page)
	if err != nil {
		return nil, err
	}
	var out PageApplied
	for _, sc := range page {
		v := h.judge(d, sc)
		if v.State == crdt.Accepted {
			h.applied++
			h.changed(d.id)
		}
		out.Verdicts = append(out.Verdicts, v)
	}
	out.Info = h.info(peer, d.id)
	return out, nil
}

func (h *memHost) judge(d *memDoc, sc crdt.SignedChange) crdt.Verdict {
	c := memChange{}
	if err := wire.dec.Unmarshal(sc.Raw, &c); err != nil {
		return crdt.Verdict{Hash: sha256.Sum256(sc.Raw), State: crdt.Refused, Reason: crdt.ReasonMalformed}
	}
	c.raw, c.sig, c.hash = sc.Raw, sc.Sig, sha256.Sum256(sc.Raw)
	v := crdt.Verdict{Hash: c.hash, Actor: c.Actor, Seq: c.Seq}
	refuse := func(r crdt.Reason) crdt.Verdict {
		v.State, v.Reason = crdt.Refused, r
		if r != crdt.ReasonFork {
			d.refused[c.hash] = r
		}
		return v
	}
	declared := false
	for _, o := range d.objs {
		declared = declared || (o.Kind == "actor" && o.Actor == c.Actor)
	}
	switch at := d.hashAt(c.Actor, c.Seq); {
	case at == c.hash:
		v.State = crdt.Known
		return v
	case at != crdt.ChangeHash{}:
		return refuse(crdt.ReasonFork)
	case len(c.sig) > 0 && !bytes.Equal(c.sig, memSign(c.Actor, c.Seq, c.hash)):
		v.State, v.Reason = crdt.Refused, crdt.ReasonSignature
		return v
	case h.picky(c):
		return refuse(crdt.ReasonRole)
	}
	for _, dep := range c.Deps {
		if _, ok := d.refused[dep]; ok {
			return refuse(crdt.ReasonBlocked)
		}
	}
	missing := slices.ContainsFunc(c.Deps, func(dep crdt.ChangeHash) bool { return !d.has(dep) })
	if !declared || missing || c.Seq != d.vector[c.Actor].Seq+1 {
		v.State, v.Detail = crdt.Waiting, "something is missing"
		return v
	}
	d.add(c)
	return v
}
