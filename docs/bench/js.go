package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// jsPeers is two peers of automerge-repo in one process of Node, over a WebSocket.
type jsPeers struct{ server }

// measureJS sets two peers of ours beside two of automerge-repo, for one document and the same edits.
func measureJS(ctx context.Context, o *options, t *table) error {
	dir, why := jsFolder(ctx)
	if why != "" {
		progress("automerge-repo is left out: %s", why)
		t.note("The rows against automerge-repo are left out: %s.", why)
		return nil
	}
	n := o.jsEntries
	progress("automerge-repo, a session of %d entries", n)
	home := place(o, "js")
	member, err := newIdentity()
	if err != nil {
		return err
	}
	id, doc, err := fillEntries(ctx, home, n, member.PeerID())
	if err != nil {
		return err
	}
	s := &session{opt: o, size: n, label: label(n) + " entries", doc: doc, b: member}
	if s.a, err = openPeer(ctx, filepath.Join(home, "store"), id, true); err != nil {
		return err
	}
	if err := s.a.say(ctx, doc, "the first write opens the document"); err != nil {
		return errors.Join(err, s.a.close())
	}
	file := place(o, "js.automerge")
	text, err := s.a.repo.Export(ctx, doc)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return errors.Join(err, s.a.close())
	}
	js, err := startJS(ctx, dir, file, place(o, "js-files"))
	if err != nil {
		return errors.Join(err, s.a.close())
	}
	return errors.Join(s.besideJS(ctx, js, t), js.stop(), s.a.close())
}

// jsFolder is where the script is; why says why it can't be run.
func jsFolder(ctx context.Context) (dir, why string) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", "there is no node"
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", "there is no npm"
	}
	root, err := tell(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/chaz-peer/chaz-peer")
	if err != nil {
		return "", err.Error()
	}
	dir = filepath.Join(root, "docs", "bench", "automerge-repo")
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return dir, ""
	}
	if _, err := tell(ctx, dir, "npm", "ci", "--no-audit", "--no-fund", "--silent"); err != nil {
		return "", "npm ci failed: " + err.Error()
	}
	return dir, ""
}

func startJS(ctx context.Context, dir, file, files string) (*jsPeers, error) {
	js := &jsPeers{server{cmd: exec.CommandContext(ctx, "node", "bench.mjs", file, files)}}
	js.cmd.Dir, js.cmd.Stderr = dir, os.Stderr
	in, err1 := js.cmd.StdinPipe()
	out, err2 := js.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	js.in, js.out = in, bufio.NewReader(out)
	if err := js.cmd.Start(); err != nil {
		return nil, err
	}
	_, err := js.out.ReadBytes('\n') // it says when it is ready
	return js, err
}

// took is what a command took: nanoseconds until all was over, and until it was seen; bytes.
type took struct{ NS, Seen, Bytes float64 }

// do gives a command.
func (js *jsPeers) do(command string) (r took, err error) {
	text, err := js.call([]byte(command))
	if err != nil {
		return r, fmt.Errorf("automerge-repo: %.20s: %w", command, err)
	}
	return r, json.Unmarshal(text, &r)
}

// besideJS takes turns with the peers of automerge-repo.
func (s *session) besideJS(ctx context.Context, js *jsPeers, t *table) error {
	var boot, bytes, live, seen, liveBytes pairs
	for i := range s.opt.bootstraps + 1 {
		theirs, err := js.do("bootstrap")
		if err != nil {
			return err
		}
		l, took, err := s.join(ctx, "quic", i)
		if err != nil {
			return err
		}
		if i > 0 { // the first warms up
			boot.add(float64(took), theirs.NS)
			bytes.add(float64(l.bytes.Load()), theirs.Bytes)
		}
		if err := l.close(); err != nil {
			return err
		}
	}
	l, _, err := s.join(ctx, "quic", s.opt.bootstraps+1)
	if err != nil {
		return err
	}
	if _, err := js.do("edit the follower joins"); err != nil {
		return errors.Join(err, l.close())
	}
	runtime.GC()
	for i := range s.opt.jsEdits {
		theirs, err1 := js.do("edit " + line(i))
		before := l.bytes.Load()
		took, err2 := l.sayOnce(ctx, line(i))
		if err := errors.Join(err1, err2); err != nil {
			return errors.Join(err, l.close())
		}
		live.add(float64(took), theirs.NS)
		seen.add(float64(took), theirs.Seen)
		liveBytes.add(float64(l.bytes.Load()-before), theirs.Bytes)
	}
	against := "two peers of automerge-repo, WebSocket, files not synced"
	t.add(row{what: "a fresh peer has all of a session, durable", against: against, size: s.label, pairs: boot, unit: inTime})
	t.add(row{what: "bytes of that", against: against, size: s.label, pairs: bytes, unit: inBytes})
	t.add(row{what: "an entry on A is on B, durable on both", against: against, size: s.label, pairs: live, unit: inTime})
	t.add(row{what: "the same", against: "two peers of automerge-repo, until B sees it, in no file yet", size: s.label, pairs: seen, unit: inTime})
	t.add(row{what: "bytes of that", against: against, size: s.label, pairs: liveBytes, unit: inBytes})
	return l.close()
}

// sayOnce times an entry from before the write at a until b has it, durable, and waits for the ack.
func (l *link) sayOnce(ctx context.Context, text string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	feed := l.b.repo.Watch(l.doc)
	defer feed.Close()
	t0 := time.Now()
	if err := l.a.say(ctx, l.doc, text); err != nil {
		return 0, err
	}
	want, _ := l.a.repo.Summary(l.doc)
	for {
		if have, _ := l.b.repo.Summary(l.doc); have.Vector == want.Vector {
			return time.Since(t0), l.sideA.settled(ctx)
		}
		if _, err := feed.Next(ctx); err != nil {
			return 0, err
		}
	}
}
