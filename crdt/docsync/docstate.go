package docsync

import (
	"crypto/hmac"
	"crypto/sha256"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// digests are where a document stands, in short.
type digests struct{ vector, access [32]byte }

// docState is what a session knows of one document.
type docState struct {
	id   crdt.DocID
	info DocInfo
	held bool

	tagged          bool
	myTag, theirTag Tag
	announced       bool // the other peer was told of it
	said            digests
	heard           *digests // what the other peer last said of it
	unknownThere    bool
	offered         bool
	inAnnounce      bool

	join      *Join
	joinState JoinState

	ch      *channel
	queued  bool // in wantOpen
	refusal Code // of the last own open, or of the close of a channel
	again   bool // open again after a refusal that answers a crossing open

	denied bool // the other peer's last open was refused
	asks   bool // its request waits for a human here

	without map[crdt.ChangeHash]bool // not to be sent: refused there, or a forked branch
	reason  string                   // why a change was refused last, there or here
	forks   map[crdt.ActorID]uint64  // lowest place known to differ, 0 when unknown
	broken  string                   // what failed on this side

	acked     crdt.Vector // to be recorded
	equal     [32]byte    // digest of the vector last recorded as announced by the other side
	ackNext   time.Duration
	ackQueued bool
	retrying  bool // in retries

	shown   DocStatus
	showing bool // shown has been told
	dirty   bool // in touched
}

func (d *docState) digests() digests { return digests{d.info.Vector, d.info.Access} }

// blocks reports whether the last answer of the other peer forbids another open until it says
// something new.
func (d *docState) blocks() bool { return d.refusal != "" || d.broken != "" }

// MakeTag computes the tag of a document between two peers of one connection: HMAC-SHA256 under the
// document's id over "chaz/announce/v1", a zero byte and the two nonces, cut to 16 bytes.
func MakeTag(doc crdt.DocID, sender, receiver [16]byte) Tag {
	h := hmac.New(sha256.New, doc[:])
	h.Write([]byte("chaz/announce/v1\x00"))
	h.Write(sender[:])
	h.Write(receiver[:])
	return Tag(h.Sum(nil)[:16])
}

func (s *Session) doc(id crdt.DocID) *docState {
	d := s.docs[id]
	if d == nil {
		d = &docState{id: id, info: DocInfo{Doc: id}, without: map[crdt.ChangeHash]bool{}, forks: map[crdt.ActorID]uint64{}}
		s.docs[id] = d
		if s.greeted {
			s.makeTags(d)
		}
	}
	return d
}

func (s *Session) makeTags(d *docState) {
	d.myTag = MakeTag(d.id, s.cfg.Nonce, s.hello.Nonce)
	d.theirTag = MakeTag(d.id, s.hello.Nonce, s.cfg.Nonce)
	s.myTags[d.myTag], s.theirTags[d.theirTag] = d, d
	if h, ok := s.heardTags[d.theirTag]; ok {
		d.heard = &h
	}
	d.tagged = true
}

func (s *Session) touch(d *docState) {
	if !d.dirty {
		d.dirty = true
		s.touched = append(s.touched, d)
	}
}

// onDocs takes new states of documents from the host.
func (s *Session) onDocs(infos []DocInfo) error {
	for _, info := range infos {
		d := s.doc(info.Doc)
		s.learn(d, info)
		if !s.greeted {
			continue
		}
		var err error
		switch {
		case info.Gone:
			d.announced, d.reason = false, ""
			clear(d.forks)
			if d.ch != nil {
				err = s.closeChannel(d.ch, CodeNotServed)
			}
		case d.ch != nil:
			err = s.channelDocChanged(d.ch)
		default:
			s.reconsider(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// learn notes what the host says of a document.
func (s *Session) learn(d *docState, info DocInfo) {
	d.info = info
	d.held = !info.Gone
	if d.info.Peer >= crdt.Read {
		d.denied, d.asks = false, false
	}
	s.touch(d)
}

// reconsider decides what a document without a channel needs: an open, an announcement, nothing.
func (s *Session) reconsider(d *docState) {
	reader := d.info.Peer >= crdt.Read
	if !reader {
		d.announced = false
	}
	switch now := d.digests(); {
	case d.heard != nil && *d.heard != now:
		s.want(d)
	case !reader:
	case d.heard != nil:
		s.standsEqual(d)
		if !d.announced || d.said != now {
			s.announce(d)
		}
	case !d.announced || d.said.access != now.access || (!d.unknownThere && d.said != now):
		s.announce(d)
	}
}
