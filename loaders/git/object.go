package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pjbgf/sha1cd"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// The types of objects, as their headers have them.
const (
	commitType = "commit"
	treeType   = "tree"
	blobType   = "blob"
	tagType    = "tag"
)

// maxHeader is more than any header: a type, a space, a length and a zero byte.
const maxHeader = 32

var errCollision = errors.New("it was made to collide with another object (SHA-1 attack)")

// object is a verified object.
type object struct {
	id   string
	typ  string
	raw  []byte // what is hashed
	body []byte // the part of raw after the header
}

// source hands out objects in raw form. It is not trusted: who asks verifies. limit bounds the body: a
// source that is sure of the size beforehand reads nothing larger.
type source interface {
	object(ctx context.Context, id string, limit int64) ([]byte, error)
}

// tooLarge is the error of a source for an object over the limit.
func tooLarge(size, limit int64) error {
	return invalid("it has %d bytes, more than the limit of %d", size, limit)
}

// missing is the error of a source that lacks an object.
func missing(what string) error { return fmt.Errorf("%s: %w", what, loaders.ErrMissing) }

// encode puts a header before a body.
func encode(typ string, body []byte) []byte {
	return append(header(typ, len(body), len(body)), body...)
}

// header is what git hashes before a body; room is kept for more behind it.
func header(typ string, size, room int) []byte {
	h := make([]byte, 0, maxHeader+room)
	h = append(h, typ...)
	h = append(h, ' ')
	h = strconv.AppendInt(h, int64(size), 10)
	return append(h, 0)
}

// hash returns the id of a raw object, which may come in parts. It detects the known attacks on SHA-1.
func hash(parts ...[]byte) (id [20]byte, err error) {
	h := sha1cd.New().(sha1cd.CollisionResistantHash)
	for _, p := range parts {
		h.Write(p)
	}
	sum, collided := h.CollisionResistantSum(nil)
	if collided {
		return id, errCollision
	}
	return [20]byte(sum), nil
}

// verify checks that raw is the object called id, and reads its header. Its errors say what is wrong
// with the bytes, not with the object of that name.
func verify(id string, raw []byte) (object, error) {
	sum, err := hash(raw)
	if err != nil {
		return object{}, err
	}
	if got := hex.EncodeToString(sum[:]); got != id {
		return object{}, fmt.Errorf("the bytes hash to %s", got)
	}
	head, body, ok := bytes.Cut(raw, []byte{0})
	typ, size, _ := strings.Cut(string(head[:min(len(head), maxHeader)]), " ")
	n, err := strconv.ParseInt(size, 10, 64)
	if !ok || err != nil || n != int64(len(body)) || strconv.FormatInt(n, 10) != size {
		return object{}, errors.New("the header does not fit the bytes")
	}
	switch typ {
	case commitType, treeType, blobType, tagType:
		return object{id: id, typ: typ, raw: raw, body: body}, nil
	}
	return object{}, errors.New("the header names no type of object")
}

// parseCommit reads the tree and the parents.
func parseCommit(body []byte) (tree string, parents []string, err error) {
	line, rest, _ := bytes.Cut(body, []byte("\n"))
	tree, ok := strings.CutPrefix(string(line), "tree ")
	if !ok || !isHash(tree) {
		return "", nil, errors.New("a commit without a tree")
	}
	for {
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		parent, ok := strings.CutPrefix(string(line), "parent ")
		if !ok {
			return tree, parents, nil
		}
		if !isHash(parent) {
			return "", nil, errors.New("a commit with a malformed parent")
		}
		parents = append(parents, parent)
	}
}

// parseTag reads what an annotated tag points to.
func parseTag(body []byte) (string, error) {
	line, _, _ := bytes.Cut(body, []byte("\n"))
	id, ok := strings.CutPrefix(string(line), "object ")
	if !ok || !isHash(id) {
		return "", errors.New("a tag without an object")
	}
	return id, nil
}
