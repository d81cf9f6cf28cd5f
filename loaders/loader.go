package loaders

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Errors that a [Loader] wraps. Any other error is a failure of this machine and may pass.
var (
	// ErrMissing: some bytes are not here (Load) or nobody who was asked has them (Fetch).
	ErrMissing = errors.New("not here")
	// ErrInvalid: the reference or the bytes behind it can never load; the message says which check
	// failed.
	ErrInvalid = errors.New("invalid")
	// ErrConsent: the bytes can only be had from outside the peers of the session, and that was not
	// allowed.
	ErrConsent = errors.New("needs leave to contact the outside")
)

// Loader finds, fetches and verifies the code behind references of one kind. Safe for concurrent use.
type Loader interface {
	Kind() extension.RefKind
	// Check judges the shape of a reference without any input or output; an error wraps ErrInvalid.
	Check(ref extension.Ref) error
	// Load reads and verifies the package from bytes of this machine alone. It re-hashes everything at
	// every call, also what it has read before.
	Load(ctx context.Context, ref extension.Ref) (*Package, error)
	// Fetch brings the missing bytes here, from peers first. Nothing of it runs or is trusted by that.
	Fetch(ctx context.Context, ref extension.Ref, from From) error
}

// From says where a [Loader] may look for bytes.
type From struct {
	// Doc is the document whose peers may be asked: the session that names the reference.
	Doc crdt.DocID
	// Outside allows to contact hosts that are not peers of Doc, such as a git server.
	Outside bool
	// Progress is told of bytes received; nil is nobody. total is 0 where it is not known.
	Progress func(done, total int64)
}

// Package is verified code with what it says about itself.
type Package struct {
	Ref      extension.Ref
	Manifest *Manifest
	// WASM is one core module.
	WASM []byte
	// Root is the CID of the package or module in the block store; empty for git.
	Root string
	// Signed says that Manifest.Publisher's signature was checked and holds.
	Signed bool
	// Yanked says why the publisher withdrew this release; empty where he did not.
	Yanked string

	sum moduleSum // of WASM, since CheckPackage
}

// moduleSum is a hash with the bytes that it was made of: a package whose module was replaced is hashed
// again.
type moduleSum struct {
	of  []byte
	sum [32]byte
}

// wasmSum is the SHA-256 of the module. A module has megabytes, and its hash is asked for at every step
// of a load.
func (p *Package) wasmSum() [32]byte {
	if s := &p.sum; len(s.of) > 0 && len(s.of) == len(p.WASM) && &s.of[0] == &p.WASM[0] {
		return s.sum
	}
	return sha256.Sum256(p.WASM)
}

// Key names content: what the code says about itself and the code. The same package by CID, by commit
// and by release has one key.
type Key struct {
	Manifest [32]byte // SHA-256 of Manifest.Content
	WASM     [32]byte // SHA-256 of the module
}

// Key returns the content key.
func (p *Package) Key() Key {
	return Key{Manifest: sha256.Sum256(p.Manifest.Content()), WASM: p.wasmSum()}
}

// String is the text form: 64 hex digits of each half joined by a dot.
func (k Key) String() string {
	return hex.EncodeToString(k.Manifest[:]) + "." + hex.EncodeToString(k.WASM[:])
}
