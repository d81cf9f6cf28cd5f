package ipld

import (
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multibase"
	"github.com/multiformats/go-multihash"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// named is the CID of a fixed text under a codec and a hash function.
func named(t testing.TB, codec, hash uint64, length int) cid.Cid {
	t.Helper()
	h, err := multihash.Sum([]byte("the same text"), hash, length)
	if err != nil {
		t.Fatal(err)
	}
	return cid.NewCidV1(codec, h)
}

func TestGateLetsIn(t *testing.T) {
	v1 := named(t, cid.Raw, multihash.SHA2_256, -1)
	base58, err := v1.StringOfBase(multibase.Base58BTC)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"sha2-256":   {v1.String(), v1.String()},
		"other base": {base58, v1.String()},
		"sha2-512":   {named(t, cid.DagCBOR, multihash.SHA2_512, -1).String(), ""},
		"blake3":     {named(t, cid.DagJSON, multihash.BLAKE3, -1).String(), ""},
		"version 0":  {"QmX7eYLaWVBUojuFWa9yQkHgbo9RBtHJSU9wnTf96AQbHf", ""},
	} {
		if c.want == "" {
			c.want = c.text
		}
		if got, err := ParseID(c.text); err != nil || got != c.want {
			t.Errorf("%s: ParseID(%s) = %q, %v; want %q", name, c.text, got, err, c.want)
		}
	}
}

func TestGateRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, words string }{
		"identity":         {named(t, cid.Raw, multihash.IDENTITY, -1).String(), "hash identity is not allowed"},
		"sha1":             {named(t, cid.Raw, multihash.SHA1, -1).String(), "hash sha1 is not allowed"},
		"md5":              {named(t, cid.Raw, multihash.MD5, -1).String(), "hash md5 is not allowed"},
		"murmur":           {named(t, cid.Raw, multihash.MURMUR3X64_64, -1).String(), "hash murmur3-x64-64 is not allowed"},
		"truncated":        {named(t, cid.Raw, multihash.SHA2_256, 20).String(), "cut to 20 bytes"},
		"truncated 512":    {named(t, cid.Raw, multihash.SHA2_512, 32).String(), "cut to 32 bytes"},
		"git":              {named(t, cid.GitRaw, multihash.SHA2_256, -1).String(), "unsupported codec git-raw"},
		"cbor":             {named(t, 0x51, multihash.SHA2_256, -1).String(), "unsupported codec cbor"},
		"json":             {named(t, 0x0200, multihash.SHA2_256, -1).String(), "unsupported codec json"},
		"car":              {named(t, 0x0202, multihash.SHA2_256, -1).String(), "unsupported codec car"},
		"key":              {named(t, cid.Libp2pKey, multihash.SHA2_256, -1).String(), "unsupported codec libp2p-key"},
		"empty":            {"", "CID"},
		"no CID":           {"bafynonsense!", "CID"},
		"too long":         {"b" + strings.Repeat("a", 1000), "characters"},
		"trailing bytes":   {named(t, cid.Raw, multihash.SHA2_256, -1).String() + "aa", "CID"},
		"path":             {"/ipfs/QmX7eYLaWVBUojuFWa9yQkHgbo9RBtHJSU9wnTf96AQbHf", "CID"},
		"version 0, sha1":  {"5dtpgR6xDyoQ3ue1bDFmMFYJpLTpkh", "CID"},
		"unknown function": {cid.NewCidV1(cid.Raw, append([]byte{0x13 ^ 0x7c, 32}, make([]byte, 32)...)).String(), "is not allowed"},
	} {
		_, err := ParseID(c.text)
		t.Run(name, func(t *testing.T) { refused(t, err, loaders.ErrInvalid, c.words) })
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("bafkreidigzl375wku7jvcpsqyd34ratjiuo7sz2w3xxvf53dyiprpuyp3i")
	f.Add("QmX7eYLaWVBUojuFWa9yQkHgbo9RBtHJSU9wnTf96AQbHf")
	f.Add(named(f, cid.Raw, multihash.IDENTITY, -1).String())
	f.Add(named(f, cid.DagCBOR, multihash.SHA2_256, 16).String())
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseID(text)
		if err != nil {
			return
		}
		if again, err := ParseID(id); err != nil || again != id {
			t.Fatalf("ParseID(%q) = %q, and that again: %q, %v", text, id, again, err)
		}
		c, err := cid.Decode(id)
		if err != nil {
			t.Fatal(err)
		}
		h, err := multihash.Decode(c.Hash())
		if err != nil {
			t.Fatal(err)
		}
		if h.Code != multihash.SHA2_256 && h.Code != multihash.SHA2_512 && h.Code != multihash.BLAKE3 || len(h.Digest) < 32 {
			t.Fatalf("%q got in with the hash %s of %d bytes", text, h.Name, len(h.Digest))
		}
	})
}
