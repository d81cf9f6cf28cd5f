package docsync

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// bad makes the error of a frame that breaks a rule; cause is the counter's name.
func bad(cause Cause, format string, args ...any) error {
	return &ProtocolError{Cause: cause, Detail: fmt.Sprintf(format, args...)}
}

func checkText(what, s string, most int) error {
	if len(s) > most || !utf8.ValidString(s) {
		return bad(CauseLimit, "%s of %d bytes, the limit is %d of valid UTF-8", what, len(s), most)
	}
	return nil
}

func checkCount(what string, n, most int) error {
	if n > most {
		return bad(CauseLimit, "%d %s, the limit is %d", n, what, most)
	}
	return nil
}

func checkObjects(objs [][]byte, most int) error {
	total := 0
	for _, o := range objs {
		if len(o) == 0 {
			return bad(CauseMalformed, "an empty access object")
		}
		total += len(o)
	}
	if err := checkCount("access objects", len(objs), most); err != nil {
		return err
	}
	return checkCount("bytes of access objects", total, MaxObjectsFrame)
}

// ascending checks that keys come in strictly ascending order, so no one twice.
func ascending(what string, n int, key func(int) []byte) error {
	for i := 1; i < n; i++ {
		if bytes.Compare(key(i-1), key(i)) >= 0 {
			return bad(CauseMalformed, "%s are not in ascending order", what)
		}
	}
	return nil
}

func checkVector(v []VectorEntry) error {
	if err := checkCount("vector entries", len(v), MaxVector); err != nil {
		return err
	}
	for i := range v {
		if v[i].Seq == 0 || v[i].Seq > math.MaxInt64 {
			return bad(CauseMalformed, "sequence number %d", v[i].Seq)
		}
	}
	return ascending("vector entries", len(v), func(i int) []byte { return v[i].Actor[:] })
}

func checkRefused(r []RefusedEntry) error {
	if err := checkCount("refused changes", len(r), MaxRefusedList); err != nil {
		return err
	}
	for i := range r {
		if err := checkText("reason", r[i].Reason, MaxName); err != nil {
			return err
		}
	}
	return ascending("refused changes", len(r), func(i int) []byte { return r[i].Hash[:] })
}

func (f *Hello) check() error {
	if err := checkCount("features", len(f.Features), MaxFeatures); err != nil {
		return err
	}
	for _, name := range f.Features {
		if err := checkText("feature", name, MaxName); err != nil {
			return err
		}
	}
	if f.Min == 0 || f.Min > f.Max {
		return bad(CauseMalformed, "protocol range %d to %d", f.Min, f.Max)
	}
	return checkText("agent", f.Agent, MaxName)
}

func (f *Ping) check() error { return nil }
func (f *Pong) check() error { return nil }

func (f *Announce) check() error {
	if err := checkCount("announced documents", len(f.Entries), MaxAnnounce); err != nil {
		return err
	}
	return ascending("announced documents", len(f.Entries), func(i int) []byte { return f.Entries[i].Tag[:] })
}

func (f *Unknown) check() error {
	if err := checkCount("unknown documents", len(f.Tags), MaxAnnounce); err != nil {
		return err
	}
	return ascending("unknown documents", len(f.Tags), func(i int) []byte { return f.Tags[i][:] })
}

func (f *Offer) check() error {
	if _, err := crdt.ParseKind(f.Kind); err != nil {
		return bad(CauseMalformed, "%v", err)
	}
	return checkObjects(f.Objects, MaxChain)
}

func (f *Open) check() error {
	if err := checkObjects(f.Objects, MaxChain); err != nil {
		return err
	}
	if err := checkCount("bytes of secret", len(f.Secret), MaxSecret); err != nil {
		return err
	}
	if f.Role != "" {
		if _, err := crdt.ParseRole(f.Role); err != nil {
			return bad(CauseMalformed, "%v", err)
		}
	}
	return checkText("note", f.Note, MaxNote)
}

func (f *Opened) check() error { return nil }

func (f *Refused) check() error {
	switch f.Code {
	case CodeNotServed, CodePending, CodeVersion, CodeBusy:
		return nil
	}
	return bad(CauseMalformed, "refused with an unknown code of %d bytes", len(f.Code))
}

func (f *Access) check() error {
	if err := checkCount("object ids", len(f.IDs), MaxObjectIDs); err != nil {
		return err
	}
	return ascending("object ids", len(f.IDs), func(i int) []byte { return f.IDs[i][:] })
}

func (f *Objects) check() error {
	if len(f.Objects) == 0 {
		return bad(CauseMalformed, "an objects frame without objects")
	}
	return checkObjects(f.Objects, MaxObjectIDs)
}

func (f *Have) check() error {
	if err := checkVector(f.Vector); err != nil {
		return err
	}
	return checkRefused(f.Refused)
}

func (f *Changes) check() error {
	if len(f.Page) == 0 || len(f.Page) > MaxPageDecoded {
		return bad(CauseLimit, "a page of %d bytes", len(f.Page))
	}
	if err := checkCount("marks", len(f.Marks), MaxVector); err != nil {
		return err
	}
	for i := range f.Marks {
		if f.Marks[i].Seq == 0 || f.Marks[i].Seq > math.MaxInt64 {
			return bad(CauseMalformed, "sequence number %d", f.Marks[i].Seq)
		}
	}
	return ascending("marks", len(f.Marks), func(i int) []byte { return f.Marks[i].Actor[:] })
}

func (f *Ack) check() error {
	if err := checkVector(f.Vector); err != nil {
		return err
	}
	return checkRefused(f.Refused)
}

func (f *Proof) check() error {
	if f.Seq == 0 || f.Seq > math.MaxInt64 || len(f.Sig) != 64 {
		return bad(CauseMalformed, "proof at %d with a signature of %d bytes", f.Seq, len(f.Sig))
	}
	return nil
}

func (f *Close) check() error {
	switch f.Code {
	case CodeNotServed, CodeBusy, CodeDone:
		return nil
	}
	return bad(CauseMalformed, "closed with an unknown code of %d bytes", len(f.Code))
}

func (f *Error) check() error {
	if err := checkText("code", string(f.Code), MaxName); err != nil {
		return err
	}
	return checkText("error text", f.Text, MaxNote)
}
