package docsync

import (
	"errors"
	"fmt"
)

// start asks the host for work on a channel's document. The channel's reference ties the outcome to
// it: an outcome for a channel that is gone is dropped.
func (ch *channel) task() Task { return Task{Doc: ch.doc.id, ref: ch.ref, epoch: ch.epoch} }

// onWork takes the outcome of a work.
func (s *Session) onWork(w WorkDone) error {
	t := w.Work.task()
	d := s.docs[t.Doc]
	if d == nil {
		return fmt.Errorf("step session: outcome of work on an unknown document")
	}
	var proto *ProtocolError
	if errors.As(w.Err, &proto) {
		return w.Err
	}
	if t.ref == 0 {
		return s.onDocWork(d, w)
	}
	ch := d.ch
	if ch == nil || ch.ref != t.ref {
		s.abandoned(w)
		return nil
	}
	if w.Err != nil {
		s.abandoned(w)
		return s.broke(ch, w.Err)
	}
	return s.onChannelWork(ch, w)
}

// onDocWork takes the outcome of work that belongs to no channel.
func (s *Session) onDocWork(d *docState, w WorkDone) error {
	if w.Err != nil {
		s.count[CountInternal]++
		return nil
	}
	switch r := w.Result.(type) {
	case OfferLoaded:
		return s.sendFrame(&Offer{Doc: d.id, Kind: string(r.Kind), Objects: r.Objects})
	case Considered:
		if !r.Accepted {
			s.count[CountOfferIgnored]++
		}
	}
	return nil
}

func (s *Session) onChannelWork(ch *channel, w WorkDone) error {
	switch r := w.Result.(type) {
	case Loaded:
		if _, ok := w.Work.(Admit); ok {
			return s.onAdmitted(ch, r)
		}
		return s.onLoaded(ch, r)
	case ObjectsLoaded:
		return s.onObjectsLoaded(ch, r)
	case ObjectsAdded:
		return s.onObjectsAdded(ch, r)
	case PageLoaded:
		return s.onPageLoaded(ch, w.Work.task().epoch, r)
	case PageApplied:
		return s.onPageApplied(ch, r)
	case LookedUp:
		work, _ := w.Work.(LookUp)
		return s.onLookedUp(ch, work.At, r)
	case ProofLoaded:
		work, _ := w.Work.(LoadProof)
		return s.onProofLoaded(ch, work, r)
	case Accused:
		work, _ := w.Work.(Accuse)
		if r.Forked {
			s.forked(ch.doc, work.Actor)
		}
	}
	return nil
}

// abandoned gives back what the scheduler had set aside for a work whose outcome has no channel.
func (s *Session) abandoned(w WorkDone) {
	if p, ok := w.Work.(LoadPage); ok {
		s.send.loaded(p.ref)
	}
}

// broke handles a failure on this side that is not the other peer's fault: this document's channel
// ends, the others go on, and it is tried again later.
func (s *Session) broke(ch *channel, err error) error {
	s.count[CountInternal]++
	d := ch.doc
	d.broken = err.Error()
	s.touch(d)
	s.retryLater(d)
	if ch.state == chanAdmitting {
		return s.refuse(ch, CodeBusy)
	}
	return s.closeChannel(ch, CodeBusy)
}
