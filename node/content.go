package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// inlineLimit is how many bytes the content, metadata and routing of an entry may have as JSON text inside
// its row. A row holds 256 KiB; the rest is for the other fields.
const inlineLimit = 200 << 10

// previewRunes is how much of a large content stays in the row, for lists and for who has not got the rest.
const previewRunes = 1000

// addEntry writes an entry; content that is too large for a row becomes blocks first, which the row names.
func (n *Node) addEntry(ctx context.Context, session crdt.DocID, e crdt.Entry) (crdt.RowID, error) {
	if err := n.moveOut(ctx, &e); err != nil {
		return crdt.RowID{}, err
	}
	if e.ContentCID != "" {
		if err := n.contents.remember(ctx, session); err != nil {
			return crdt.RowID{}, err
		}
	}
	var id crdt.RowID
	err := n.repo.Update(ctx, session, func(tx *crdt.Tx) (err error) {
		id, err = crdt.AddEntry(tx, e)
		return err
	})
	return id, err
}

// moveOut puts a large content into the block store. The blocks are durable before the row that names
// them; if the row never comes, `ext gc` takes them away.
func (n *Node) moveOut(ctx context.Context, e *crdt.Entry) error {
	if len(e.Content) > crdt.MaxContent {
		return &control.Error{
			Code: control.CodeTooLarge, Cause: fmt.Sprintf("write entry: its text has %d bytes, an entry may have at most %d (64 MiB)", len(e.Content), crdt.MaxContent),
			Remedy: "split it into several entries",
		}
	}
	large, err := isLarge(e)
	if err != nil || !large {
		return err
	}
	// As in a row, what is not UTF-8 becomes the sign for that.
	text := strings.ToValidUTF8(e.Content, "\uFFFD")
	cid, size, err := n.loading.ipld.PutBytes(ctx, strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("write entry: %w", err)
	}
	e.ContentCID, e.ContentSize, e.Content = cid, size, preview(text)
	return nil
}

// isLarge reports whether the content is to stand outside of the row. What moving it would not make
// shorter stays, and the limit of a row judges it.
func isLarge(e *crdt.Entry) (bool, error) {
	room := inlineLimit - len(e.Metadata) - len(e.Routing)
	switch {
	case len(e.Content) <= 4*previewRunes || 6*len(e.Content) <= room: // no text grows more in JSON
		return false, nil
	case len(e.Content) > room:
		return true, nil
	}
	text, err := crdt.Canonical(e.Content)
	if err != nil {
		return false, fmt.Errorf("write entry: %w", err)
	}
	return len(text) > room, nil
}

func preview(s string) string {
	n := 0
	for i := range s {
		if n++; n > previewRunes {
			return s[:i]
		}
	}
	return s
}

// entryOut is an entry as readers get it: with all of its content, if that is here.
func (n *Node) entryOut(ctx context.Context, e crdt.Entry) control.Entry {
	out := entryOut(e)
	if e.ContentCID == "" {
		return out
	}
	out.ContentCID, out.ContentSize = preview(e.ContentCID), e.ContentSize
	whole, reason := n.readContent(ctx, e)
	if reason != "" {
		out.ContentMissing, out.ContentReason = true, reason
		return out
	}
	out.Content = whole
	return out
}

// readContent returns the content of an entry that stands outside of its row, or why there is none.
func (n *Node) readContent(ctx context.Context, e crdt.Entry) (whole, reason string) {
	c, ok := e.Outside()
	if !ok {
		return "", fmt.Sprintf("it can't be: the entry names %d bytes under a CID of %d characters; content has 1 to %d bytes", e.ContentSize, len(e.ContentCID), crdt.MaxContent)
	}
	if reason := n.contents.knownInvalid(c); reason != "" {
		return "", reason
	}
	b, err := n.loading.ipld.ReadBytes(ctx, c.CID, c.Size)
	switch {
	case errors.Is(err, loaders.ErrMissing):
		n.contents.lost(c)
		return "", "it is not here yet"
	case errors.Is(err, loaders.ErrInvalid):
		return "", n.contents.noteInvalid(c, err)
	case err != nil:
		return "", "it could not be read: " + err.Error()
	case !utf8.Valid(b):
		return "", n.contents.noteInvalid(c, errors.New("it is no text"))
	}
	return string(b), ""
}

// checkContent judges the name of content before anybody is asked for it.
func checkContent(c crdt.Content) error {
	id, err := ipld.ParseID(c.CID)
	if err == nil && id != c.CID {
		err = fmt.Errorf("%w: the CID is not in its usual form %s", loaders.ErrInvalid, id)
	}
	return err
}
