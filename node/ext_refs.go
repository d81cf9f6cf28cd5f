package node

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
)

// source is a reference as a person types it, without the extension's name.
type source struct {
	kind    extension.RefKind
	cid     string
	repo    string // with its fragment
	sha     string
	doc     crdt.DocID
	version string
	name    string // of "#name=…", for a module that does not say how it is called
}

// parseSource reads "ipld:CID[#name=N]", a CID, "git:REPO@SHA[#path=…|#wasm=…]" and "registry:DOC@VERSION".
func parseSource(text string) (source, bool, error) {
	scheme, rest, ok := strings.Cut(text, ":")
	switch {
	case !utf8.ValidString(text):
		return source{}, false, errors.New("it is not valid UTF-8")
	case ok && scheme == "ipld":
		s := source{kind: extension.IPLD}
		s.cid, s.name, _ = strings.Cut(rest, "#name=")
		if _, err := ipld.ParseID(s.cid); err != nil {
			return s, true, err
		}
		return s, true, nil
	case ok && scheme == "git":
		return parseGit(rest)
	case ok && scheme == "registry":
		doc, version, ok := strings.Cut(rest, "@")
		id, err := crdt.ParseDocID(doc)
		if err == nil && !ok {
			err = fmt.Errorf("registry:DOC@VERSION: the version is missing")
		}
		return source{kind: extension.Eidetica, doc: id, version: version}, true, err
	}
	if _, err := ipld.ParseID(text); err == nil {
		return source{kind: extension.IPLD, cid: text}, true, nil
	}
	return source{}, false, nil
}

// readSource is parseSource of a reference that can be loaded by its shape. A slip of who types is told as
// such, before anybody is asked for what can't be.
func (n *Node) readSource(text string) (source, bool, error) {
	s, isSource, err := parseSource(text)
	if err != nil || !isSource {
		return s, isSource, shorter(err)
	}
	switch ref := s.named("x"); s.kind {
	case extension.IPLD:
		err = n.loading.ipld.Check(ref)
	case extension.Git:
		err = n.loading.git.Check(ref)
	case extension.Eidetica:
		err = n.loading.registry.Check(ref)
	}
	return s, true, shorter(err)
}

// shorter leaves out of an error that it is one of what can never load: who typed it reads it.
func shorter(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.Replace(err.Error(), loaders.ErrInvalid.Error()+": ", "", 1))
}

func parseGit(rest string) (source, bool, error) {
	place, fragment, _ := strings.Cut(rest, "#")
	at := strings.LastIndex(place, "@")
	if at < 0 {
		return source{}, true, fmt.Errorf("git:REPOSITORY@COMMIT: the commit is missing")
	}
	s := source{kind: extension.Git, repo: place[:at], sha: place[at+1:]}
	s.repo = strings.TrimPrefix(s.repo, "file://")
	if fragment != "" {
		s.repo += "#" + fragment
	}
	return s, true, nil
}

// is reports whether a reference, of whatever name, points at the source.
func (s source) is(ref extension.Ref) bool {
	if ref.Kind() != s.kind {
		return false
	}
	switch s.kind {
	case extension.IPLD:
		return ref.Field("cid") == s.cid
	case extension.Git:
		return ref.Field("repo") == s.repo && ref.Field("sha") == s.sha
	}
	return ref.Field("db_id") == s.doc.String() && ref.Version() == s.version
}

// named makes the reference.
func (s source) named(name string) extension.Ref {
	switch s.kind {
	case extension.IPLD:
		return extension.IPLDRef(name, s.cid)
	case extension.Git:
		return extension.GitRef(name, s.repo, s.sha)
	}
	return extension.EideticaRef(name, s.doc, s.version)
}

// nameFromFile is how a bare module is called: as its file.
func nameFromFile(file string) string {
	base := strings.TrimSuffix(strings.ToLower(path.Base(file)), ".wasm")
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, base)
	return strings.TrimLeft(clean, "-_0123456789")
}
