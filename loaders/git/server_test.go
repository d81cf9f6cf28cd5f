package git

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// server speaks the smart HTTP protocol, version 0, as git's own does under several settings.
type server struct {
	repo *repo
	caps string // of "shallow side-band-64k filter allow-tip-sha1-in-want allow-reachable-sha1-in-want …"
	// commitsOnly refuses blobs that are asked for by hash.
	commitsOnly bool
	// peel advertises what annotated tags point to, as git's own server does.
	peel bool
	// pack replaces the pack.
	pack func(objects []plumbing.Hash) []byte

	mu   sync.Mutex
	sent map[string]bool // objects, by hash
	asks int             // for packs
}

const (
	plainCaps = "shallow side-band-64k ofs-delta no-progress"
	byIDCaps  = plainCaps + " allow-tip-sha1-in-want allow-reachable-sha1-in-want"
	fullCaps  = byIDCaps + " filter"
)

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/info/refs"):
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		s.advertise(w)
	case strings.HasSuffix(r.URL.Path, "/git-upload-pack"):
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		s.upload(w, r.Body)
	default:
		http.NotFound(w, r)
	}
}

func (s *server) advertise(w io.Writer) {
	e := pktline.NewEncoder(w)
	_ = e.EncodeString("# service=git-upload-pack\n")
	_ = e.Flush()
	caps := "\x00" + s.caps
	add := func(id, name string) {
		_ = e.Encodef("%s %s%s\n", id, name, caps)
		caps = ""
	}
	refs := s.refs()
	if len(refs) == 0 {
		add(plumbing.ZeroHash.String(), "capabilities^{}")
	}
	for _, ref := range refs {
		add(ref.Hash().String(), ref.Name().String())
		if tag, err := gitobject.GetTag(s.repo.st, ref.Hash()); err == nil && s.peel {
			add(tag.Target.String(), ref.Name().String()+"^{}")
		}
	}
	_ = e.Flush()
}

func (s *server) refs() []*plumbing.Reference {
	var out []*plumbing.Reference
	it, err := s.repo.st.IterReferences()
	must(s.repo.t, err)
	must(s.repo.t, it.ForEach(func(r *plumbing.Reference) error {
		if r.Type() == plumbing.HashReference {
			out = append(out, r)
		}
		return nil
	}))
	slices.SortFunc(out, func(a, b *plumbing.Reference) int { return strings.Compare(string(a.Name()), string(b.Name())) })
	return out
}

// wish is a request for a pack.
type wish struct {
	wants  []plumbing.Hash
	caps   string
	deepen bool
	filter string
}

func readWish(r io.Reader) wish {
	var out wish
	for in := pktline.NewScanner(bufio.NewReader(r)); in.Scan(); {
		word, rest, _ := strings.Cut(strings.TrimSpace(string(in.Bytes())), " ")
		switch word {
		case "want":
			id, caps, _ := strings.Cut(rest, " ")
			out.wants = append(out.wants, plumbing.NewHash(id))
			out.caps += caps
		case "deepen":
			out.deepen = true
		case "filter":
			out.filter = rest
		}
	}
	return out
}

func (s *server) upload(w io.Writer, body io.Reader) {
	ask := readWish(body)
	e := pktline.NewEncoder(w)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks++
	for _, want := range ask.wants {
		if !s.gives(want) {
			_ = e.Encodef("ERR upload-pack: not our ref %s", want)
			return
		}
	}
	if ask.deepen {
		for _, want := range ask.wants {
			_ = e.Encodef("shallow %s\n", want)
		}
		_ = e.Flush()
	}
	_ = e.EncodeString("NAK\n")
	out := w
	if strings.Contains(ask.caps, "side-band") {
		kind := sideband.Type(sideband.Sideband)
		if strings.Contains(ask.caps, "side-band-64k") {
			kind = sideband.Sideband64k
		}
		out = sideband.NewMuxer(kind, w)
		defer func() { _ = e.Flush() }()
	}
	c := collector{st: s.repo.st, ask: ask, seen: map[plumbing.Hash]bool{}}
	for _, want := range ask.wants {
		c.add(want, true)
	}
	if s.sent == nil {
		s.sent = map[string]bool{}
	}
	for _, h := range c.out {
		s.sent[h.String()] = true
	}
	if s.pack != nil {
		_, _ = out.Write(s.pack(c.out))
		return
	}
	_, err := packfile.NewEncoder(out, s.repo.st, false).Encode(c.out, 10)
	if err != nil {
		s.repo.t.Log("encode pack: ", err) // the client went away
	}
}

// gives says whether a hash may be asked for.
func (s *server) gives(h plumbing.Hash) bool {
	for _, r := range s.refs() {
		if r.Hash() == h {
			return true
		}
		if tag, err := gitobject.GetTag(s.repo.st, r.Hash()); err == nil && s.peel && tag.Target == h {
			return true
		}
	}
	o, err := s.repo.st.EncodedObject(plumbing.AnyObject, h)
	return err == nil && strings.Contains(s.caps, "allow-reachable") && (!s.commitsOnly || o.Type() == plumbing.CommitObject)
}

// collector lists objects for a pack.
type collector struct {
	st   storer.EncodedObjectStorer
	ask  wish
	seen map[plumbing.Hash]bool
	out  []plumbing.Hash
}

func (c *collector) add(h plumbing.Hash, wanted bool) {
	o, err := c.st.EncodedObject(plumbing.AnyObject, h)
	if err != nil || c.seen[h] {
		return
	}
	if !wanted && (o.Type() == plumbing.BlobObject && c.ask.filter != "" || o.Type() == plumbing.TreeObject && c.ask.filter == "tree:0") {
		return
	}
	c.seen[h] = true
	c.out = append(c.out, h)
	switch o.Type() {
	case plumbing.CommitObject:
		commit, _ := gitobject.DecodeCommit(c.st, o)
		c.add(commit.TreeHash, false)
		for _, p := range commit.ParentHashes {
			if !c.ask.deepen {
				c.add(p, false)
			}
		}
	case plumbing.TreeObject:
		tree, err := gitobject.GetTree(c.st, h)
		if err != nil {
			panic(fmt.Sprint("test tree: ", err))
		}
		for _, e := range tree.Entries {
			if e.Mode != filemode.Submodule {
				c.add(e.Hash, false)
			}
		}
	case plumbing.TagObject:
		tag, _ := gitobject.DecodeTag(c.st, o)
		c.add(tag.Target, false)
	}
}

// sentObject says whether the server ever gave an object away.
func (s *server) sentObject(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent[id]
}

// share serves a repository with all that git's own server can do.
func share(t testing.TB, r *repo) (string, *server) {
	s := &server{repo: r, caps: fullCaps, peel: true}
	return serve(t, s), s
}
