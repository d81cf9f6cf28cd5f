package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	gonet "net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const closedSessions = 1000

// measureClosedSessions compares two daemons of the built program: one that remembers many sessions,
// none of them open, and one without any. Each is started again before it is measured.
func measureClosedSessions(ctx context.Context, o *options, t *table) error {
	progress("a daemon with %d closed sessions", closedSessions)
	bin := place(o, "chaz-peer")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, "github.com/chaz-peer/chaz-peer/cmd/chaz-peer")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the program: %w", err)
	}
	full, empty := place(o, "full"), place(o, "empty")
	err := withDaemon(ctx, bin, full, func(*exec.Cmd) error {
		for i := range closedSessions {
			if err := newSessionAt(ctx, full, fmt.Sprintf("session-%d", i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = withDaemon(ctx, bin, empty, func(*exec.Cmd) error { return nil })
	}
	var p, own pairs
	for range memorySamples {
		var ours, base resident
		err = errors.Join(err,
			withDaemon(ctx, bin, full, func(c *exec.Cmd) (err error) { ours, err = quietMemory(c.Process.Pid); return err }),
			withDaemon(ctx, bin, empty, func(c *exec.Cmd) (err error) { base, err = quietMemory(c.Process.Pid); return err }))
		if err != nil {
			return err
		}
		p.add(ours.now, base.now)
		own.add(ours.own, base.own)
	}
	size := "1,000 × 13 rows"
	t.add(row{what: "resident memory of a daemon with 1,000 closed sessions", against: "an empty daemon", size: size, pairs: p, unit: inBytes, aim: 1.2})
	t.add(row{what: "of that, without pages of files that are mapped", against: "an empty daemon", size: size, pairs: own, unit: inBytes})
	return nil
}

// withDaemon runs the program in a home while fn runs.
func withDaemon(ctx context.Context, bin, home string, fn func(*exec.Cmd) error) error {
	cmd := exec.CommandContext(ctx, bin, "--home", home, "run", "--json", "--no-mdns", "--listen", "127.0.0.1:0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start daemon: %w", err)
	}
	_, err = bufio.NewReader(out).ReadBytes('\n') // it says when it serves
	if err == nil {
		err = fn(cmd)
	}
	err = errors.Join(err, cmd.Process.Signal(os.Interrupt))
	return errors.Join(err, cmd.Wait())
}

// newSessionAt asks a daemon for a new session.
func newSessionAt(ctx context.Context, home, name string) error {
	socket := filepath.Join(home, "control.sock")
	if b, err := os.ReadFile(filepath.Join(home, "control.path")); err == nil {
		socket = string(bytes.TrimSpace(b))
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (gonet.Conn, error) {
		return (&gonet.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	params, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://chaz-peer/v1/session.new", bytes.NewReader(params))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("new session: %s: %s", resp.Status, text), err)
	}
	return nil
}

// quietMemory waits until the memory of a process stands still.
func quietMemory(pid int) (r resident, err error) {
	still := 0
	for range 60 {
		time.Sleep(500 * time.Millisecond)
		now, err := residentOf(pid)
		if err != nil {
			return r, err
		}
		if still++; math.Abs(now.now-r.now) > 0.01*now.now {
			still = 0
		}
		if r = now; still >= 4 {
			break
		}
	}
	return r, nil
}
