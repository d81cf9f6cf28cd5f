package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
)

const memorySamples = 3

// measureMemory compares processes that hold one large session open: the repo with all it keeps, and
// the bare core with nothing but the document.
func measureMemory(ctx context.Context, o *options, t *table) error {
	n := o.memory
	progress("memory of a session of %d events", n)
	key, dir, chunks := place(o, "memory.key"), place(o, "memory"), place(o, "memory.chunks")
	id, err := crdt.LoadIdentity(key, rand.Reader)
	if err != nil {
		return err
	}
	member, err := newIdentity()
	if err != nil {
		return err
	}
	doc, err := fill(ctx, dir, id, member.PeerID(), n)
	if err != nil {
		return err
	}
	if err := dumpChunks(ctx, dir, id, doc, chunks); err != nil {
		return err
	}
	var p, peak pairs
	for range memorySamples {
		ours, err := inChild(ctx, "repo", dir, key, doc.String())
		if err != nil {
			return err
		}
		base, err := inChild(ctx, "core", chunks, doc.String())
		if err != nil {
			return err
		}
		p.add(ours.now, base.now)
		peak.add(ours.peak, base.peak)
	}
	t.add(row{what: "resident memory of an open session", against: "the core alone", size: label(n), pairs: p, unit: inBytes, aim: 1.5})
	t.add(row{what: "the same at its peak, while opening", against: "the core alone", size: label(n), pairs: peak, unit: inBytes})
	return nil
}

// dumpChunks writes the changes of a session, each behind its length.
func dumpChunks(ctx context.Context, dir string, id *crdt.Identity, doc crdt.DocID, path string) error {
	p, err := openPeer(ctx, dir, id, false)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return errors.Join(err, p.close())
	}
	w := bufio.NewWriter(f)
	have := crdt.Vector{}
	for more := true; more && err == nil; {
		var page []crdt.SignedChange
		page, have, more, err = p.repo.Page(ctx, doc, have, nil, 1<<20)
		for _, c := range page {
			_, err1 := w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(c.Raw))))
			_, err2 := w.Write(c.Raw)
			err = errors.Join(err, err1, err2)
		}
	}
	return errors.Join(err, w.Flush(), f.Close(), p.close())
}

// resident is the memory of a process in bytes: now and at its peak, and now without the pages of files
// that are mapped, which the system takes back when it needs them.
type resident struct{ now, peak, own float64 }

// inChild runs a part of this program as a process of its own and reads what it says of its memory.
func inChild(ctx context.Context, what string, args ...string) (r resident, err error) {
	f, err := figures(ctx, 2, what, args...)
	if err != nil {
		return r, err
	}
	return resident{now: f[0], peak: f[1]}, nil
}

// holding keeps a session open, by the repo or by the core alone, and says what that takes.
func holding(ctx context.Context, what string, args []string) ([]float64, error) {
	id, err := crdt.ParseDocID(args[len(args)-1])
	if err != nil {
		return nil, err
	}
	var done func() error
	if what == "repo" {
		done, err = holdRepo(ctx, args[0], args[1], id)
	} else {
		done, err = holdCore(args[0], id)
	}
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory()
	automerge.Trim()
	r, err := residentOf(os.Getpid())
	return []float64{r.now, r.peak}, errors.Join(err, done())
}

// holdRepo opens a session and writes to it, so that all of it is in memory, the core too.
func holdRepo(ctx context.Context, dir, key string, doc crdt.DocID) (func() error, error) {
	id, err := crdt.LoadIdentity(key, rand.Reader)
	if err != nil {
		return nil, err
	}
	p, err := openPeer(ctx, dir, id, false)
	if err != nil {
		return nil, err
	}
	_, _, err = p.write(ctx, doc)
	return p.close, err
}

// holdCore builds the same changes in the core and keeps nothing else.
func holdCore(path string, doc crdt.DocID) (func() error, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var readErr error
	d, err := automerge.New().Build(chunk.New().Genesis(doc, crdt.Session), readChunks(bufio.NewReader(f), &readErr))
	if err = errors.Join(err, readErr); err != nil {
		return nil, err
	}
	return func() error { d.Close(); return nil }, nil
}

func readChunks(r io.Reader, failed *error) iter.Seq2[crdt.ChangeHash, []byte] {
	return func(yield func(crdt.ChangeHash, []byte) bool) {
		for {
			var size [4]byte
			if _, err := io.ReadFull(r, size[:]); err != nil {
				if err != io.EOF {
					*failed = err
				}
				return
			}
			raw := make([]byte, binary.BigEndian.Uint32(size[:]))
			if _, err := io.ReadFull(r, raw); err != nil {
				*failed = err
				return
			}
			c, err := chunk.New().Decode(crdt.Session, raw)
			if err != nil {
				*failed = err
				return
			}
			if !yield(c.Hash, raw) {
				return
			}
		}
	}
}

// residentOf reads the memory of a process where the system tells it (Linux).
func residentOf(pid int) (r resident, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return r, fmt.Errorf("read resident memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		kb, _ := strconv.ParseFloat(f[1], 64)
		switch f[0] {
		case "VmRSS:":
			r.now = kb * 1024
		case "RssAnon:":
			r.own = kb * 1024
		case "VmHWM:":
			r.peak = kb * 1024
		}
	}
	if r.now == 0 {
		return r, errors.New("read resident memory: the system does not tell")
	}
	return r, nil
}
