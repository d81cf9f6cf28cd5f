package crdt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// testIdentity is the n-th of a fixed set of peers.
func testIdentity(n int) *Identity {
	var seed [32]byte
	binary.BigEndian.PutUint64(seed[:], uint64(n)+1)
	return newIdentity(seed)
}

// testRand is an endless stream of bytes that a seed fixes.
func testRand(seed uint64) io.Reader {
	var s [32]byte
	binary.BigEndian.PutUint64(s[:], seed)
	return rand.NewChaCha8(s)
}

// must unwraps constructors whose arguments are right by construction.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// sampleObjects is one object of each kind, of one document and from fixed keys.
func sampleObjects() []*Object {
	owner, admin, guest := testIdentity(0), testIdentity(1), testIdentity(2)
	rnd := testRand(1)
	genesis := must(owner.NewGenesis(Session, []PeerID{admin.PeerID()}, 1_700_000_000_000, rnd))
	doc := genesis.Doc
	invite := must(owner.NewInvite(doc, Invite{
		Parent: genesis.ID, Secret: Secret{1, 2, 3}.Hash(), Role: Write, Expiry: 1_800_000_000_000, MaxUses: 5,
	}, rnd))
	grant := must(owner.NewGrant(doc, Grant{
		Parent: genesis.ID, Subject: guest.PeerID(), Role: Write, Expiry: 1_900_000_000_000, Invite: invite.ID,
	}, rnd))
	public := must(owner.NewPublic(doc, genesis.ID, rnd))
	actor := guest.NewActor(doc, grant.ID, [16]byte{9})
	id := NewActorID(doc, guest.PeerID(), grant.ID, [16]byte{9})
	cut := []CutEntry{{Actor: id, Seq: 300, Hash: ChangeHash{7}}}
	return []*Object{
		genesis, invite, grant, public, actor,
		must(owner.NewRevocation(doc, grant.ID, PeerID{}, cut)),
		guest.NewLeave(doc, grant.ID),
		must(admin.NewEquivocation(doc, id, guest.PeerID(), 12,
			signedHash(guest, doc, id, 12, ChangeHash{2}), signedHash(guest, doc, id, 12, ChangeHash{1}))),
		unknownObject(owner, doc, "moderation", []byte{0xa0}),
	}
}

func signedHash(key *Identity, doc DocID, actor ActorID, seq uint64, h ChangeHash) SignedHash {
	return SignedHash{Hash: h, Sig: [64]byte(key.Sign(ChangeMessage(doc, actor, seq, h)))}
}

// signedObject makes an object of any bytes, with a good signature.
func signedObject(signer *Identity, s objSigned) []byte {
	s.Signer = signer.PeerID()
	env := objEnvelope{objSigned: s}
	copy(env.Sig[:], signer.Sign(must(s.message())))
	return must(objCBOR.enc.Marshal(&env))
}

func unknownObject(signer *Identity, doc DocID, kind string, body []byte) *Object {
	return must(ParseObject(signedObject(signer, objSigned{Version: 1, Kind: kind, Doc: doc[:], Body: body})))
}

func TestObjectsParseAsMade(t *testing.T) {
	kinds := map[string]bool{}
	for _, o := range sampleObjects() {
		got, err := ParseObject(o.Raw)
		if err != nil {
			t.Fatalf("%s: %v", o, err)
		}
		if !reflect.DeepEqual(got, o) {
			t.Errorf("%s reads as\n%+v, made as\n%+v", o, got, o)
		}
		kinds[o.Kind] = true
	}
	if len(kinds) != 9 {
		t.Errorf("%d kinds sampled, want 8 and an unknown one", len(kinds))
	}
}

// resign signs a body, as it is or edited one way, in the name of the sample document's owner, so
// that nothing but the edit can be the cause of a refusal.
func resign(kind string, body any) []byte {
	doc := sampleObjects()[0].Doc
	s := objSigned{Version: 1, Kind: kind, Doc: doc[:], Body: must(objCBOR.enc.Marshal(body))}
	if kind == ObjectGenesis {
		s.Doc = nil
	}
	return signedObject(testIdentity(0), s)
}

// sampleBody is a copy of the body of the sample of a kind.
func sampleBody[T any](kind string) T {
	objs := sampleObjects()
	i := slices.IndexFunc(objs, func(o *Object) bool { return o.Kind == kind })
	return *any(objs[i].Body).(*T)
}

func TestRightsRefusals(t *testing.T) {
	genesis, grant := sampleBody[Genesis](ObjectGenesis), sampleBody[Grant](ObjectGrant)
	invite, public := sampleBody[Invite](ObjectInvite), sampleBody[Public](ObjectPublic)
	for _, c := range []struct {
		name string
		raw  []byte
		want string // part of the error; empty: the positive control
	}{
		{"genesis", resign(ObjectGenesis, genesis), ""},
		{"genesis of an unknown kind", resign(ObjectGenesis, with(genesis, func(g *Genesis) { g.Kind = "diary" })), "unknown document kind"},
		{"genesis without owners", resign(ObjectGenesis, with(genesis, func(g *Genesis) { g.Owners = nil })), "0 owners"},
		{"genesis with 16 owners", resign(ObjectGenesis, with(genesis, func(g *Genesis) { g.Owners = testPeers(16) })), ""},
		{"genesis with 17 owners", resign(ObjectGenesis, with(genesis, func(g *Genesis) { g.Owners = testPeers(17) })), "17 owners"},
		{"genesis by another", resign(ObjectGenesis, with(genesis, func(g *Genesis) { g.Owners = testPeers(3)[1:] })), "not the signer"},
		{"genesis naming one twice", resign(ObjectGenesis, with(genesis, func(g *Genesis) { g.Owners = append(testPeers(2), testPeers(1)...) })), "twice"},
		{"genesis before 1970", resign(ObjectGenesis, with(genesis, func(g *Genesis) { g.Created = -1 })), "outside"},
		{"grant", resign(ObjectGrant, grant), ""},
		{"grant without subject", resign(ObjectGrant, with(grant, func(g *Grant) { g.Subject = PeerID{} })), "no subject"},
		{"grant of admin", resign(ObjectGrant, with(grant, func(g *Grant) { g.Role = Admin })), ""},
		{"grant of owner", resign(ObjectGrant, with(grant, func(g *Grant) { g.Role = Owner })), "can't be given"},
		{"grant of nothing", resign(ObjectGrant, with(grant, func(g *Grant) { g.Role = NoRole })), "can't be given"},
		{"grant expiring before 1970", resign(ObjectGrant, with(grant, func(g *Grant) { g.Expiry = -5 })), "expiry"},
		{"invite", resign(ObjectInvite, invite), ""},
		{"invite for nobody", resign(ObjectInvite, with(invite, func(i *Invite) { i.MaxUses = 0 })), "0 uses"},
		{"invite as owner", resign(ObjectInvite, with(invite, func(i *Invite) { i.Role = Owner })), "can't be given"},
		{"public", resign(ObjectPublic, public), ""},
		{"public to write", resign(ObjectPublic, with(public, func(p *Public) { p.Role = Write })), "can't be given"},
	} {
		t.Run(c.name, func(t *testing.T) { checkRefusal(t, c.raw, c.want) })
	}
}

func TestEndsRefusals(t *testing.T) {
	doc, other := sampleObjects()[0].Doc, testIdentity(2).PeerID()
	revocation, proof := sampleBody[Revocation](ObjectRevocation), sampleBody[Equivocation](ObjectEquivocation)
	for _, c := range []struct {
		name string
		raw  []byte
		want string // part of the error; empty: the positive control
	}{
		{"revocation", resign(ObjectRevocation, revocation), ""},
		{"revocation with an empty cut", resign(ObjectRevocation, with(revocation, func(r *Revocation) { r.Cut = nil })), ""},
		{"revocation of a grant with subject", resign(ObjectRevocation, with(revocation, func(r *Revocation) { r.Subject = other })), "if and only if"},
		{"revocation of no owner", resign(ObjectRevocation, with(revocation, func(r *Revocation) { r.Target = ObjectID(doc) })), "if and only if"},
		{"cut at 0", resign(ObjectRevocation, with(revocation, func(r *Revocation) { r.Cut = []CutEntry{{}} })), "sequence number 0"},
		{"cut in disorder", resign(ObjectRevocation, with(revocation, func(r *Revocation) {
			r.Cut = []CutEntry{{Actor: ActorID{2}, Seq: 1}, {Actor: ActorID{1}, Seq: 1}}
		})), "actor order"},
		{"cut of one actor twice", resign(ObjectRevocation, with(revocation, func(r *Revocation) {
			r.Cut = []CutEntry{{Actor: ActorID{2}, Seq: 1}, {Actor: ActorID{2}, Seq: 2}}
		})), "actor order"},
		{"proof", resign(ObjectEquivocation, proof), ""},
		{"proof at another number", resign(ObjectEquivocation, with(proof, func(e *Equivocation) { e.Seq++ })), "not the actor's"},
		{"proof against another", resign(ObjectEquivocation, with(proof, func(e *Equivocation) { e.Key = testIdentity(0).PeerID() })), "not the actor's"},
		{"proof by one change", resign(ObjectEquivocation, with(proof, func(e *Equivocation) { e.B = e.A })), "equal or not in order"},
		{"proof in disorder", resign(ObjectEquivocation, with(proof, func(e *Equivocation) { e.A, e.B = e.B, e.A })), "equal or not in order"},
		{"a field more", resign(ObjectLeave, map[int]any{1: ObjectID{5}, 2: 1}), "unknown field"},
		{"a field less", resign(ObjectLeave, map[int]any{}), "not canonical"},
		{"leave", resign(ObjectLeave, map[int]any{1: ObjectID{5}}), ""},
		{"a short id", resign(ObjectLeave, map[int]any{1: make([]byte, 31)}), "not"},
		{"a long id", resign(ObjectLeave, map[int]any{1: make([]byte, 33)}), "not"},
		{"an id as text", resign(ObjectLeave, map[int]any{1: strings.Repeat("a", 32)}), "not the expected"},
		{"a null", resign(ObjectLeave, map[int]any{1: nil}), "not"},
	} {
		t.Run(c.name, func(t *testing.T) { checkRefusal(t, c.raw, c.want) })
	}
}

func TestEnvelopeRefusals(t *testing.T) {
	owner := testIdentity(0)
	genesis := sampleObjects()[0]
	good := objSigned{Version: 1, Kind: "note", Doc: genesis.Doc[:], Body: []byte("anything")}
	raw := signedObject(owner, good)
	flip := func(i int) []byte {
		b := bytes.Clone(raw)
		b[i] ^= 1
		return b
	}
	var fields map[int]any
	if err := cbor.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	loose := must(must(cbor.EncOptions{Sort: cbor.SortNone}.EncMode()).Marshal(struct { // fields in disorder
		Body    []byte   `cbor:"5,keyasint"`
		Version int      `cbor:"1,keyasint"`
		Kind    string   `cbor:"2,keyasint"`
		Doc     []byte   `cbor:"3,keyasint"`
		Signer  PeerID   `cbor:"4,keyasint"`
		Sig     [64]byte `cbor:"6,keyasint"`
	}{good.Body, 1, "note", good.Doc, owner.PeerID(), [64]byte(fields[6].([]byte))}))
	for _, c := range []struct {
		name string
		raw  []byte
		want string
	}{
		{"unknown kind", raw, ""},
		{"version 2", signedObject(owner, with(good, func(s *objSigned) { s.Version = 2 })), "version 2"},
		{"kind in capitals", signedObject(owner, with(good, func(s *objSigned) { s.Kind = "Note" })), "no word"},
		{"no kind", signedObject(owner, with(good, func(s *objSigned) { s.Kind = "" })), "no word"},
		{"a short document id", signedObject(owner, with(good, func(s *objSigned) { s.Doc = s.Doc[:31] })), "31 bytes"},
		{"genesis with a document id", signedObject(owner, with(good, func(s *objSigned) { s.Kind = ObjectGenesis })), "32 bytes"},
		{"16 KiB", signedObject(owner, with(good, func(s *objSigned) { s.Body = make([]byte, MaxObject-len(raw)+len(s.Body)-2) })), ""},
		{"over 16 KiB", signedObject(owner, with(good, func(s *objSigned) { s.Body = make([]byte, MaxObject) })), "the limit"},
		{"an edited body", flip(bytes.Index(raw, good.Body)), "signature"},
		{"an edited signature", flip(len(raw) - 1), "signature"},
		{"truncated", raw[:len(raw)-1], "not the expected"},
		{"a byte more", append(bytes.Clone(raw), 0), "not the expected"},
		{"nothing", nil, "not the expected"},
		{"fields in disorder", loose, "not canonical"},
		{"a tag", append([]byte{0xc1}, raw...), "not the expected"},
		{"endless map", append(append([]byte{0xbf}, raw[1:]...), 0xff), "not the expected"},
	} {
		t.Run(c.name, func(t *testing.T) { checkRefusal(t, c.raw, c.want) })
	}
}

func checkRefusal(t *testing.T, raw []byte, want string) {
	t.Helper()
	o, err := ParseObject(raw)
	switch {
	case want == "" && err != nil:
		t.Errorf("positive control refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted as %+v", o)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused with %q, want a mention of %q", err, want)
	}
}

func with[T any](v T, edit func(*T)) T {
	edit(&v)
	return v
}

func testPeers(n int) []PeerID {
	out := make([]PeerID, n)
	for i := range out {
		out[i] = testIdentity(i).PeerID()
	}
	return out
}

func TestConstructorsRefuse(t *testing.T) {
	owner := testIdentity(0)
	doc := sampleObjects()[0].Doc
	if _, err := owner.NewGrant(doc, Grant{Parent: ObjectID(doc), Subject: testIdentity(1).PeerID(), Role: Owner}, testRand(1)); err == nil {
		t.Error("a grant of ownership was made")
	}
	if _, err := owner.NewGrant(doc, Grant{Subject: testIdentity(1).PeerID(), Role: Read}, bytes.NewReader(nil)); err == nil {
		t.Error("a grant was made without a nonce")
	}
	cut := make([]CutEntry, 1000)
	for i := range cut {
		binary.BigEndian.PutUint64(cut[i].Actor[:], uint64(i))
		cut[i].Seq = 1 << 40
	}
	if _, err := owner.NewRevocation(doc, ObjectID{1}, PeerID{}, cut); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("a revocation with %d cuts: %v", len(cut), err)
	}
	if _, err := owner.NewRevocation(doc, ObjectID{1}, PeerID{}, cut[:250]); err != nil {
		t.Errorf("a revocation with 250 cuts: %v", err)
	}
	a := signedHash(owner, doc, ActorID{}, 1, ChangeHash{1})
	if _, err := owner.NewEquivocation(doc, ActorID{}, owner.PeerID(), 1, a, a); err == nil {
		t.Error("a proof of nothing was made")
	}
}

// FuzzParseObject: no bytes panic, and what is accepted is the one encoding of what was read.
func FuzzParseObject(f *testing.F) {
	for _, o := range sampleObjects() {
		f.Add(o.Raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := ParseObject(raw)
		if err != nil {
			return
		}
		if !bytes.Equal(o.Raw, raw) {
			t.Fatalf("%x reads as %x", raw, o.Raw)
		}
		_ = Resolve(o.Doc, []*Object{o, sampleObjects()[0]}).Members()
	})
}

// FuzzObjectBody gets behind the signature: any body, well signed.
func FuzzObjectBody(f *testing.F) {
	doc := sampleObjects()[0].Doc
	for _, o := range sampleObjects() {
		var env objEnvelope
		if err := objCBOR.decode(o.Raw, &env); err != nil {
			f.Fatal(err)
		}
		f.Add(env.Kind, env.Body)
	}
	owner := testIdentity(0)
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		s := objSigned{Version: 1, Kind: kind, Doc: doc[:], Body: body}
		if kind == ObjectGenesis {
			s.Doc = nil
		}
		if len(body) > MaxObject || strings.ToValidUTF8(kind, "") != kind {
			return
		}
		o, err := ParseObject(signedObject(owner, s))
		if err != nil {
			return
		}
		if o.Body != nil && !bytes.Equal(must(objCBOR.enc.Marshal(o.Body)), body) {
			t.Fatalf("%s: %x reads as %+v", kind, body, o.Body)
		}
		_ = fmt.Sprint(Resolve(o.Doc, append(sampleObjects(), o)).Members())
	})
}
