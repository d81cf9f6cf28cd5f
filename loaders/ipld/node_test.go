package ipld

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/loaders"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The positive controls stand beside the faults: the same data in its one form.
func TestDAGCBORIsStrict(t *testing.T) {
	deep := strings.Repeat("81", 40) + "00"
	linkTo := func(c cid.Cid) string {
		return "d82a 58" + hex.EncodeToString([]byte{byte(c.ByteLen() + 1)}) + "00" + hex.EncodeToString(c.Bytes())
	}
	good := linkTo(named(t, cid.Raw, multihash.SHA2_256, -1))
	for name, c := range map[string]struct {
		block string
		words string // "" is accepted
	}{
		"map":                    {"a2 61 61 01 61 62 02", ""},
		"duplicate key":          {"a2 61 61 01 61 61 02", "duplicate"},
		"wrong key order":        {"a2 61 62 02 61 61 01", "not canonical"},
		"longer key first":       {"a2 62 61 61 01 61 62 02", "not canonical"},
		"shorter key first":      {"a2 61 62 02 62 61 61 01", ""},
		"int in its short form":  {"17", ""},
		"int in a long form":     {"18 17", "minimal"},
		"length in a long form":  {"78 01 61", "minimal"},
		"indefinite list":        {"9f 01 ff", "indefinite"},
		"indefinite text":        {"7f 61 61 ff", "indefinite"},
		"list":                   {"81 01", ""},
		"trailing bytes":         {"81 01 00", "extraneous"},
		"cut off":                {"82 01", "EOF"},
		"empty":                  {"", "EOF"},
		"link":                   {good, ""},
		"bignum":                 {"c2 41 01", "tag"},
		"other tag":              {"d8 2b 41 00", "tag"},
		"link without its zero":  {"d82a 41 01", "multibase"},
		"link to no CID":         {"d82a 42 00 05", "cid"},
		"float of 64 bits":       {"fb 3ff8000000000000", ""},
		"float of 16 bits":       {"f9 3e00", "not canonical"},
		"NaN":                    {"fb 7ff8000000000000", "NaN"},
		"undefined":              {"f7", "not canonical"},
		"null":                   {"f6", ""},
		"simple value":           {"e0", "0xe0"},
		"key that is no text":    {"a1 01 02", "map key"},
		"nested too deep":        {deep, "nest"},
		"text that is not UTF-8": {"61 ff", "not UTF-8"},
		"key that is not UTF-8":  {"a1 61 ff 01", "not UTF-8"},
		"other text":             {"62 c3a9", ""},
		"nested":                 {strings.Repeat("81", 30) + "00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			block := unhex(t, c.block)
			n, err := decodeCBOR(block)
			if c.words == "" {
				if err != nil {
					t.Fatal(err)
				}
				if again, err := encodeCBOR(n); err != nil || !bytes.Equal(again, block) {
					t.Errorf("encoded again: %x, %v", again, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v does not say %q", err, c.words)
			}
		})
	}
}

func TestDAGJSONIsStrict(t *testing.T) {
	good := named(t, cid.Raw, multihash.SHA2_256, -1).String()
	for name, c := range map[string]struct{ text, words string }{
		"map":                  {`{"a":1,"b":[true,null,"x",1.5]}`, ""},
		"white space":          {" {\n \"a\" : 1 }\n", ""},
		"link":                 {`{"a":{"/":"` + good + `"}}`, ""},
		"bytes":                {`{"a":{"/":{"bytes":"AQID"}}}`, ""},
		"duplicate key":        {`{"a":1,"a":2}`, "twice"},
		"the same key escaped": {`{"a":1,"\u0061":2}`, "twice"},
		"duplicate deep":       {`{"x":[{"a":1,"a":1}]}`, "twice"},
		"trailing value":       {`{"a":1} {}`, "not one JSON value"},
		"trailing zero byte":   {"{\"a\":1}\x00", "not one JSON value"},
		"cut off":              {`{"a":1`, "not one JSON value"},
		"empty":                {``, "not one JSON value"},
		"not UTF-8":            {"\"\xff\"", "not UTF-8"},
		"comment":              {`{"a":1}//x`, "not one JSON value"},
		"nested too deep":      {strings.Repeat("[", 40) + strings.Repeat("]", 40), "nest"},
		"link to no CID":       {`{"a":{"/":"nonsense"}}`, "cid"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := decodeJSON([]byte(c.text))
			if c.words == "" {
				if err != nil {
					t.Fatal(err)
				}
				out, err := nodeJSON(n)
				if err != nil || !json.Valid(out) {
					t.Errorf("as JSON: %q, %v", out, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v does not say %q", err, c.words)
			}
		})
	}
}

// A link may stand anywhere in a node; each must pass the gate.
func TestNodeLinksPassTheGate(t *testing.T) {
	good := link(named(t, cid.Raw, multihash.SHA2_256, -1).String())
	for name, c := range map[string]struct {
		bad   any
		words string
	}{
		"identity":  {link(named(t, cid.Raw, multihash.IDENTITY, -1).String()), "x.a[1].deep: the hash identity"},
		"sha1":      {link(named(t, cid.Raw, multihash.SHA1, -1).String()), "x.a[1].deep: the hash sha1"},
		"truncated": {link(named(t, cid.Raw, multihash.SHA2_256, 16).String()), "x.a[1].deep: the sha2-256 digest is cut"},
		"codec":     {link(named(t, cid.GitRaw, multihash.SHA2_256, -1).String()), "unsupported codec git-raw"},
	} {
		tree := func(leaf any) []byte {
			return cborOf(t, map[string]any{"a": []any{good, map[string]any{"deep": leaf}}, "b": good})
		}
		n, err := decodeCBOR(tree(c.bad))
		if err != nil {
			t.Fatal(name, err)
		}
		_, err = nodeLinks(n, "x")
		refused(t, err, loaders.ErrInvalid, c.words)
		if n, err = decodeCBOR(tree(good)); err != nil {
			t.Fatal(name, err)
		}
		if links, err := nodeLinks(n, "x"); err != nil || len(links) != 3 {
			t.Errorf("%s: control: %d links, %v", name, len(links), err)
		}
	}
}

// In dag-cbor a map {"/": "text"} is data; as JSON it would be read as a link.
func TestNodeRefusesDataThatLooksLikeALink(t *testing.T) {
	id := named(t, cid.Raw, multihash.SHA1, -1).String()
	block := append(unhex(t, "a1 61 2f 78"), append([]byte{byte(len(id))}, id...)...)
	n, err := decodeCBOR(block)
	if err != nil {
		t.Fatal(err)
	}
	_, err = nodeLinks(n, "x")
	refused(t, err, loaders.ErrInvalid, `the key "/"`)
}

// What JSON holds goes through dag-cbor and comes back the same.
func TestPropertyJSONThroughCBOR(t *testing.T) {
	value := rapid.Custom(func(rt *rapid.T) any { return anyJSON(rt, 3) })
	rapid.Check(t, func(rt *rapid.T) {
		text, err := json.Marshal(value.Draw(rt, "value"))
		if err != nil {
			rt.Fatal(err)
		}
		n, err := decodeJSON(text)
		if err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
		block, err := encodeCBOR(n)
		if err != nil {
			rt.Fatal(err)
		}
		if n, err = decodeCBOR(block); err != nil {
			rt.Fatalf("%x of %s: %v", block, text, err)
		}
		out, err := nodeJSON(n)
		if err != nil {
			rt.Fatal(err)
		}
		var was, is any
		if json.Unmarshal(text, &was) != nil || json.Unmarshal(out, &is) != nil {
			rt.Fatalf("no JSON: %s", out)
		}
		a, _ := json.Marshal(was)
		b, _ := json.Marshal(is)
		if !bytes.Equal(a, b) {
			rt.Fatalf("%s became %s", a, b)
		}
	})
}

func anyJSON(rt *rapid.T, depth int) any {
	kinds := 5
	if depth == 0 {
		kinds = 3
	}
	switch rapid.IntRange(0, kinds).Draw(rt, "kind") {
	case 0:
		return rapid.Int64Range(-1<<53, 1<<53).Draw(rt, "int")
	case 1:
		return rapid.String().Draw(rt, "text")
	case 2:
		return rapid.Bool().Draw(rt, "bool")
	case 3:
		return nil
	case 4:
		return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) any { return anyJSON(rt, depth-1) }), 0, 4).Draw(rt, "list")
	}
	key := rapid.StringMatching(`[a-z_é]{1,30}`)
	return rapid.MapOfN(key, rapid.Custom(func(rt *rapid.T) any { return anyJSON(rt, depth-1) }), 0, 5).Draw(rt, "map")
}

func FuzzDecodeCBOR(f *testing.F) {
	f.Add(cborOf(f, fields(module(10, 1), link(named(f, cid.Raw, multihash.SHA2_256, -1).String()), nil)))
	f.Add([]byte{0xa2, 0x61, 0x61, 1, 0x61, 0x61, 2})
	f.Add([]byte{0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0xd8, 0x2a, 0x41, 0})
	f.Fuzz(func(t *testing.T, block []byte) {
		n, err := decodeCBOR(block)
		if err != nil {
			return
		}
		again, err := encodeCBOR(n)
		if err != nil || !bytes.Equal(again, block) {
			t.Fatalf("%x became %x, %v", block, again, err)
		}
		if _, err := nodeLinks(n, "x"); err != nil {
			return
		}
		text, err := nodeJSON(n)
		if err != nil {
			return
		}
		if _, err := decodeJSON(text); err != nil {
			t.Fatalf("%x became the JSON %s, which is refused: %v", block, text, err)
		}
	})
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add(jsonOf(f, fields(module(10, 1), link(named(f, cid.Raw, multihash.SHA2_256, -1).String()), nil)))
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Add([]byte(`{"/":{"bytes":"AQ"}}`))
	f.Add([]byte(`[{"/":"x","y":1}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := decodeJSON(text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q was accepted", text)
		}
		if _, err := nodeLinks(n, "x"); err != nil {
			return
		}
		if out, err := nodeJSON(n); err == nil && !json.Valid(out) {
			t.Fatalf("%q became %q, which is no JSON", text, out)
		}
	})
}
