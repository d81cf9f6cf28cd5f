package docsync

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

var update = flag.Bool("update", false, "record the transcripts in testdata anew")

// scribe writes frames for people: names instead of ids.
type scribe struct {
	out   strings.Builder
	w     *world
	names map[string]string
}

func (w *world) record() *scribe {
	s := &scribe{w: w, names: map[string]string{}}
	w.log = func(from, to string, f Frame) {
		fmt.Fprintf(&s.out, "%s → %s  %s\n", from, to, s.line(f))
	}
	return s
}

// name gives each id a name of its kind at its first sight.
func (s *scribe) name(kind string, id []byte) string {
	key := kind + string(id)
	if s.names[key] == "" {
		n := 1
		for k := range s.names {
			if strings.HasPrefix(k, kind) {
				n++
			}
		}
		s.names[key] = fmt.Sprintf("%s%d", kind, n)
	}
	return s.names[key]
}

func (s *scribe) section(title string) { fmt.Fprintf(&s.out, "\n# %s\n", title) }

func (s *scribe) vector(v []VectorEntry) string {
	var out []string
	for _, e := range v {
		out = append(out, fmt.Sprintf("%s:%d=%s", s.name("actor", e.Actor[:]), e.Seq, s.name("change", e.Hash[:])))
	}
	return "{" + strings.Join(out, " ") + "}"
}

func (s *scribe) refused(r []RefusedEntry) string {
	var out []string
	for _, e := range r {
		out = append(out, fmt.Sprintf("%s %s", s.name("change", e.Hash[:]), e.Reason))
	}
	if len(out) == 0 {
		return ""
	}
	return " refused " + strings.Join(out, ", ")
}

func (s *scribe) line(f Frame) string {
	more := func(m bool) string {
		if m {
			return " more"
		}
		return ""
	}
	switch f := f.(type) {
	case *Hello:
		return fmt.Sprintf("hello protocol %d–%d agent %s", f.Min, f.Max, f.Agent)
	case *Ping:
		return fmt.Sprintf("ping %d", f.ID)
	case *Pong:
		return fmt.Sprintf("pong %d", f.ID)
	case *Announce:
		var out []string
		for _, e := range f.Entries {
			out = append(out, fmt.Sprintf("%s vector %s access %s", s.name("tag", e.Tag[:]), s.name("vector", e.Vector[:]), s.name("access", e.Access[:])))
		}
		return "announce " + strings.Join(out, "; ")
	case *Unknown:
		return fmt.Sprintf("unknown %d", len(f.Tags))
	case *Offer:
		return fmt.Sprintf("offer %s %s, %d objects", s.name("doc", f.Doc[:]), f.Kind, len(f.Objects))
	case *Open:
		return fmt.Sprintf("open %d %s, %d objects, secret %q role %q note %q", f.Chan, s.name("tag", f.Tag[:]), len(f.Objects), f.Secret, f.Role, f.Note)
	case *Opened:
		return fmt.Sprintf("opened %d", f.Chan)
	case *Refused:
		return fmt.Sprintf("refused %d %s", f.Chan, f.Code)
	case *Access:
		return fmt.Sprintf("access %d, %d ids", f.Chan, len(f.IDs))
	case *Objects:
		return fmt.Sprintf("objects %d, %d objects", f.Chan, len(f.Objects))
	case *Have:
		return fmt.Sprintf("have %d %s%s%s", f.Chan, s.vector(f.Vector), s.refused(f.Refused), more(f.More))
	case *Changes:
		page, err := s.w.hosts[0].pages.Decode(f.Page)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("changes %d, %d changes%s", f.Chan, len(page), more(f.More))
	case *Ack:
		return fmt.Sprintf("ack %d %s%s", f.Chan, s.vector(f.Vector), s.refused(f.Refused))
	case *Proof:
		return fmt.Sprintf("proof %d %s:%d=%s", f.Chan, s.name("actor", f.Actor[:]), f.Seq, s.name("change", f.Hash[:]))
	case *Close:
		return fmt.Sprintf("close %d %s", f.Chan, f.Code)
	case *Error:
		return fmt.Sprintf("error %s %q", f.Code, f.Text)
	}
	return fmt.Sprintf("%T", f)
}

// calm runs the world in a fixed order instead of a random one.
func (w *world) calm() {
	for {
		moved := false
		for _, l := range w.links {
			for _, s := range []*side{l.a, l.b} {
				if m := s.moves(); len(m) > 0 {
					m[0]()
					moved = true
				}
			}
		}
		if !moved && !w.tick(5*time.Second) {
			return
		}
	}
}

func TestTranscripts(t *testing.T) {
	for name, play := range map[string]func(w *world, s *scribe){
		"first_sync":  playFirstSync,
		"join_secret": playJoin,
		"join_asked":  playAsked,
		"refused":     playRefused,
		"fork":        playFork,
		"versions":    playVersions,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 0, 3)
			s := w.record()
			play(w, s)
			path := filepath.Join("testdata", name+".txt")
			got := strings.TrimLeft(s.out.String(), "\n")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the exchange differs from %s; -update records it:\n%s", path, got)
			}
		})
	}
}

func playFirstSync(w *world, s *scribe) {
	id := w.shared(1, 3)
	s.section("B is another device of A's owner and does not know the document")
	l := w.connect(0, 1)
	w.calm()
	s.section("B writes, and declares its actor first")
	w.hosts[1].write(id, text("hello"))
	w.calm()
	s.section("B writes once more")
	w.hosts[1].write(id, text("hello again"))
	w.calm()
	w.cut(l)
	s.section("a new connection, both have the same")
	l = w.connect(0, 1)
	w.calm()
	w.cut(l)
	s.section("a new connection after A wrote alone")
	w.hosts[0].write(id, text("alone"))
	w.connect(0, 1)
	w.calm()
}

func playJoin(w *world, s *scribe) {
	id := w.hosts[0].create(1)
	w.hosts[0].write(id, text("x"))
	w.hosts[0].secret["s3cret"] = crdt.Write
	s.section("B has a ticket from A")
	l := w.connect(0, 1)
	w.calm()
	l.b.step(Join{Doc: id, Kind: crdt.Session, Inviter: w.hosts[0].self, Secret: []byte("s3cret"), Role: "write"})
	w.calm()
}

func playAsked(w *world, s *scribe) {
	id := w.hosts[0].create(1)
	w.hosts[0].write(id, text("x"))
	s.section("B asks without a secret")
	l := w.connect(0, 1)
	w.calm()
	l.b.step(Join{Doc: id, Kind: crdt.Session, Inviter: w.hosts[0].self, Role: "read", Note: "it is me"})
	w.calm()
	s.section("A's owner approves")
	w.hosts[0].grant(id, w.hosts[1].self, crdt.Read)
	w.calm()
	s.section("C asks for a document that is not there")
	l = w.connect(0, 2)
	w.calm()
	l.b.step(Join{Doc: crdt.DocID{7}, Kind: crdt.Session, Inviter: w.hosts[0].self, Secret: []byte("guess")})
	w.calm()
	s.section("C asks for one that is there and does not have the secret")
	l.b.step(Join{Doc: id, Kind: crdt.Session, Inviter: w.hosts[0].self, Secret: []byte("guess")})
	w.calm()
}

func playRefused(w *world, s *scribe) {
	id := w.shared(1, 1)
	w.hosts[1].picky = func(c memChange) bool { return string(c.Text) == "bad" }
	l := w.connect(0, 1)
	w.calm()
	s.section("A sends a change that B refuses, then one on top of it")
	w.hosts[0].write(id, text("bad"))
	w.calm()
	w.hosts[0].write(id, text("on top"))
	w.calm()
	s.section("the next connection")
	w.cut(l)
	w.connect(0, 1)
	w.calm()
}

func playFork(w *world, s *scribe) {
	id := w.shared(1, 2)
	l := w.connect(0, 1)
	w.calm()
	w.cut(l)
	h := w.hosts[1]
	c := memChange{Actor: w.hosts[0].actorOf(id), Seq: 3, Deps: h.docs[id].heads(), Text: text("the copy")}
	c.finish(true)
	h.docs[id].add(c)
	w.hosts[0].write(id, text("the original"))
	w.hosts[0].write(id, text("the original goes on"))
	s.section("a copy of A's home wrote to B under A's actor")
	w.connect(0, 1)
	w.calm()
}

func playVersions(w *world, s *scribe) {
	l := w.connect(0, 1)
	w.links = nil
	s.section("B speaks versions that A does not")
	l.b.sess = NewSession(Config{Self: w.hosts[1].self, Peer: w.hosts[0].self, Nonce: [16]byte{2}, Min: 3, Max: 4, Agent: "test/9"})
	l.a.in = nil
	w.links = []*link{l}
	l.b.step(Start{})
	w.calm()
}
