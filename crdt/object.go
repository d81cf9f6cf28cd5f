package crdt

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"log/slog"
)

// Limits of access objects.
const (
	MaxObject  = 16 << 10 // bytes of one object
	MaxObjects = 4096     // objects of one document; whoever stores them sees to it
	MaxOwners  = 16       // owners that a genesis names
	MaxUses    = 1 << 20  // uses of one invite
	// MaxDepth is the longest chain of grants below an owner. It keeps what a peer must show to be
	// admitted (genesis, grants, invite) within eight objects.
	MaxDepth = 6
)

// The kinds of access object. Others may be invented later: they are kept and forwarded.
const (
	ObjectGenesis      = "genesis"
	ObjectGrant        = "grant"
	ObjectRevocation   = "revocation"
	ObjectLeave        = "leave"
	ObjectInvite       = "invite"
	ObjectPublic       = "public"
	ObjectActor        = "actor"
	ObjectEquivocation = "equivocation"
)

// Object is one signed, self-certifying statement of a document's access log. It never changes
// after it was made or parsed.
type Object struct {
	// ID is the SHA-256 of the signed bytes. That of the genesis is the DocID.
	ID     ObjectID
	Kind   string
	Doc    DocID
	Signer PeerID
	Raw    []byte // as stored and sent
	// Body is *Genesis, *Grant, *Revocation, *Leave, *Invite, *Public, *ActorDecl or
	// *Equivocation, and nil for a kind that this version does not know.
	Body any
}

// objectDomain goes before the signed fields, so that no other signature passes for an object's.
const objectDomain = "chaz/object/v1\x00"

const (
	objectVersion = 1
	maxObjectKind = 32 // characters of a kind
)

// objSigned is the part of the envelope that is signed, objEnvelope the whole.
type objSigned struct {
	Version uint64 `cbor:"1,keyasint"`
	Kind    string `cbor:"2,keyasint"`
	Doc     []byte `cbor:"3,keyasint"` // empty in a genesis, whose id it would be
	Signer  PeerID `cbor:"4,keyasint"`
	Body    []byte `cbor:"5,keyasint"`
}

type objEnvelope struct {
	objSigned
	Sig [ed25519.SignatureSize]byte `cbor:"6,keyasint"`
}

// message is what the signer signs and what the id is the hash of.
func (s *objSigned) message() ([]byte, error) {
	b, err := objCBOR.enc.Marshal(s)
	if err != nil {
		return nil, err
	}
	return append([]byte(objectDomain), b...), nil
}

// ParseObject reads an access object from hostile bytes: size, strict canonical form, body,
// signature. What the object is worth among the others is for [Resolve] to say. It keeps no
// reference to raw.
func ParseObject(raw []byte) (*Object, error) {
	if len(raw) > MaxObject {
		return nil, fmt.Errorf("parse access object: %d bytes, the limit is %d", len(raw), MaxObject)
	}
	var env objEnvelope
	if err := objCBOR.decode(raw, &env); err != nil {
		return nil, fmt.Errorf("parse access object: %w", err)
	}
	if env.Version != objectVersion {
		return nil, fmt.Errorf("parse access object: version %d, this program knows %d", env.Version, objectVersion)
	}
	msg, err := env.message()
	if err != nil {
		return nil, fmt.Errorf("parse access object: %w", err)
	}
	o, err := env.object(msg)
	if err != nil {
		return nil, fmt.Errorf("parse access object: %w", err)
	}
	if !ed25519.Verify(o.Signer.Key(), msg, env.Sig[:]) {
		return nil, fmt.Errorf("parse access object: the signature is not %s's", o.Signer.Short())
	}
	o.Raw = append([]byte(nil), raw...)
	return o, nil
}

// object checks everything but the signature.
func (s *objSigned) object(msg []byte) (*Object, error) {
	if !objKindOK(s.Kind) {
		return nil, fmt.Errorf("kind %q is no word of at most %d characters a–z, 0–9, _", clip(s.Kind), maxObjectKind)
	}
	o := &Object{ID: sha256.Sum256(msg), Kind: s.Kind, Signer: s.Signer}
	switch {
	case s.Kind == ObjectGenesis && len(s.Doc) == 0:
		o.Doc = DocID(o.ID)
	case s.Kind != ObjectGenesis && len(s.Doc) == len(o.Doc):
		o.Doc = DocID(s.Doc)
	default:
		return nil, fmt.Errorf("%s with a document id of %d bytes", s.Kind, len(s.Doc))
	}
	body := objNewBody(s.Kind)
	if body == nil {
		return o, nil
	}
	if err := objCBOR.decode(s.Body, body); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Kind, err)
	}
	if err := body.check(o); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Kind, err)
	}
	o.Body = body
	return o, nil
}

func objKindOK(kind string) bool {
	for i := range len(kind) {
		c := kind[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return kind != "" && len(kind) <= maxObjectKind
}

func (o *Object) String() string {
	return fmt.Sprintf("%s %s by %s", o.Kind, o.ID.String()[:10], o.Signer.Short())
}

// LogValue implements [slog.LogValuer]: names, not bytes.
func (o *Object) LogValue() slog.Value { return slog.StringValue(o.String()) }
