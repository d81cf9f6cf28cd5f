package registry

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/mod/semver"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Store is the record store of a package document: version → [Release].
const Store = "releases"

// Release is one version of a package.
type Release struct {
	Version string `json:"-"`
	CID     string `json:"cid"`
	SHA256  string `json:"sha256,omitempty"` // of the module, in hex; checked when it is there
	At      int64  `json:"at"`               // ms, by the publisher's clock
	Note    string `json:"note,omitempty"`   // one line
	// Yanked says why it was withdrawn; empty: it was not.
	Yanked string `json:"yanked,omitempty"`
	// By is who wrote the record as it stands; read only.
	By crdt.PeerID `json:"-"`
}

// maxNote bounds a note and a reason, in characters.
const maxNote = 200

// CheckVersion reports why a text is no version: it must be a full semantic version, without "v".
func CheckVersion(version string) error {
	v := "v" + version
	if len(version) > 64 || !semver.IsValid(v) || semver.Canonical(v)+semver.Build(v) != v {
		return fmt.Errorf("version %.80q: want a semantic version such as 1.2.3", version)
	}
	return nil
}

func (r Release) check() error {
	if err := CheckVersion(r.Version); err != nil {
		return err
	}
	sum, err := hex.DecodeString(r.SHA256)
	switch {
	case !cidLike(r.CID):
		return fmt.Errorf("version %s: %.80q is no CID", r.Version, r.CID)
	case r.SHA256 != "" && (err != nil || len(sum) != 32 || strings.ToLower(r.SHA256) != r.SHA256):
		return fmt.Errorf("version %s: sha256: want 64 lower-case hex digits", r.Version)
	}
	return nil
}

func cidLike(s string) bool {
	return s != "" && len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// Publish adds a release. A version that is there already is left alone if it is the same package, and an
// error if it is another: what people have trusted under a version must not change. It needs the role
// write.
func Publish(tx *crdt.Tx, r Release) error {
	if tx.Kind() != crdt.Package {
		return fmt.Errorf("publish release: the document is a %s, not a package", tx.Kind())
	}
	r.Note, r.Yanked = oneLine(r.Note), ""
	if err := r.check(); err != nil {
		return fmt.Errorf("publish release: %w", err)
	}
	old, there, err := Find(tx.View, r.Version)
	switch {
	case err != nil:
		return fmt.Errorf("publish release: version %s is there and can't be read: %w", r.Version, err)
	case there && old.CID == r.CID && (old.SHA256 == r.SHA256 || r.SHA256 == ""):
		return nil
	case there:
		return fmt.Errorf("publish release: version %s is published already, with other content; take another number", r.Version)
	}
	if r.At == 0 {
		r.At = tx.Now()
	}
	return tx.Set(Store, r.Version, r)
}

// Yank withdraws a release: who trusts it may go on, nobody trusts it anew. Fields that this version does
// not know stay. Yanking twice replaces the reason.
func Yank(tx *crdt.Tx, version, reason string) error {
	if _, there, err := Find(tx.View, version); err != nil || !there {
		return cmp.Or(err, fmt.Errorf("yank release: there is no version %.80q", version))
	}
	text, _ := tx.Record(Store, version)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return fmt.Errorf("yank release: %w", err)
	}
	if reason = oneLine(reason); reason == "" {
		reason = "withdrawn"
	}
	why, err := json.Marshal(reason)
	if err != nil {
		return fmt.Errorf("yank release: %w", err)
	}
	fields["yanked"] = why
	return tx.Set(Store, version, fields)
}

// Find reads one release. One that is there but can't be read is an error.
func Find(v *crdt.View, version string) (Release, bool, error) {
	text, there := v.Record(Store, version)
	if !there {
		return Release{}, false, nil
	}
	r, err := ParseRelease(version, text)
	if err != nil {
		return r, true, fmt.Errorf("read release: %w", err)
	}
	r.By, _ = v.RecordAuthor(Store, version)
	return r, true, nil
}

// Releases lists what can be read of the releases, the newest version first.
func Releases(v *crdt.View) []Release {
	var out []Release
	for version := range v.Records(Store) {
		if r, _, err := Find(v, version); err == nil {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Release) int {
		// Versions that differ in build metadata alone are equal to semver.
		return cmp.Or(semver.Compare("v"+b.Version, "v"+a.Version), cmp.Compare(b.Version, a.Version))
	})
	return out
}

// ParseRelease reads the JSON text of a record, which any member may have written. Keys of later versions
// are let be.
func ParseRelease(version, text string) (Release, error) {
	var fields map[string]json.RawMessage
	if err := extension.CheckJSON([]byte(text)); err != nil {
		return Release{}, err
	}
	if err := json.Unmarshal([]byte(text), &fields); err != nil || fields == nil {
		return Release{}, errors.New("it is no object")
	}
	r := Release{Version: version}
	for key, into := range map[string]any{"cid": &r.CID, "sha256": &r.SHA256, "at": &r.At, "note": &r.Note, "yanked": &r.Yanked} {
		if value, there := fields[key]; there && json.Unmarshal(value, into) != nil {
			return Release{}, fmt.Errorf("%s has another form", key)
		}
	}
	r.Note, r.Yanked = oneLine(r.Note), oneLine(r.Yanked)
	return r, r.check()
}

func oneLine(s string) string {
	return extension.VisibleText(strings.Join(strings.Fields(extension.VisibleText(s, maxNote)), " "), maxNote)
}
