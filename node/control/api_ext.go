package control

import "encoding/json"

// An extension is named by the ref field of these calls: its name in Session, a CID, "ipld:CID",
// "git:REPO@SHA[#path=…]", "registry:DOC@VERSION", the key of content that is here, or a prefix of the
// key (or of the module's SHA-256) of at least 8 hex digits.
//
// The key of content is 64 hex digits of the manifest's SHA-256, a dot, and 64 of the module's.

// ExtPackParams packs a folder or a single module into the block store. Path is absolute. Profile
// says how files are cut into blocks: empty for the default, or v1-2025, or v0-2015.
type ExtPackParams struct {
	Path    string `json:"path"`
	Profile string `json:"profile,omitempty"`
}

// ExtPacked is a package that was packed. Root is the CID of the package and Module that of the module
// in it; they are equal when a bare module was packed.
type ExtPacked struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Root       string `json:"root"`
	Module     string `json:"module"`
	Ref        string `json:"ref"` // as trust and show take it: ipld:ROOT
	Key        string `json:"key"`
	WASMSHA256 string `json:"wasm_sha256"`
	Size       int64  `json:"size"`   // of the module, in bytes
	Blocks     int    `json:"blocks"` // of the whole package
}

// ExtPublishParams writes a release into a package document: of a folder or module (Path, absolute) or
// of a package that is here (CID); exactly one of the two. Doc is the id or local name of the document;
// empty makes one, called Name here. Version empty: the one in the manifest. Private counts only when
// the document is made: it is then readable by its members alone.
type ExtPublishParams struct {
	Path    string `json:"path,omitempty"`
	CID     string `json:"cid,omitempty"`
	Doc     string `json:"doc,omitempty"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	Private bool   `json:"private,omitempty"`
}

// ExtPublished is a fresh release. Made says that the document is new.
type ExtPublished struct {
	Doc     string `json:"doc"`
	Name    string `json:"name"`
	Version string `json:"version"`
	CID     string `json:"cid"`
	Ref     string `json:"ref"` // registry:DOC@VERSION
	Made    bool   `json:"made"`
}

// ExtYankParams withdraws a release: it stays readable, and is not resolved any more.
type ExtYankParams struct {
	Doc     string `json:"doc"`
	Version string `json:"version"`
	Reason  string `json:"reason,omitempty"`
}

// ExtReleasesParams names a package document.
type ExtReleasesParams struct {
	Doc string `json:"doc"`
}

// ExtRelease is one release of a package document.
type ExtRelease struct {
	Version string `json:"version"`
	CID     string `json:"cid"`
	Ref     string `json:"ref"`
	At      Time   `json:"at"`
	By      string `json:"by"` // peer id
	ByName  string `json:"by_name"`
	Yanked  bool   `json:"yanked"`
	Reason  string `json:"reason"` // of the yank
	// BytesHere: the whole package is stored on this peer.
	BytesHere bool `json:"bytes_here"`
}

// ExtShowParams asks for the card of an extension. Session (may be empty) resolves a name, says whose
// peers are asked for missing bytes, and for which session the state is told. Outside allows to contact
// a host that is no peer of the session, such as a git server.
type ExtShowParams struct {
	Ref     string `json:"ref"`
	Session string `json:"session,omitempty"`
	Outside bool   `json:"outside,omitempty"`
}

// ExtPendingParams lists what waits for a decision: in one session or (empty) in all.
type ExtPendingParams struct {
	Session string `json:"session,omitempty"`
}

// ExtSession is a session that has an extension on.
type ExtSession struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ExtPending is one reference that waits for a decision. State is pending, needs_review or unavailable.
type ExtPending struct {
	Name      string           `json:"name"`
	Ref       json.RawMessage  `json:"ref"`      // the object with "kind"
	RefText   string           `json:"ref_text"` // the one-line form
	Sessions  List[ExtSession] `json:"sessions"` // that have it on
	By        string           `json:"by"`       // the peer that switched it on, id
	ByName    string           `json:"by_name"`  // what it is called here; may be empty
	At        Time             `json:"at"`
	BytesHere bool             `json:"bytes_here"`
	State     string           `json:"state"`
	Reason    string           `json:"reason"`
}

// ExtTrustParams lets content run: in Session alone, or in every session with Everywhere, where Session
// (may then be empty) only resolves a name and says whose peers are asked.
//
// Of the powers that the extension asks for it gets those in Caps (spelled as in [ExtPower]; a host that
// a wildcard of the request covers, or a smaller number, is fine), or all with AllRequested, or none with
// NoCaps. One of the three is needed when it asks for any.
//
// SHA256 names the content that was looked at: the SHA-256 of the module (64 hex digits) or the whole
// key. Other content behind Ref is [CodeConflict].
type ExtTrustParams struct {
	Ref          string       `json:"ref"`
	Session      string       `json:"session,omitempty"`
	Everywhere   bool         `json:"everywhere,omitempty"`
	Caps         List[string] `json:"caps,omitempty"`
	AllRequested bool         `json:"all_requested,omitempty"`
	NoCaps       bool         `json:"no_caps,omitempty"`
	SHA256       string       `json:"sha256"`
	// Publisher: later versions that the same publisher signs, and that ask for no more, are trusted
	// without a question.
	Publisher bool `json:"publisher,omitempty"`
	// Mounts binds the folder ids that it asks for to absolute folders of this machine.
	Mounts  map[string]string `json:"mounts,omitempty"`
	Outside bool              `json:"outside,omitempty"`
}

// ExtTrusted is what may run now, and where. State is trusted, or why it does not run all the same:
// the policy of this peer goes before a decision.
type ExtTrusted struct {
	Name       string           `json:"name"`
	Key        string           `json:"key"`
	State      string           `json:"state"`
	Reason     string           `json:"reason"`
	Everywhere bool             `json:"everywhere"`
	Sessions   List[ExtSession] `json:"sessions"`
	Caps       List[ExtPower]   `json:"caps"` // granted
}

// ExtDecideParams names what is denied, or not trusted any more. Session empty: in all sessions.
type ExtDecideParams struct {
	Ref     string `json:"ref"`
	Session string `json:"session,omitempty"`
}

// ExtAffected is which sessions have the extension on and lose it by the decision.
type ExtAffected struct {
	Name     string           `json:"name"`
	Key      string           `json:"key"` // empty: the bytes were never here
	Sessions List[ExtSession] `json:"sessions"`
}

// ExtListParams has no fields.
type ExtListParams struct{}

// ExtHere is one content that was decided on or is loaded here.
type ExtHere struct {
	Name       string           `json:"name"`
	Version    string           `json:"version"`
	Ref        json.RawMessage  `json:"ref"`
	RefText    string           `json:"ref_text"`
	Key        string           `json:"key"`
	State      string           `json:"state"`
	Reason     string           `json:"reason"`
	Everywhere bool             `json:"everywhere"`
	Sessions   List[ExtSession] `json:"sessions"` // where it is trusted or denied
	Caps       List[ExtPower]   `json:"caps"`     // granted
	Since      Time             `json:"since"`    // of the decision
	Instances  int              `json:"instances"`
}

// ExtExportParams gives a package out as a CAR file: one root, no block too many, the same bytes every
// time.
type ExtExportParams struct {
	Ref     string `json:"ref"`
	Session string `json:"session,omitempty"` // resolves a name
}

// ExtExported ends an export.
type ExtExported struct {
	Name   string `json:"name"`
	Root   string `json:"root"`
	Blocks int    `json:"blocks"`
	Bytes  int64  `json:"bytes"`
}

// ExtImportParams takes a CAR file in, whole or not at all. Size is its length for the progress, 0 if
// unknown. What comes in is not trusted by that.
type ExtImportParams struct {
	Size int64 `json:"size,omitempty"`
}

// ExtImported is the package that came in.
type ExtImported struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Root    string `json:"root"`
	Ref     string `json:"ref"` // ipld:ROOT
	Key     string `json:"key"`
	Blocks  int    `json:"blocks"`
	Size    int64  `json:"size"` // of the module, in bytes
	State   string `json:"state"`
}

// ExtAuditParams asks for the N newest events of the journal; 0 is all that are kept.
type ExtAuditParams struct {
	N int `json:"n,omitempty"`
}

// ExtEvent is one event of the journal, which this peer alone keeps. Session is empty for an event of
// the whole peer.
type ExtEvent struct {
	At          Time   `json:"at"`
	What        string `json:"what"` // one word: trusted, denied, untrusted, loaded, refused, fetched, …
	Name        string `json:"name"`
	Key         string `json:"key"`
	Ref         string `json:"ref"` // the one-line form
	Session     string `json:"session"`
	SessionName string `json:"session_name"`
	Detail      string `json:"detail"`
}

// ExtGCParams drops blocks that no session names and no decision trusts. DryRun drops nothing and
// counts.
type ExtGCParams struct {
	DryRun bool `json:"dry_run,omitempty"`
}

// ExtCollected is what was dropped, or would be, and the roots that stay.
type ExtCollected struct {
	DryRun bool         `json:"dry_run"`
	Blocks int          `json:"blocks"`
	Bytes  int64        `json:"bytes"`
	Kept   List[string] `json:"kept"` // CIDs
}

// ExtLogsParams asks for what an extension has written in a session, the N newest lines (0: all that
// are kept).
type ExtLogsParams struct {
	Session string `json:"session"`
	Name    string `json:"name"`
	N       int    `json:"n,omitempty"`
}

// ExtLogLine is one line, oldest first in a list. Level is trace, debug, info, warn, error, stdout or
// stderr.
type ExtLogLine struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}
