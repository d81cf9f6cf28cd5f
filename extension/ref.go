package extension

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// RefKind says where the code of an extension comes from.
type RefKind string

// The kinds of reference that this version knows. Others survive every round trip.
const (
	Builtin  RefKind = "builtin"  // compiled in: name, chaz_version
	Eidetica RefKind = "eidetica" // a release in a package document: name, db_id, version
	IPLD     RefKind = "ipld"     // content by CID: name, cid
	Git      RefKind = "git"      // a commit: name, repo, sha
)

// versionField names the field that is shown and compared as the version; "" for unknown kinds.
func (k RefKind) versionField() string {
	switch k {
	case Builtin:
		return "chaz_version"
	case Eidetica:
		return "version"
	case IPLD:
		return "cid"
	case Git:
		return "sha"
	}
	return ""
}

// Ref says which code an extension is, so that another peer can fetch and check the same. It is a
// JSON object tagged by "kind". A Ref is immutable; the zero value is no reference. Fields and kinds
// that this version does not know are kept as they are.
type Ref struct {
	_ [0]func() // use Equal: two refs with one meaning may be two values
	d *refData
}

type refData struct {
	text    string // canonical JSON
	kind    RefKind
	named   bool // there is a "name"
	name    string
	version string
}

// ParseRef reads the JSON form. It asks for an object with a non-empty string "kind" and, if there
// is a "name", that it is a string; everything else is for the loader of that kind to judge. The
// kind is read in any case and kept in lower case where it is known.
func ParseRef(text []byte) (Ref, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var fields map[string]any
	if err := dec.Decode(&fields); err != nil {
		return Ref{}, fmt.Errorf("parse extension reference: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Ref{}, errors.New("parse extension reference: more than one value")
	}
	return refOf(fields)
}

func refOf(fields map[string]any) (Ref, error) {
	kind, ok := fields["kind"].(string)
	if !ok || kind == "" {
		return Ref{}, errors.New(`parse extension reference: no "kind"`)
	}
	d := &refData{kind: RefKind(kind)}
	if known := RefKind(strings.ToLower(kind)); known.versionField() != "" {
		d.kind = known
		fields["kind"] = string(known)
	}
	var name any
	if name, d.named = fields["name"]; d.named {
		if d.name, ok = name.(string); !ok {
			return Ref{}, errors.New(`parse extension reference: "name" is not a string`)
		}
	}
	d.version, _ = fields[d.kind.versionField()].(string)
	text, err := crdt.Canonical(fields)
	if err != nil {
		return Ref{}, fmt.Errorf("parse extension reference: %w", err)
	}
	d.text = text
	return Ref{d: d}, nil
}

// mustRef is for refs made of strings only, which always have a JSON form.
func mustRef(fields map[string]any) Ref {
	r, err := refOf(fields)
	if err != nil {
		panic(err)
	}
	return r
}

// BuiltinRef names code that is compiled into a host of the given version.
func BuiltinRef(name, version string) Ref {
	return mustRef(map[string]any{"kind": string(Builtin), "name": name, "chaz_version": version})
}

// EideticaRef names a release in a package document.
func EideticaRef(name string, doc crdt.DocID, version string) Ref {
	return mustRef(map[string]any{"kind": string(Eidetica), "name": name, "db_id": doc.String(), "version": version})
}

// IPLDRef names content by its CID.
func IPLDRef(name, cid string) Ref {
	return mustRef(map[string]any{"kind": string(IPLD), "name": name, "cid": cid})
}

// GitRef names a commit of a repository by its full hash.
func GitRef(name, repo, sha string) Ref {
	return mustRef(map[string]any{"kind": string(Git), "name": name, "repo": repo, "sha": sha})
}

// IsZero reports whether there is no reference.
func (r Ref) IsZero() bool { return r.d == nil }

// Kind returns the kind; known ones in lower case.
func (r Ref) Kind() RefKind {
	if r.d == nil {
		return ""
	}
	return r.d.kind
}

// Name returns the name inside the reference, or "" if it holds none.
func (r Ref) Name() string {
	if r.d == nil {
		return ""
	}
	return r.d.name
}

// Fits reports whether the reference can be that of the extension called name: it holds that name or
// none at all, as a kind of the future may.
func (r Ref) Fits(name string) bool { return r.d != nil && (!r.d.named || r.d.name == name) }

// Version returns what is shown and compared as the version (the program's version, a release, a CID
// or a commit), or "" if unknown.
func (r Ref) Version() string {
	if r.d == nil {
		return ""
	}
	return r.d.version
}

// Field returns a field whose value is a string, or "".
func (r Ref) Field(name string) string {
	var fields map[string]json.RawMessage
	if r.d == nil || json.Unmarshal([]byte(r.d.text), &fields) != nil {
		return ""
	}
	var s string
	if json.Unmarshal(fields[name], &s) != nil {
		return ""
	}
	return s
}

// Equal reports structural equality: kind and all fields, also those this version does not know.
func (r Ref) Equal(o Ref) bool { return r.String() == o.String() }

// String returns the canonical JSON text; "" for no reference.
func (r Ref) String() string {
	if r.d == nil {
		return ""
	}
	return r.d.text
}

// MarshalJSON writes the canonical text, null for no reference.
func (r Ref) MarshalJSON() ([]byte, error) {
	if r.d == nil {
		return []byte("null"), nil
	}
	return []byte(r.d.text), nil
}

// UnmarshalJSON reads what [ParseRef] reads, and null as no reference.
func (r *Ref) UnmarshalJSON(b []byte) (err error) {
	if string(b) == "null" {
		*r = Ref{}
		return nil
	}
	*r, err = ParseRef(b)
	return err
}
