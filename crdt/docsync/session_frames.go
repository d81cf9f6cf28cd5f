package docsync

import "fmt"

// onBytes reads a frame and gives it to its handler.
func (s *Session) onBytes(b []byte) error {
	s.time.heard = s.time.elapsed
	f, err := Decode(b)
	if err != nil {
		return err
	}
	if !s.greeted {
		switch f := f.(type) {
		case *Hello:
			return s.onHello(f)
		case *Error:
			return s.onError(f)
		}
		return bad(CauseBeforeHello, "the first frame is no hello")
	}
	if f == nil {
		s.count[CountExtension]++
		return nil
	}
	return s.onFrame(f)
}

func (s *Session) onFrame(f Frame) error {
	switch f := f.(type) {
	case *Hello:
		return bad(CauseSecondHello, "a hello after the first")
	case *Ping:
		return s.sendFrame(&Pong{ID: f.ID, Clock: s.time.wall()})
	case *Pong:
		return s.onPong(f)
	case *Announce:
		return s.onAnnounce(f)
	case *Unknown:
		return s.onUnknown(f)
	case *Offer:
		return s.onOffer(f)
	case *Open:
		return s.onOpen(f)
	case *Opened:
		return s.onOpened(f)
	case *Refused:
		return s.onRefused(f)
	case *Close:
		return s.onClose(f)
	case *Error:
		return s.onError(f)
	}
	return s.onChannelFrame(f)
}

// onChannelFrame handles the frames of open channels. Those for a channel that was closed here, sent
// before the other side knew, are passed over.
func (s *Session) onChannelFrame(f Frame) error {
	id := channelOf(f)
	if s.tombs[id] {
		s.count[CountClosed]++
		return nil
	}
	ch := s.chans[id]
	if ch == nil {
		return bad(CauseChannel, "frame type %d for channel %d, which is not open", f.Type(), id)
	}
	if ch.state != chanOpen {
		return bad(CauseUnexpected, "frame type %d for channel %d, which was not answered yet", f.Type(), id)
	}
	switch f := f.(type) {
	case *Access:
		return s.onAccess(ch, f)
	case *Objects:
		return s.onObjects(ch, f)
	case *Have:
		return s.onHave(ch, f)
	case *Changes:
		return s.onChanges(ch, f)
	case *Ack:
		return s.onAck(ch, f)
	case *Proof:
		return s.onProof(ch, f)
	}
	return fmt.Errorf("handle frame: type %d has no handler", f.Type())
}

func channelOf(f Frame) uint64 {
	switch f := f.(type) {
	case *Access:
		return f.Chan
	case *Objects:
		return f.Chan
	case *Have:
		return f.Chan
	case *Changes:
		return f.Chan
	case *Ack:
		return f.Chan
	case *Proof:
		return f.Chan
	}
	return 0
}

func (s *Session) onError(f *Error) error { return &RemoteError{Code: f.Code, Text: f.Text} }
