package docsync

// onJoin starts to ask for a document.
func (s *Session) onJoin(j Join) error {
	d := s.doc(j.Doc)
	j.Note = clipText(j.Note, MaxNote)
	if len(j.Secret) > MaxSecret {
		j.Secret = nil
	}
	d.join = &j
	d.refusal, d.broken = "", ""
	s.touch(d)
	s.joinIs(d, JoinAsking)
	if ch := d.ch; ch != nil {
		if ch.state != chanOpen || j.Inviter != s.cfg.Peer || len(j.Secret) == 0 {
			s.checkComplete(ch)
			return nil
		}
		// Only an open carries a secret, which may give a reader more than he has.
		if err := s.closeChannel(ch, CodeDone); err != nil {
			return err
		}
		s.want(d)
		return nil
	}
	if s.greeted {
		s.want(d)
	}
	return nil
}

func (s *Session) onLeave(l Leave) error {
	if d := s.docs[l.Doc]; d != nil {
		d.join = nil
		s.touch(d)
	}
	return nil
}

// joinIs tells a new state of a join.
func (s *Session) joinIs(d *docState, state JoinState) {
	if d.join == nil || d.joinState == state {
		return
	}
	d.joinState = state
	s.emit(JoinChanged{Doc: d.id, State: state})
	if state == JoinReady {
		d.join = nil
	}
}

// addRequest puts what a joiner asks for into an open. It goes to the peer that the ticket names
// and to nobody else.
func (s *Session) addRequest(f *Open, j *Join) {
	if j == nil || j.Inviter != s.cfg.Peer {
		return
	}
	f.Secret, f.Role, f.Note = j.Secret, j.Role, j.Note
}
