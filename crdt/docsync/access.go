package docsync

import (
	"maps"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// onAccess takes the list of access objects that the other side has; the answer is what it lacks,
// then a have.
func (s *Session) onAccess(ch *channel, f *Access) error {
	if ch.accessSeen++; ch.accessSeen > maxAccess {
		return bad(CauseLimit, "more than %d access frames on one channel", maxAccess)
	}
	clear(ch.theirIDs)
	for _, id := range f.IDs {
		ch.theirIDs[id] = true
	}
	ch.gotAccess, ch.answer = true, true
	s.touch(ch.doc)
	s.loadObjects(ch)
	return nil
}

// loadObjects reads the access objects that the other side lacks, unless it may not have them (yet).
func (s *Session) loadObjects(ch *channel) {
	if !ch.gotAccess || !ch.admitted() {
		return
	}
	if ch.loadingObjects {
		ch.reload = true
		return
	}
	ch.loadingObjects = true
	s.emit(LoadObjects{Task: ch.task(), Have: maps.Clone(ch.theirIDs)})
}

// onObjectsLoaded sends the objects, after them what waited for them to go first.
func (s *Session) onObjectsLoaded(ch *channel, r ObjectsLoaded) error {
	ch.loadingObjects = false
	s.learn(ch.doc, r.Info)
	if !ch.admitted() {
		return s.lose(ch)
	}
	if err := s.sendObjects(ch, r); err != nil {
		return err
	}
	ch.accessSaid = r.Info.Access
	if ch.reload {
		ch.reload = false
		s.loadObjects(ch)
		return nil
	}
	if ch.answer {
		ch.answer = false
		ch.local = r.Vector
		if len(r.Refused) > 0 && ch.doc.reason == "" {
			ch.doc.reason = refusedHere(crdt.Reason(r.Refused[0].Reason))
		}
		if err := s.sendHave(ch, r.Refused); err != nil {
			return err
		}
		if ch.gotHave {
			s.shaken(ch)
			s.refresh(ch)
		}
	}
	if ch.page != nil {
		s.send.queuePage(ch)
	}
	s.checkComplete(ch)
	return nil
}

func (s *Session) sendObjects(ch *channel, r ObjectsLoaded) error {
	f, size := &Objects{Chan: ch.id}, 0
	for i, o := range r.Objects {
		if len(f.Objects) > 0 && (size+len(o) > MaxObjectsFrame || len(f.Objects) == MaxObjectIDs) {
			if err := s.sendFrame(f); err != nil {
				return err
			}
			f, size = &Objects{Chan: ch.id}, 0
		}
		f.Objects = append(f.Objects, o)
		size += len(o)
		ch.theirIDs[r.IDs[i]] = true
	}
	if len(f.Objects) == 0 {
		return nil
	}
	return s.sendFrame(f)
}

// onObjects takes access objects to be verified and stored.
func (s *Session) onObjects(ch *channel, f *Objects) error {
	if !ch.gotAccess {
		return bad(CauseUnexpected, "objects before the access frame")
	}
	if ch.objectsSeen += len(f.Objects); ch.objectsSeen > 2*crdt.MaxObjects {
		return bad(CauseLimit, "more than %d access objects on one channel", 2*crdt.MaxObjects)
	}
	ch.adding++
	s.emit(AddObjects{Task: ch.task(), Objects: f.Objects})
	return nil
}

func (s *Session) onObjectsAdded(ch *channel, r ObjectsAdded) error {
	ch.adding--
	for _, id := range r.IDs {
		ch.theirIDs[id] = true
	}
	s.learn(ch.doc, r.Info)
	ch.used = s.time.elapsed
	if ch.adding > 0 {
		return nil
	}
	if ch.gotHave && !ch.admitted() {
		return s.lose(ch)
	}
	if ch.sentHave && ch.accessSaid != r.Info.Access {
		s.loadObjects(ch)
	}
	return s.tryHave(ch)
}
