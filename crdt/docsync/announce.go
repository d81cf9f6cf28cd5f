package docsync

import (
	"bytes"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// announce queues a document to be announced at the end of the step.
func (s *Session) announce(d *docState) {
	d.announced = true
	if !d.inAnnounce {
		d.inAnnounce = true
		s.toAnnounce = append(s.toAnnounce, d)
	}
}

func (s *Session) flushAnnounce() error {
	if len(s.toAnnounce) == 0 {
		return nil
	}
	var entries []AnnounceEntry
	for _, d := range s.toAnnounce {
		d.inAnnounce = false
		if !d.held || d.info.Peer < crdt.Read {
			d.announced = false
			continue
		}
		if d.said.access != d.info.Access {
			d.offered = false
		}
		d.said = d.digests()
		entries = append(entries, AnnounceEntry{Tag: d.myTag, Vector: d.said.vector, Access: d.said.access})
	}
	s.toAnnounce = nil
	slices.SortFunc(entries, func(a, b AnnounceEntry) int { return bytes.Compare(a.Tag[:], b.Tag[:]) })
	for part := range slices.Chunk(entries, MaxAnnounce) {
		if err := s.sendFrame(&Announce{Entries: part}); err != nil {
			return err
		}
	}
	return nil
}

// onAnnounce compares where documents stand. Of two peers that both announced a document the one
// with the smaller id opens it; a peer that did not announce it opens it because the other can't
// know that it is here.
func (s *Session) onAnnounce(f *Announce) error {
	var unknown []Tag
	for _, e := range f.Entries {
		said := digests{e.Vector, e.Access}
		if _, ok := s.heardTags[e.Tag]; !ok && len(s.heardTags) >= MaxAnnounced {
			return bad(CauseLimit, "more than %d documents announced", MaxAnnounced)
		}
		s.heardTags[e.Tag] = said
		d := s.theirTags[e.Tag]
		if d == nil || (!d.held && d.join == nil) {
			unknown = append(unknown, e.Tag)
			s.asked[e.Tag]++
			continue
		}
		d.heard, d.unknownThere = &said, false
		s.touch(d)
		if d.ch != nil {
			d.ch.announced = true
			continue
		}
		if d.refusal != CodeBusy {
			d.refusal = ""
		}
		if d.held && said == d.digests() {
			s.standsEqual(d)
		}
		if !d.held || (said != d.digests() && (s.smaller || !d.announced)) {
			s.want(d)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return s.sendFrame(&Unknown{Tags: unknown})
}

// onUnknown offers the documents that the other peer does not have to it, where it is a named
// member: who is merely one of the public asks by itself.
func (s *Session) onUnknown(f *Unknown) error {
	for _, tag := range f.Tags {
		d := s.myTags[tag]
		if d == nil || !d.announced {
			s.count[CountUnknownTag]++
			continue
		}
		d.unknownThere, d.heard = true, nil
		s.lacksIt(d)
		s.touch(d)
		if d.held && d.info.Named && !d.offered {
			d.offered = true
			s.emit(LoadOffer{Task{Doc: d.id}})
		}
	}
	return nil
}

// onOffer lets the host decide about a document, once for each time it was asked for.
func (s *Session) onOffer(f *Offer) error {
	tag := MakeTag(f.Doc, s.hello.Nonce, s.cfg.Nonce)
	if s.asked[tag] == 0 {
		return bad(CauseOffer, "an offer of a document that was not asked for")
	}
	if s.asked[tag]--; s.asked[tag] == 0 {
		delete(s.asked, tag)
	}
	s.doc(f.Doc)
	s.emit(Consider{Task: Task{Doc: f.Doc}, Kind: crdt.Kind(f.Kind), Objects: f.Objects})
	return nil
}
