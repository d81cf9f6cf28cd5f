package docsync

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func drawBytes(t *rapid.T, n int, what string) []byte {
	return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, what)
}

func drawVector(t *rapid.T) []VectorEntry {
	out := []VectorEntry{}
	for i := range rapid.IntRange(0, 5).Draw(t, "actors") {
		e := VectorEntry{Seq: rapid.Uint64Range(1, math.MaxInt64).Draw(t, "seq")}
		copy(e.Actor[:], drawBytes(t, 16, "actor"))
		e.Actor[0] = byte(i)
		copy(e.Hash[:], drawBytes(t, 32, "hash"))
		out = append(out, e)
	}
	return out
}

func drawRefused(t *rapid.T) []RefusedEntry {
	out := []RefusedEntry{}
	for i := range rapid.IntRange(0, 3).Draw(t, "refused") {
		e := RefusedEntry{Reason: rapid.SampledFrom([]string{"", "no_right", "bad_row"}).Draw(t, "reason")}
		e.Hash[0] = byte(i)
		out = append(out, e)
	}
	return out
}

func drawObjects(t *rapid.T, least int) [][]byte {
	out := [][]byte{}
	for range rapid.IntRange(least, 4).Draw(t, "objects") {
		out = append(out, drawBytes(t, rapid.IntRange(1, 40).Draw(t, "size"), "object"))
	}
	return out
}

func drawFrame(t *rapid.T, kind uint8) Frame {
	ch := rapid.Uint64().Draw(t, "chan")
	clock := rapid.Int64().Draw(t, "clock")
	text := rapid.StringMatching(`[a-zé☃]{0,20}`).Draw(t, "text")
	switch kind {
	case TypeHello:
		return &Hello{Min: 1, Max: 1 + ch%9, Clock: clock, Nonce: [16]byte(drawBytes(t, 16, "nonce")), Features: []string{text}, Agent: text}
	case TypePing:
		return &Ping{ID: ch, Clock: clock}
	case TypePong:
		return &Pong{ID: ch, Clock: clock}
	case TypeAnnounce:
		return &Announce{Entries: []AnnounceEntry{{Tag: Tag{1}, Vector: [32]byte(drawBytes(t, 32, "digest"))}, {Tag: Tag{2}}}}
	case TypeUnknown:
		return &Unknown{Tags: []Tag{{1}, {2}}}
	case TypeOffer:
		return &Offer{Doc: crdt.DocID(drawBytes(t, 32, "doc")), Kind: "session", Objects: drawObjects(t, 0)}
	case TypeOpen:
		return &Open{Chan: ch, Tag: Tag(drawBytes(t, 16, "tag")), Objects: drawObjects(t, 0), Secret: drawBytes(t, 16, "secret"), Role: "write", Note: text}
	case TypeOpened:
		return &Opened{Chan: ch}
	case TypeRefused:
		return &Refused{Chan: ch, Code: rapid.SampledFrom([]Code{CodeNotServed, CodePending, CodeVersion, CodeBusy}).Draw(t, "code")}
	case TypeAccess:
		return &Access{Chan: ch, IDs: []crdt.ObjectID{{1}, {2}}}
	case TypeObjects:
		return &Objects{Chan: ch, Objects: drawObjects(t, 1)}
	case TypeHave:
		return &Have{Chan: ch, Vector: drawVector(t), Refused: drawRefused(t), More: ch%2 == 0}
	case TypeChanges:
		return &Changes{Chan: ch, Page: drawBytes(t, 30, "page"), Marks: []Mark{{Actor: crdt.ActorID{1}, Seq: 4}}, More: ch%2 == 0}
	case TypeAck:
		return &Ack{Chan: ch, Vector: drawVector(t), Refused: drawRefused(t)}
	case TypeProof:
		return &Proof{Chan: ch, Seq: 1, Sig: drawBytes(t, 64, "sig")}
	case TypeClose:
		return &Close{Chan: ch, Code: CodeDone}
	}
	return &Error{Code: CodeProtocol, Text: text}
}

// TestFrameRoundTrip: every frame comes back as it was, through a stream, and has one encoding.
func TestFrameRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := uint8(rapid.IntRange(0, int(frameTypes)-1).Draw(t, "type"))
		f := drawFrame(t, kind)
		if f.Type() != kind {
			t.Fatalf("drew type %d for %d", f.Type(), kind)
		}
		b, err := Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		var stream bytes.Buffer
		if err := WriteFrame(&stream, b); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFrame(&stream)
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("read %x, %v", got, err)
		}
		back, err := Decode(got)
		if err != nil || !reflect.DeepEqual(back, f) {
			t.Fatalf("%+v came back as %+v: %v", f, back, err)
		}
		// Any one byte changed is either refused or another frame with its own only encoding.
		i := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		b[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		if g, err := Decode(b); err == nil && g != nil {
			if again, err := Encode(g); err != nil || !bytes.Equal(again, b) {
				t.Fatalf("%x decodes and encodes as %x: %v", b, again, err)
			}
		}
	})
}

// TestDecodeRefuses: what is not the one encoding of a frame within its limits is refused.
func TestDecodeRefuses(t *testing.T) {
	if _, err := Decode(goodPing(t)); err != nil {
		t.Fatal(err)
	}
	for _, cases := range []map[string][]byte{badForms(t), badFields(t)} {
		for name, b := range cases {
			var proto *ProtocolError
			if f, err := Decode(b); !errors.As(err, &proto) || f != nil && reflect.ValueOf(f).IsNil() {
				t.Errorf("%s: %v, %v", name, f, err)
			}
		}
	}
}

func goodPing(t *testing.T) []byte {
	t.Helper()
	b, err := Encode(&Ping{ID: 1, Clock: 5})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// badForms are not the one encoding of any frame.
func badForms(t *testing.T) map[string][]byte {
	return map[string][]byte{
		"empty":               {},
		"one byte":            {0x81},
		"an empty array":      {0x80, 0},
		"a map":               {0xa1, 0x01, 0x01},
		"too few fields":      {0x82, TypePing, 0x01},
		"too many fields":     {0x84, TypePing, 0x01, 0x05, 0x05},
		"trailing bytes":      append(goodPing(t), 0),
		"long integer":        {0x83, TypePing, 0x18, 0x01, 0x05},
		"indefinite array":    {0x9f, TypePing, 0x01, 0x05, 0xff},
		"a tag":               {0x83, TypePing, 0xc0, 0x01, 0x05},
		"null":                {0x83, TypePing, 0xf6, 0x05},
		"a float":             {0x83, TypePing, 0xf9, 0x3c, 0x00, 0x05},
		"a negative id":       {0x83, TypePing, 0x20, 0x05},
		"type as text":        {0x82, 0x61, 'x', 0x01},
		"long type":           {0x83, 0x18, TypePing, 0x01, 0x05},
		"long extension type": {0x82, 0x19, 0x00, 0x80, 0x01},
		"short nonce":         {0x87, TypeHello, 0x01, 0x01, 0x00, 0x41, 0x00, 0x80, 0x60},
		"bad UTF-8":           {0x83, TypeError, 0x61, 0xff, 0x60},
	}
}

// badFields are well encoded and break a limit or an order.
func badFields(t *testing.T) map[string][]byte {
	two := func(f Frame) []byte { // encodes without the checks
		body, err := wire.enc.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte{body[0] + 1, f.Type()}, body[1:]...)
	}
	entry := VectorEntry{Actor: crdt.ActorID{1}, Seq: 1}
	return map[string][]byte{
		"min above max":          two(&Hello{Min: 2, Max: 1}),
		"protocol 0":             two(&Hello{}),
		"features":               two(&Hello{Min: 1, Max: 1, Features: make([]string, MaxFeatures+1)}),
		"tags out of order":      two(&Unknown{Tags: []Tag{{2}, {1}}}),
		"a tag twice":            two(&Announce{Entries: []AnnounceEntry{{}, {}}}),
		"too many announced":     two(&Announce{Entries: make([]AnnounceEntry, MaxAnnounce+1)}),
		"unknown kind":           two(&Offer{Kind: "novel"}),
		"nine objects in a open": two(&Open{Objects: slices.Repeat([][]byte{{1}}, MaxChain+1)}),
		"an empty object":        two(&Open{Objects: [][]byte{{}}}),
		"long note":              two(&Open{Note: strings.Repeat("x", MaxNote+1)}),
		"long secret":            two(&Open{Secret: make([]byte, MaxSecret+1)}),
		"owner wanted":           two(&Open{Role: "owner"}),
		"unknown code":           two(&Refused{Code: "whim"}),
		"unknown close code":     two(&Close{Code: "whim"}),
		"ids twice":              two(&Access{IDs: make([]crdt.ObjectID, 2)}),
		"too many ids":           two(&Access{IDs: make([]crdt.ObjectID, MaxObjectIDs+1)}),
		"no objects":             two(&Objects{}),
		"big objects":            two(&Objects{Objects: [][]byte{make([]byte, MaxObjectsFrame+1)}}),
		"actor twice":            two(&Have{Vector: []VectorEntry{entry, entry}}),
		"sequence number 0":      two(&Ack{Vector: []VectorEntry{{}}}),
		"sequence number 2^63":   two(&Ack{Vector: []VectorEntry{{Seq: 1 << 63}}}),
		"refused twice":          two(&Have{Refused: make([]RefusedEntry, 2)}),
		"long reason":            two(&Ack{Refused: []RefusedEntry{{Reason: strings.Repeat("x", MaxName+1)}}}),
		"empty page":             two(&Changes{}),
		"big page":               two(&Changes{Page: make([]byte, MaxPageDecoded+1)}),
		"mark at 0":              two(&Changes{Page: []byte{1}, Marks: []Mark{{}}}),
		"short signature":        two(&Proof{Seq: 1, Sig: []byte{1}}),
		"long error text":        two(&Error{Text: strings.Repeat("x", MaxNote+1)}),
	}
}

func TestReadFrameLimits(t *testing.T) {
	var proto *ProtocolError
	if _, err := ReadFrame(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff})); !errors.As(err, &proto) || proto.Cause != CauseOversize {
		t.Errorf("4 GiB announced: %v", err)
	}
	if _, err := ReadFrame(bytes.NewReader(nil)); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
	for _, cut := range [][]byte{{0, 0}, {0, 0, 0, 5, 1}} {
		if _, err := ReadFrame(bytes.NewReader(cut)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut off within a frame: %v", err)
		}
	}
}

func FuzzFrame(f *testing.F) {
	for _, fr := range []Frame{
		&Hello{Min: 1, Max: 2, Agent: "x"}, &Ping{ID: 1}, &Announce{Entries: []AnnounceEntry{{}}}, &Open{Chan: 1, Objects: [][]byte{{1}}},
		&Have{Chan: 2, Vector: []VectorEntry{{Seq: 3}}, Refused: []RefusedEntry{{Reason: "no_right"}}}, &Changes{Chan: 1, Page: []byte{1}},
		&Ack{}, &Close{Code: CodeDone}, &Error{Code: CodeBusy},
	} {
		b, err := Encode(fr)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fr, err := Decode(b)
		if err != nil {
			var proto *ProtocolError
			if !errors.As(err, &proto) {
				t.Fatalf("an untyped error: %v", err)
			}
			return
		}
		if fr == nil {
			return
		}
		again, err := Encode(fr)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x decodes and encodes as %x: %v", b, again, err)
		}
	})
}

// FuzzSession feeds a session any frames: it fails with a typed error or goes on, and stays bounded.
func FuzzSession(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3}, uint64(1))
	f.Add([]byte{10, 200, 7, 7, 7, 90}, uint64(3))
	f.Fuzz(func(t *testing.T, script []byte, ch uint64) {
		s := newSolo(t)
		s.say(s.hello(), s.open(1))
		for i, op := range script[:min(len(script), 40)] {
			s.say(fuzzFrame(s, op, (ch>>(i%8))%4, uint64(i)))
			if s.failed != nil {
				break
			}
		}
		var proto *ProtocolError
		var remote *RemoteError
		if s.failed != nil && !errors.As(s.failed, &proto) && !errors.As(s.failed, &remote) {
			t.Fatalf("failed with %v", s.failed)
		}
	})
}

func fuzzFrame(s *solo, op byte, ch, n uint64) Frame {
	obj := memObject{Kind: "actor", Doc: s.doc, Peer: s.peer, Actor: s.actor()}
	switch op % 14 {
	case 0:
		return s.open(ch)
	case 1:
		return &Opened{Chan: ch}
	case 2:
		return &Refused{Chan: ch, Code: CodeNotServed}
	case 3, 4:
		return &Access{Chan: ch}
	case 5:
		return &Objects{Chan: ch, Objects: [][]byte{obj.raw()}}
	case 6, 7:
		return &Have{Chan: ch, More: op > 200}
	case 8:
		c := s.page(1+n%3, 1+int(op)%3, nil)
		c.Chan = ch
		return c
	case 9:
		return &Ack{Chan: ch}
	case 10:
		return &Close{Chan: ch, Code: CodeDone}
	case 11:
		return &Announce{Entries: []AnnounceEntry{{Tag: s.open(1).Tag}}}
	case 12:
		return &Unknown{Tags: []Tag{MakeTag(s.doc, s.sess.cfg.Nonce, s.nonce)}}
	}
	return &Ping{ID: n}
}
