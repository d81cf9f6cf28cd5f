package docsync

import (
	"bytes"
	"maps"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// onChanges takes a page to be judged.
func (s *Session) onChanges(ch *channel, f *Changes) error {
	if !ch.sentHave {
		return bad(CauseUnexpected, "changes before this side said what it has")
	}
	if ch.applying >= windowPages {
		return bad(CauseWindow, "more than %d pages without an ack", windowPages)
	}
	for _, m := range f.Marks {
		raise(ch.sent, m.Actor, crdt.Tip{Seq: m.Seq})
	}
	ch.applying++
	ch.haves = 0
	ch.used = s.time.elapsed
	s.touch(ch.doc)
	s.emit(ApplyPage{Task: ch.task(), Page: f.Page, More: f.More})
	return nil
}

// onPageApplied answers a page with one ack: what is durable here now and what was refused.
func (s *Session) onPageApplied(ch *channel, r PageApplied) error {
	ch.applying--
	s.learn(ch.doc, r.Info)
	if !ch.admitted() {
		return s.lose(ch)
	}
	moved := map[crdt.ActorID]bool{}
	refused := map[crdt.ChangeHash]crdt.Reason{}
	waits := false
	for _, v := range r.Verdicts {
		switch v.State {
		case crdt.Accepted, crdt.Known:
			s.taken(ch, v)
			moved[v.Actor] = true
		case crdt.Refused:
			s.notTaken(ch, v)
			refused[v.Hash] = v.Reason
		case crdt.Waiting:
			s.count[CountWaiting]++
			if v.Seq > ch.local[v.Actor].Seq+1 && !ch.stopped[v.Actor] && !ch.lenient {
				return bad(CauseGap, "a change at %d of an actor that stands at %d here", v.Seq, ch.local[v.Actor].Seq)
			}
			waits = true
			ch.stopped[v.Actor] = true
			ch.waiting[v.Hash] = true
			ch.waitsFor = v.Detail
			ch.seenThere(v)
		}
	}
	actors := slices.SortedFunc(maps.Keys(moved), func(a, b crdt.ActorID) int { return bytes.Compare(a[:], b[:]) })
	ack := &Ack{Chan: ch.id, Vector: vectorEntries(ch.local, actors), Refused: refusedEntries(refused)}
	if err := s.sendFrame(ack); err != nil {
		return err
	}
	s.ackMoved(ch)
	s.checkComplete(ch)
	if waits {
		s.askAgain(ch)
	}
	return nil
}

// taken notes a change that is here now; the other side has it too.
func (s *Session) taken(ch *channel, v crdt.Verdict) {
	t := crdt.Tip{Seq: v.Seq, Hash: v.Hash}
	raise(ch.local, v.Actor, t)
	raise(ch.theirs, v.Actor, t)
	raise(ch.sent, v.Actor, t)
	delete(ch.waiting, v.Hash)
	delete(ch.stopped, v.Actor)
}

func refusedHere(r crdt.Reason) string { return "a change was refused here: " + string(r) }

func (s *Session) notTaken(ch *channel, v crdt.Verdict) {
	s.count[CountRefused]++
	delete(ch.waiting, v.Hash)
	if v.Actor == (crdt.ActorID{}) {
		ch.lenient = true
	} else {
		ch.stopped[v.Actor] = true
	}
	if v.Reason == crdt.ReasonFork {
		s.forked(ch.doc, v.Actor)
		return
	}
	ch.seenThere(v)
	ch.doc.reason = refusedHere(v.Reason)
	s.touch(ch.doc)
}

// seenThere counts a change that was not taken as one that the other side has, if it is the next
// one of its actor: only then it is believable.
func (ch *channel) seenThere(v crdt.Verdict) {
	if v.Actor != (crdt.ActorID{}) && v.Seq == ch.theirs[v.Actor].Seq+1 {
		ch.theirs[v.Actor] = crdt.Tip{Seq: v.Seq, Hash: v.Hash}
	}
}

// askAgain asks for the access objects once more, a few times at most: a change that waits may need
// one that the other side has by now. The answer ends with a have, and with this side's own have the
// changes come again.
func (s *Session) askAgain(ch *channel) {
	ch.waitAccess = ch.doc.info.Access
	if ch.asking || ch.reasks >= maxReasks {
		return
	}
	ch.reasks++
	ch.asking = true
	s.emit(LoadDoc{ch.task()})
}
