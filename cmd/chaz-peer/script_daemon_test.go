package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// patience bounds every wait for a daemon; it is far more than any of them takes.
const patience = 60 * time.Second

// world is what one script has running.
type world struct {
	tb      testing.TB
	daemons map[string]*daemon
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// daemon is one running `chaz-peer run`.
type daemon struct {
	name, home, log string
	cmd             *exec.Cmd
	read            sync.WaitGroup // until its standard output is at its end
}

// cmdDaemon starts a daemon on loopback and waits until it serves: daemon NAME [FLAG]…
// Its home is the folder NAME. It sets NAME_ID and NAME_ADDR, for TCP, in upper case.
func cmdDaemon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: daemon NAME [FLAG]…")
	}
	w, name := worldOf(ts), args[0]
	if w.daemons[name] != nil {
		ts.Fatalf("daemon %s runs already", name)
	}
	d := &daemon{name: name, home: ts.MkAbs(name), log: ts.MkAbs(name + ".log")}
	ts.Check(d.nameItself())
	ready, err := d.start(ts, args[1:])
	if err != nil {
		ts.Fatalf("daemon %s: %v\n%s", name, err, tail(d.log))
	}
	w.daemons[name] = d
	ts.Setenv(strings.ToUpper(name)+"_ID", ready.PeerID)
	for _, a := range ready.Addrs {
		if strings.Contains(a, "/tcp/") {
			ts.Setenv(strings.ToUpper(name)+"_ADDR", a)
		}
	}
}

// nameItself gives a peer without a config file a name, so that it does not take the machine's.
func (d *daemon) nameItself() error {
	if err := os.MkdirAll(d.home, 0o700); err != nil {
		return err
	}
	path := filepath.Join(d.home, configFile)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return os.WriteFile(path, []byte("name: "+d.name+"\n"), 0o600)
}

func (d *daemon) start(ts *testscript.TestScript, flags []string) (control.Ready, error) {
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return control.Ready{}, err
	}
	defer log.Close()
	args := []string{"chaz-peer", "--home", d.home, "--json", "run", "--no-mdns", "--listen", "127.0.0.1:0"}
	d.cmd = command(ts, append(args, flags...))
	d.cmd.Stderr = log
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return control.Ready{}, err
	}
	if err := d.cmd.Start(); err != nil {
		return control.Ready{}, err
	}
	first := make(chan []byte, 1)
	d.read.Go(func() {
		r := bufio.NewReader(out)
		line, _ := r.ReadBytes('\n')
		first <- line
		_, _ = io.Copy(io.Discard, r)
	})
	var ready control.Ready
	select {
	case line := <-first:
		if err = json.Unmarshal(line, &ready); err == nil && !ready.Ready {
			err = fmt.Errorf("it said %q", line)
		}
	case <-time.After(patience):
		err = fmt.Errorf("it does not serve after %s", patience)
	}
	if err != nil {
		_ = d.cmd.Process.Kill()
		_ = d.wait()
	}
	return ready, err
}

// wait waits for the end of a daemon that was told to end.
func (d *daemon) wait() error {
	late := time.AfterFunc(patience, func() { _ = d.cmd.Process.Signal(syscall.SIGQUIT) })
	defer late.Stop()
	d.read.Wait()
	return d.cmd.Wait()
}

// stop asks a daemon to end, as Ctrl-C or a service manager does. It must say that it ended well.
func (d *daemon) stop() error {
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return d.wait()
}

// end stops what a script left running.
func (w *world) end() {
	for _, d := range w.daemons {
		if err := d.stop(); err != nil {
			w.tb.Errorf("stop daemon %s: %v\n%s", d.name, err, tail(d.log))
		}
		if w.tb.Failed() {
			w.tb.Logf("log of %s:\n%s", d.name, tail(d.log))
		}
	}
}

func tail(path string) string {
	const most = 4 << 10
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-most):])
}

func (w *world) take(ts *testscript.TestScript, what string, neg bool, args []string, n int) *daemon {
	if neg || len(args) != n {
		ts.Fatalf("usage: %s NAME …", what)
	}
	d := w.daemons[args[0]]
	if d == nil {
		ts.Fatalf("no daemon %s runs", args[0])
	}
	return d
}

// cmdStop stops a daemon: stop-daemon NAME
func cmdStop(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	d := w.take(ts, "stop-daemon", neg, args, 1)
	delete(w.daemons, d.name)
	if err := d.stop(); err != nil {
		ts.Fatalf("stop daemon %s: %v\n%s", d.name, err, tail(d.log))
	}
}

// cmdKill9 ends a daemon as a power cut would: kill9 NAME
func cmdKill9(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	d := w.take(ts, "kill9", neg, args, 1)
	delete(w.daemons, d.name)
	_ = d.cmd.Process.Kill()
	_ = d.wait()
}

// How many writers cmdCrash has, and how many writes must be acknowledged before it kills.
const (
	crashWriters = 4
	crashAcks    = 60
)

// cmdCrash kills a daemon while several clients write to a session, and notes what was acknowledged:
// crash NAME SESSION FILE [SIZE], SIZE being the least bytes of a write
func cmdCrash(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	pad := ""
	if len(args) == 4 {
		size, err := strconv.Atoi(args[3])
		ts.Check(err)
		pad, args = longText(size), args[:3]
	}
	d := w.take(ts, "crash", neg, args, 3)
	delete(w.daemons, d.name)
	acks := make(chan string)
	var writers sync.WaitGroup
	for i := range crashWriters {
		c, err := control.Dial(d.home)
		ts.Check(err)
		writers.Go(func() {
			defer c.Close()
			for k := 0; ; k++ {
				p := control.SessionPostParams{Session: args[1], Content: fmt.Sprintf("writer %d, write %d%s", i, k, pad)}
				r, err := control.Call(context.Background(), c, control.SessionPost, p)
				if err != nil {
					return // the end of the daemon
				}
				acks <- r.ID
			}
		})
	}
	go func() { writers.Wait(); close(acks) }()
	var ids []string
	for id := range acks {
		if ids = append(ids, id); len(ids) == crashAcks {
			_ = d.cmd.Process.Kill()
		}
	}
	_ = d.wait()
	if len(ids) < crashAcks {
		ts.Fatalf("only %d writes were acknowledged\n%s", len(ids), tail(d.log))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Join(ids, "\n")+"\n"), 0o600))
	ts.Logf("killed after %d acknowledged writes", len(ids))
}

// cmdPosts writes entries one by one, each in a commit of its own: to the daemon of the home if it
// runs, else with a command for each: posts NAME SESSION TEXT COUNT
func cmdPosts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: posts NAME SESSION TEXT COUNT")
	}
	count, err := strconv.Atoi(args[3])
	ts.Check(err)
	post := func(text string) error {
		return ts.Exec("chaz-peer", "--home", args[0], "session", "post", args[1], text)
	}
	if d := worldOf(ts).daemons[args[0]]; d != nil {
		c, err := control.Dial(d.home)
		ts.Check(err)
		defer c.Close()
		post = func(text string) error {
			_, err := control.Call(context.Background(), c, control.SessionPost, control.SessionPostParams{Session: args[1], Content: text})
			return err
		}
	}
	for i := range count {
		ts.Check(post(fmt.Sprintf("%s %d", args[2], i+1)))
	}
}

// cmdPair pairs two machines, as a person does on both at once: pair NAME NAME
func cmdPair(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: pair NAME NAME")
	}
	first := command(ts, []string{"chaz-peer", "--home", args[0], "peers", "pair", "--yes", "--timeout", patience.String()})
	var said strings.Builder
	first.Stderr = &said
	out, err := first.StdoutPipe()
	ts.Check(err)
	ts.Check(first.Start())
	r := bufio.NewReader(out)
	ticket, err := r.ReadString('\n')
	if err == nil {
		err = ts.Exec("chaz-peer", "--home", args[1], "peers", "pair", strings.TrimSpace(ticket), "--yes", "--timeout", patience.String())
	}
	if err != nil {
		_ = first.Process.Kill()
	}
	rest, _ := io.ReadAll(r)
	if err2 := first.Wait(); err != nil || err2 != nil {
		ts.Fatalf("pair: %v, %v\n%s", err, err2, said.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("pair.txt"), []byte(said.String()+string(rest)), 0o600))
}
