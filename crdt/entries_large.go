package crdt

import (
	"maps"
	"slices"
)

// MaxContent is the most bytes that the content of an entry may have, in its row or outside.
const MaxContent = 64 << 20

// maxContentCID bounds the text of a CID in a row, in bytes.
const maxContentCID = 128

// Content names bytes that stand outside of a document. One CID with two sizes is two contents, of which
// at least one does not exist.
type Content struct {
	CID  string
	Size int64
}

// Outside returns where the content of an entry stands if not in its row. ok is false for an entry whose
// row holds it, and for one that names what can't be: a CID that is too long, a size below 1 or above
// [MaxContent]. Whether the CID is one is not judged here.
func (e Entry) Outside() (c Content, ok bool) {
	c = Content{e.ContentCID, e.ContentSize}
	return c, c.CID != "" && len(c.CID) <= maxContentCID && c.Size >= 1 && c.Size <= MaxContent
}

// LargeContent is content outside of a document, with the signer of the newest entry that names it.
type LargeContent struct {
	Content
	Author PeerID
}

type largePlace struct {
	at     entryPlace
	author PeerID
}

func (l *EntryLog) noteLarge(e Entry, at entryPlace, author PeerID) {
	c, ok := e.Outside()
	if !ok {
		return
	}
	l.cids[c.CID] = true
	if old, known := l.large[c]; !known || old.at.compare(at) < 0 {
		l.large[c] = largePlace{at, author}
	}
}

// HasContent reports whether an entry's content stands outside under a CID.
func (l *EntryLog) HasContent(cid string) bool { return l.cids[cid] }

// Contents lists the CIDs of content that stands outside, sorted.
func (l *EntryLog) Contents() []string { return slices.Sorted(maps.Keys(l.cids)) }

// Large lists the content that stands outside, each once, that of the newest entries first.
func (l *EntryLog) Large() []LargeContent {
	all := slices.Collect(maps.Keys(l.large))
	slices.SortFunc(all, func(a, b Content) int {
		x, y := l.large[a].at, l.large[b].at
		return y.compare(x)
	})
	out := make([]LargeContent, len(all))
	for i, c := range all {
		out[i] = LargeContent{c, l.large[c].author}
	}
	return out
}
