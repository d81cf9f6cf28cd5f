package docsync

import (
	"fmt"
	"maps"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// State is how one document stands with one peer.
type State string

// The states.
const (
	InSync       State = "in_sync"
	Syncing      State = "syncing"
	Behind       State = "behind"
	Pending      State = "pending"
	NotServed    State = "not_served" // unknown there, or no access
	Denied       State = "denied"     // this side refuses
	Blocked      State = "blocked"
	Forked       State = "forked"
	Incompatible State = "incompatible" // of the peer as a whole
)

// DocStatus is the status of one document with the peer of the session.
type DocStatus struct {
	State  State
	Reason string // free text, for people
	// MissingHere and MissingThere count changes; nil when unknown.
	MissingHere, MissingThere *uint64
}

// DocReport is one line of [PeerStatus].
type DocReport struct {
	Doc crdt.DocID
	DocStatus
	Theirs crdt.Vector // the last durable vector that the other peer told; nil when unknown
}

// PeerStatus is how things stand with the peer of the session.
type PeerStatus struct {
	State       State // in_sync, syncing or incompatible; the documents say more
	Reason      string
	Agent       string // what the other peer calls itself
	Protocol    uint64 // 0 before the handshake
	ClockOffset *int64 // ms that the other clock is ahead; nil when unknown
	Docs        []DocReport
}

// Status reports on the peer and on every document that this session has to do with, in order of
// document id.
func (s *Session) Status() PeerStatus {
	out := PeerStatus{State: InSync, Agent: s.hello.Agent, Protocol: s.protocol}
	if ms, ok := s.meter.offset(); ok {
		out.ClockOffset = &ms
	}
	for _, d := range s.sortedDocs() {
		st, ok := s.statusOf(d)
		if !ok {
			continue
		}
		r := DocReport{Doc: d.id, DocStatus: st.counted(d.ch)}
		if d.ch != nil && d.ch.gotHave {
			r.Theirs = d.ch.theirs.Clone()
		}
		out.Docs = append(out.Docs, r)
		if st.State == Syncing {
			out.State = Syncing
		}
	}
	switch s.err.(type) {
	case nil:
		if !s.greeted {
			out.State, out.Reason = Syncing, "connecting"
		}
	case *IncompatibleError:
		out.State, out.Reason, out.Protocol = Incompatible, s.err.Error(), 0
	default:
		out.State, out.Reason = Behind, s.err.Error()
	}
	return out
}

// reportStatus tells the new states of the documents that this step touched.
func (s *Session) reportStatus() {
	for _, d := range s.touched {
		d.dirty = false
		st, ok := s.statusOf(d)
		if !ok || (d.showing && d.shown.State == st.State && d.shown.Reason == st.Reason) {
			continue
		}
		d.shown, d.showing = st, true
		s.emit(StatusChanged{Doc: d.id, Status: st.counted(d.ch)})
	}
	s.touched = s.touched[:0]
}

// counted adds what is missing, where that is known.
func (st DocStatus) counted(ch *channel) DocStatus {
	if ch != nil && ch.gotHave {
		here, there := ch.missing()
		st.MissingHere, st.MissingThere = &here, &there
	}
	return st
}

// statusOf is the status without counts; false for a document that has nothing to do with this peer.
func (s *Session) statusOf(d *docState) (DocStatus, bool) {
	st := DocStatus{State: Syncing}
	ch := d.ch
	switch {
	case len(d.forks) > 0:
		st.State, st.Reason = Forked, fmt.Sprintf("%d actors have two branches", len(d.forks))
	case d.broken != "":
		st.State, st.Reason = Blocked, "failed here: "+d.broken
	case ch != nil:
		ch.status(&st)
	default:
		return s.idleStatus(d, st)
	}
	return st, true
}

// status is the state of a document with a channel and without trouble.
func (ch *channel) status(st *DocStatus) {
	switch {
	case ch.state != chanOpen:
		st.Reason = "opening"
		return
	case !ch.gotHave || !ch.sentHave:
		st.Reason = "exchanging access"
		return
	case ch.busy():
		st.Reason = "exchanging changes"
		return
	}
	switch here, there := ch.missing(); {
	case here+there == 0:
		st.State = InSync
	case len(ch.waiting) > 0:
		st.State, st.Reason = Blocked, "changes wait for what the other peer does not have: "+ch.waitsFor
	case ch.doc.reason != "":
		st.State, st.Reason = Blocked, ch.doc.reason
	case there > 0:
		// All was sent and answered, and is not there.
		st.State, st.Reason = Blocked, "the other peer does not take some changes yet: it lacks what they need"
	default:
		st.Reason = "waiting for the other peer"
	}
}

// idleStatus is the state of a document without a channel.
func (s *Session) idleStatus(d *docState, st DocStatus) (DocStatus, bool) {
	switch {
	case d.asks:
		st.State, st.Reason = Pending, "the other peer's request waits for an answer here"
	case d.denied:
		st.State, st.Reason = Denied, "the other peer asked and has no access"
	case d.refusal == CodeNotServed:
		st.State, st.Reason = NotServed, "unknown there or no access"
	case d.refusal == CodePending:
		st.State, st.Reason = Pending, "the request waits for an answer there"
	case d.refusal == CodeVersion:
		st.State, st.Reason = Blocked, "the document holds what the other peer's version does not know"
	case d.refusal != "":
		st.State, st.Reason = Behind, "the other peer is busy"
	case !d.held && d.join == nil, d.held && d.info.Peer < crdt.Read && d.heard == nil && d.join == nil:
		return st, false
	case !s.greeted:
		st.Reason = "connecting"
	case d.unknownThere:
		st.State, st.Reason = NotServed, "unknown there or no access"
	case d.heard == nil || d.queued:
		st.Reason = "waiting for the other peer"
	case *d.heard == d.digests():
		st.State = InSync
	default:
		st.State, st.Reason = Behind, "it differs and no exchange is open"
	}
	return st, true
}

// missing counts what the other side has and this one lacks, and the other way round. Actors with
// two branches are left out: nothing can be exchanged of them.
func (ch *channel) missing() (here, there uint64) {
	if len(ch.doc.forks) == 0 {
		return ch.local.Missing(ch.theirs), ch.theirs.Missing(ch.local)
	}
	local, theirs := maps.Clone(ch.local), maps.Clone(ch.theirs)
	for a := range ch.doc.forks {
		delete(local, a)
		delete(theirs, a)
	}
	return local.Missing(theirs), theirs.Missing(local)
}
