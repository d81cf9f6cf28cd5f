package crdt_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func TestLargeContentOfALog(t *testing.T) {
	author := func(b byte) crdt.PeerID { return crdt.PeerID{b} }
	var rows []crdt.Row
	add := func(by byte, at int64, cid string, size int64) {
		text, err := crdt.Canonical(crdt.Entry{Sender: "s", Content: "beginning", Type: crdt.EntryMessage, Timestamp: at, ContentCID: cid, ContentSize: size})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, crdt.Row{ID: crdt.RowIDOf(text), Value: text, Author: author(by)})
	}
	add(1, 10, "one", 5)
	add(2, 40, "two", crdt.MaxContent)
	add(3, 30, "three", 1)
	add(4, 50, "one", 6) // another size: another content
	add(5, 20, "three", 1)
	add(6, 60, "none", 0)
	add(6, 61, "below", -1)
	add(6, 62, "above", crdt.MaxContent+1)
	add(6, 63, strings.Repeat("l", 129), 5)
	add(6, 64, "", 5)
	add(6, 65, "", 0)
	want := []crdt.LargeContent{
		{Content: crdt.Content{CID: "one", Size: 6}, Author: author(4)},
		{Content: crdt.Content{CID: "two", Size: crdt.MaxContent}, Author: author(2)},
		{Content: crdt.Content{CID: "three", Size: 1}, Author: author(3)}, // of its newest entry
		{Content: crdt.Content{CID: "one", Size: 5}, Author: author(1)},
	}
	for range 20 {
		rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		log := crdt.EntryIndex().New().(*crdt.EntryLog)
		for _, r := range rows {
			log.Row(crdt.EntriesStore, r)
		}
		if got := log.Large(); !slices.Equal(got, want) {
			t.Fatalf("large content %v, want %v", got, want)
		}
		if got := log.Contents(); fmt.Sprint(got) != "[one three two]" {
			t.Fatalf("contents %v", got)
		}
		if log.Len() != len(rows) {
			t.Fatalf("%d entries of %d", log.Len(), len(rows))
		}
	}
	log := crdt.EntryIndex().New().(*crdt.EntryLog)
	for _, r := range rows {
		log.Row(crdt.EntriesStore, r)
	}
	for cid, want := range map[string]bool{"one": true, "two": true, "none": false, "below": false, "above": false, "": false, "four": false} {
		if log.HasContent(cid) != want {
			t.Errorf("HasContent(%q) = %v", cid, !want)
		}
	}
}
