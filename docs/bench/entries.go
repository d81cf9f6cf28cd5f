package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// line is the text of an entry; each is another.
func line(i int) string {
	return fmt.Sprintf("line-%07d so shaken as we are, so wan with care, find we a time for frighted peace to pant", i)
}

// oldest are words that only the oldest entry has together.
const oldest = "line-0000000 frighted pant"

// fillEntries makes a home with a session of n entries, each its own change, and returns the session.
func fillEntries(ctx context.Context, home string, n int, member crdt.PeerID) (id *crdt.Identity, doc crdt.DocID, err error) {
	if id, err = crdt.LoadIdentity(filepath.Join(home, "key"), rand.Reader); err != nil {
		return nil, doc, err
	}
	p, err := openPeer(ctx, filepath.Join(home, "store"), id, false)
	if err != nil {
		return nil, doc, err
	}
	doc, err = p.repo.Create(ctx, crdt.Session, func(tx *crdt.Tx) error { return tx.Set(crdt.MetaStore, "name", "entries") })
	if err == nil {
		err = p.grant(ctx, doc, member)
	}
	for i := 0; i < n && err == nil; i++ {
		err = p.say(ctx, doc, line(i))
	}
	return id, doc, errors.Join(err, p.close())
}

// measureEntries opens, searches and syncs a large conversation.
func measureEntries(ctx context.Context, o *options, t *table) error {
	n := o.entries
	progress("a session of %d entries", n)
	home := place(o, "entries")
	member, err := newIdentity()
	if err != nil {
		return err
	}
	id, doc, err := fillEntries(ctx, home, n, member.PeerID())
	if err != nil {
		return err
	}
	chunks := place(o, "entries.chunks")
	if err := dumpChunks(ctx, filepath.Join(home, "store"), id, doc, chunks); err != nil {
		return err
	}
	var opened, searched pairs
	for range memorySamples {
		ours, err1 := figures(ctx, 2, "open", home, doc.String())
		base, err2 := figures(ctx, 1, "build", chunks, doc.String())
		scan, err3 := figures(ctx, 1, "scan", fmt.Sprint(n))
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		opened.add(ours[0], base[0])
		searched.add(ours[1], scan[0])
	}
	size := label(n) + " entries"
	t.add(row{what: "opening a session until its newest entry is there", against: "the core alone building the same", size: size, pairs: opened, unit: inTime})
	t.add(row{what: "searching it for words of the oldest entry", against: "looking for them in the bare texts", size: size, pairs: searched, unit: inTime})
	return measureEntrySync(ctx, o, t, &session{opt: o, size: n, label: size, doc: doc, b: member}, id, filepath.Join(home, "store"))
}

// measureEntrySync lets fresh peers fetch it.
func measureEntrySync(ctx context.Context, o *options, t *table, s *session, id *crdt.Identity, dir string) error {
	var err error
	if s.a, err = openPeer(ctx, dir, id, true); err != nil {
		return err
	}
	if err := s.a.say(ctx, s.doc, "the first write opens the document"); err != nil {
		return errors.Join(err, s.a.close())
	}
	return errors.Join(s.measureBootstraps(ctx, t), s.a.close())
}

// openOnce opens a home's session as a command does and searches it.
func openOnce(ctx context.Context, home, session string) (open, search float64, err error) {
	err = withNode(ctx, home, func(c *control.Client) error {
		t0 := time.Now()
		got := 0
		_, err := control.CallStream(ctx, c, control.SessionLog, control.SessionLogParams{Session: session, Tail: 1}, nil, func(control.Entry) error {
			got++
			return nil
		})
		open = float64(time.Since(t0))
		if err != nil || got != 1 {
			return fmt.Errorf("read the newest entry: %d came: %w", got, err)
		}
		t0 = time.Now()
		hits, err := control.Call(ctx, c, control.SessionSearch, control.SessionSearchParams{Session: session, Query: oldest})
		search = float64(time.Since(t0))
		if err == nil && len(hits) != 1 {
			err = fmt.Errorf("the search found %d entries", len(hits))
		}
		return err
	})
	return open, search, err
}

// buildOnce times the core alone.
func buildOnce(path, session string) (float64, error) {
	id, err := crdt.ParseDocID(session)
	if err != nil {
		return 0, err
	}
	t0 := time.Now()
	done, err := holdCore(path, id)
	if err != nil {
		return 0, err
	}
	return float64(time.Since(t0)), done()
}

// scanOnce looks for words in n bare texts.
func scanOnce(n int) (float64, error) {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = line(i)
	}
	words := strings.Fields(oldest)
	t0 := time.Now()
	hits := 0
	for i := n - 1; i >= 0; i-- {
		low := strings.ToLower(lines[i])
		found := true
		for _, w := range words {
			found = found && strings.Contains(low, w)
		}
		if found {
			hits++
		}
	}
	took := float64(time.Since(t0))
	if hits != 1 {
		return 0, fmt.Errorf("%d texts were found", hits)
	}
	return took, nil
}
