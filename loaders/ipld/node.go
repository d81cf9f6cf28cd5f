package ipld

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"
	"github.com/ipfs/go-cid"
	"github.com/ipld/go-ipld-prime/codec"
	"github.com/ipld/go-ipld-prime/codec/dagcbor"
	"github.com/ipld/go-ipld-prime/codec/dagjson"
	"github.com/ipld/go-ipld-prime/datamodel"
	cidlink "github.com/ipld/go-ipld-prime/linking/cid"
	"github.com/ipld/go-ipld-prime/node/basicnode"
)

// maxNesting bounds maps and lists in each other in a node.
const maxNesting = 32

var (
	errDuplicateKey = errors.New("a key stands twice in one map")
	errNotUTF8      = errors.New("a text that is not UTF-8")
	errNotCanonical = errors.New("not canonical: another encoding of the same data")
)

// decodeNode reads a dag-cbor or dag-json block strictly.
func decodeNode(kind uint64, block []byte) (datamodel.Node, error) {
	if kind == cid.DagCBOR {
		return decodeCBOR(block)
	}
	return decodeJSON(block)
}

// wellFormed judges CBOR before anything is built from it: nesting, indefinite lengths, trailing bytes.
func wellFormed(block []byte) error {
	mode, err := cbor.DecOptions{
		IndefLength:      cbor.IndefLengthForbidden,
		MaxNestedLevels:  maxNesting,
		MaxArrayElements: 1 << 17,
		MaxMapPairs:      1 << 17,
	}.DecMode()
	if err != nil {
		return err
	}
	return mode.Wellformed(block)
}

// decodeCBOR accepts the one canonical dag-cbor encoding of a value: encoding it again must give the same
// bytes. That refuses long integers, other orders of keys and short floats; two encodings of one manifest
// would have two CIDs.
func decodeCBOR(block []byte) (datamodel.Node, error) {
	if err := wellFormed(block); err != nil {
		return nil, err
	}
	b := basicnode.Prototype.Any.NewBuilder()
	opt := dagcbor.DecodeOptions{AllowLinks: true, MaxDepth: maxNesting, AllocationBudget: 16 * int64(len(block)+64)}
	if err := opt.Decode(b, bytes.NewReader(block)); err != nil {
		return nil, sayDuplicate(err)
	}
	n := b.Build()
	if err := plainText(n); err != nil {
		return nil, err
	}
	again, err := encodeCBOR(n)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, block) {
		return nil, errNotCanonical
	}
	return n, nil
}

// plainText refuses texts and keys that are not UTF-8: as JSON, several of them would be the same.
func plainText(n datamodel.Node) error {
	switch n.Kind() {
	case datamodel.Kind_String:
		if s, err := n.AsString(); err != nil || !utf8.ValidString(s) {
			return errNotUTF8
		}
	case datamodel.Kind_Map:
		for it := n.MapIterator(); !it.Done(); {
			k, v, err := it.Next()
			if err == nil {
				err = errors.Join(plainText(k), plainText(v))
			}
			if err != nil {
				return err
			}
		}
	case datamodel.Kind_List:
		for it := n.ListIterator(); !it.Done(); {
			_, v, err := it.Next()
			if err == nil {
				err = plainText(v)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func encodeCBOR(n datamodel.Node) ([]byte, error) {
	var out bytes.Buffer
	opt := dagcbor.EncodeOptions{AllowLinks: true, MapSortMode: codec.MapSortMode_RFC7049}
	err := opt.Encode(n, &out)
	return out.Bytes(), err
}

// decodeJSON accepts one JSON value without duplicate keys and nothing behind it.
func decodeJSON(text []byte) (datamodel.Node, error) {
	if !utf8.Valid(text) {
		return nil, errNotUTF8
	}
	if !json.Valid(text) {
		return nil, errors.New("not one JSON value")
	}
	b := basicnode.Prototype.Any.NewBuilder()
	opt := dagjson.DecodeOptions{ParseLinks: true, ParseBytes: true, MaxDepth: maxNesting}
	if err := opt.Decode(b, bytes.NewReader(text)); err != nil {
		return nil, sayDuplicate(err)
	}
	return b.Build(), nil
}

// nodeJSON is the dag-json text of a node: links as {"/":"cid"}, bytes as {"/":{"bytes":"…"}}.
func nodeJSON(n datamodel.Node) ([]byte, error) {
	var out bytes.Buffer
	opt := dagjson.EncodeOptions{EncodeLinks: true, EncodeBytes: true, MapSortMode: codec.MapSortMode_Lexical}
	err := opt.Encode(n, &out)
	return out.Bytes(), err
}

func sayDuplicate(err error) error {
	var twice datamodel.ErrRepeatedMapKey
	if errors.As(err, &twice) {
		return fmt.Errorf("%w: %v", errDuplicateKey, twice)
	}
	return err
}

// nodeLinks returns all links of a node in the order of its encoding. It refuses one that does not pass
// the gate, and a map with the key "/" of data that only looks like a link or bytes once it is JSON.
func nodeLinks(n datamodel.Node, where string) ([]cid.Cid, error) {
	switch n.Kind() {
	case datamodel.Kind_Link:
		l, err := n.AsLink()
		if err != nil {
			return nil, err
		}
		c, err := linkCID(l)
		if err != nil {
			return nil, err
		}
		return []cid.Cid{c}, admit(c, where)
	case datamodel.Kind_Map:
		return mapLinks(n, where)
	case datamodel.Kind_List:
		var out []cid.Cid
		for i := int64(0); i < n.Length(); i++ {
			v, err := n.LookupByIndex(i)
			if err != nil {
				return nil, err
			}
			links, err := nodeLinks(v, fmt.Sprintf("%s[%d]", where, i))
			if err != nil {
				return nil, err
			}
			out = append(out, links...)
		}
		return out, nil
	}
	return nil, nil
}

func mapLinks(n datamodel.Node, where string) ([]cid.Cid, error) {
	var out []cid.Cid
	for it := n.MapIterator(); !it.Done(); {
		k, v, err := it.Next()
		if err != nil {
			return nil, err
		}
		key, err := k.AsString()
		if err != nil {
			return nil, err
		}
		if key == "/" {
			return nil, invalid(`%s: a map with the key "/", which is kept for links and bytes`, where)
		}
		links, err := nodeLinks(v, where+"."+key)
		if err != nil {
			return nil, err
		}
		out = append(out, links...)
	}
	return out, nil
}

func linkCID(l datamodel.Link) (cid.Cid, error) {
	c, ok := l.(cidlink.Link)
	if !ok {
		return cid.Undef, fmt.Errorf("a link of another kind: %T", l)
	}
	return c.Cid, nil
}
