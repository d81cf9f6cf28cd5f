package docsync

import (
	"bytes"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// sendHave says what is here, in as many frames as it takes. It is the base from which the other
// side sends.
func (s *Session) sendHave(ch *channel, refused []RefusedEntry) error {
	if len(ch.local) > MaxActors {
		ch.doc.broken = "more actors than a peer can tell of"
		return s.closeChannel(ch, CodeBusy)
	}
	entries := vectorEntries(ch.local, ch.local.Actors())
	f := &Have{Chan: ch.id, Refused: refused[:min(len(refused), MaxRefusedList)]}
	for len(entries) > MaxVector {
		f.Vector, f.More = entries[:MaxVector], true
		if err := s.sendFrame(f); err != nil {
			return err
		}
		entries, f = entries[MaxVector:], &Have{Chan: ch.id}
	}
	f.Vector = entries
	ch.sentHave = true
	return s.sendFrame(f)
}

func vectorEntries(v crdt.Vector, actors []crdt.ActorID) []VectorEntry {
	out := make([]VectorEntry, 0, len(actors))
	for _, a := range actors {
		if t := v[a]; t.Seq > 0 {
			out = append(out, VectorEntry{Actor: a, Seq: t.Seq, Hash: t.Hash})
		}
	}
	return out
}

// onHave collects the frames of one have. The objects before it must be stored before it counts.
func (s *Session) onHave(ch *channel, f *Have) error {
	if !ch.gotAccess {
		return bad(CauseUnexpected, "have before the access frame")
	}
	if ch.haves++; ch.haves > maxHaves {
		return bad(CauseLimit, "%d have frames without a page between", ch.haves)
	}
	if p := ch.haveParts; p != nil && p.More {
		if last := len(p.Vector) - 1; last >= 0 && len(f.Vector) > 0 && bytes.Compare(p.Vector[last].Actor[:], f.Vector[0].Actor[:]) >= 0 {
			return bad(CauseMalformed, "the parts of a have are not in order")
		}
		p.Vector = append(p.Vector, f.Vector...)
		p.Refused = append(p.Refused, f.Refused...)
		p.More = f.More
	} else {
		ch.haveParts = f
	}
	if len(ch.haveParts.Vector) > MaxActors || len(ch.haveParts.Refused) > MaxRefusedList {
		return bad(CauseLimit, "a have of %d actors", len(ch.haveParts.Vector))
	}
	if f.More {
		return nil
	}
	ch.haveReady = true
	return s.tryHave(ch)
}

// tryHave takes a complete have as soon as what came before it is done: refused changes are not sent
// again, and where both sides have an actor the hashes at the lower place must agree.
func (s *Session) tryHave(ch *channel) error {
	if !ch.haveReady || ch.adding > 0 || ch.looking {
		return nil
	}
	s.noteRefused(ch, ch.haveParts.Refused)
	var at []VectorEntry
	for _, e := range ch.haveParts.Vector {
		switch mine := ch.local[e.Actor]; {
		case mine.Seq > e.Seq:
			at = append(at, e)
		case mine.Seq == e.Seq && mine.Hash != e.Hash:
			s.fork(ch, e.Actor, e.Seq, mine.Hash)
		}
	}
	if len(at) > 0 {
		ch.looking = true
		s.emit(LookUp{Task: ch.task(), At: at})
		return nil
	}
	return s.takeHave(ch)
}

func (s *Session) onLookedUp(ch *channel, at []VectorEntry, r LookedUp) error {
	ch.looking = false
	for i, e := range at {
		if i < len(r.Hashes) && r.Hashes[i] != e.Hash {
			s.fork(ch, e.Actor, e.Seq, r.Hashes[i])
		}
	}
	return s.takeHave(ch)
}

// takeHave makes the other side's vector the base of what is sent.
func (s *Session) takeHave(ch *channel) error {
	d := ch.doc
	v := make(crdt.Vector, len(ch.haveParts.Vector))
	for _, e := range ch.haveParts.Vector {
		v[e.Actor] = crdt.Tip{Seq: e.Seq, Hash: e.Hash}
	}
	ch.haveParts, ch.haveReady = nil, false
	ch.theirs, ch.sent = v, v.Clone()
	if ch.goal == nil {
		ch.goal = v.Clone()
	}
	ch.gotHave = true
	ch.epoch++
	s.send.unload(ch)
	s.touch(d)
	if !ch.admitted() {
		return s.lose(ch)
	}
	s.ackMoved(ch)
	if !ch.sentHave {
		s.loadObjects(ch)
		return nil
	}
	s.shaken(ch)
	if ch.asking {
		// The objects that were missing have come: now the changes once more.
		ch.asking = false
		clear(ch.waiting)
		if err := s.sendHave(ch, nil); err != nil {
			return err
		}
	}
	s.refresh(ch)
	s.checkComplete(ch)
	return nil
}

// noteRefused remembers what the other side does not take: it is not offered again on this
// connection, nor what depends on it.
func (s *Session) noteRefused(ch *channel, refused []RefusedEntry) {
	d := ch.doc
	for _, r := range refused {
		if d.without[r.Hash] {
			continue
		}
		d.without[r.Hash] = true
		d.reason = "the other peer refuses a change: " + r.Reason
		s.touch(d)
	}
}

// fork stops the exchange of an actor that has two branches. mine is the change here in whose place
// the other side has another one.
func (s *Session) fork(ch *channel, a crdt.ActorID, seq uint64, mine crdt.ChangeHash) {
	d := ch.doc
	if mine != (crdt.ChangeHash{}) {
		d.without[mine] = true
	}
	fresh := s.forked(d, a)
	if at := d.forks[a]; mine != (crdt.ChangeHash{}) && (at == 0 || seq < at) {
		d.forks[a] = seq
	}
	if fresh {
		s.emit(LoadProof{Task: ch.task(), Actor: a, Seq: seq})
	}
}

func (s *Session) forked(d *docState, a crdt.ActorID) (fresh bool) {
	if _, known := d.forks[a]; known {
		return false
	}
	d.forks[a] = 0
	s.count[CountFork]++
	s.touch(d)
	return true
}

// onProofLoaded shows the other side a signature of this side's branch, if one is here.
func (s *Session) onProofLoaded(ch *channel, w LoadProof, r ProofLoaded) error {
	if len(r.Sig) == 0 || ch.state != chanOpen {
		return nil
	}
	return s.sendFrame(&Proof{Chan: ch.id, Actor: w.Actor, Seq: r.Seq, Hash: r.Hash, Sig: r.Sig})
}

func (s *Session) onProof(ch *channel, f *Proof) error {
	if ch.proofs++; ch.proofs > maxHaves {
		return bad(CauseLimit, "more than %d proofs on one channel", maxHaves)
	}
	s.emit(Accuse{Task: ch.task(), Actor: f.Actor, Seq: f.Seq, Hash: f.Hash, Sig: f.Sig})
	return nil
}

// ackMoved records, not too often, what the other side has durably.
func (s *Session) ackMoved(ch *channel) {
	d := ch.doc
	d.acked = ch.theirs
	if d.ackQueued {
		return
	}
	if s.time.elapsed >= d.ackNext {
		s.recordAck(d)
		return
	}
	d.ackQueued = true
	s.ackNotes = append(s.ackNotes, moment{d.ackNext, d})
}

// standsEqual records that the other side announced the vector that is here: without an exchange
// there will be no ack.
func (s *Session) standsEqual(d *docState) {
	if v := d.info.Vector; d.equal != v {
		d.equal = v
		s.emit(RecordAck{Task: Task{Doc: d.id}, Equal: &v})
	}
}

// lacksIt records that the other side does not have the document, or no longer gives it.
func (s *Session) lacksIt(d *docState) {
	d.acked, d.equal = nil, [32]byte{}
	if d.held {
		s.recordAck(d)
	}
}

func (s *Session) recordAck(d *docState) {
	d.ackNext = s.time.elapsed + ackRecord
	s.emit(RecordAck{Task: Task{Doc: d.id}, Vector: d.acked.Clone()})
}

// refusedEntries sorts what was refused for a frame.
func refusedEntries(m map[crdt.ChangeHash]crdt.Reason) []RefusedEntry {
	out := make([]RefusedEntry, 0, len(m))
	for h, r := range m {
		out = append(out, RefusedEntry{Hash: h, Reason: clipText(string(r), MaxName)})
	}
	slices.SortFunc(out, func(a, b RefusedEntry) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
	return out[:min(len(out), MaxRefusedList)]
}
