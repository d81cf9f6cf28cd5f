package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/node/control"
)

func TestUsageErrors(t *testing.T) {
	for _, args := range []string{
		"", "nonsense", "session", "session nonsense", "session share", "session share s --role owner", "session share s --uses -1",
		"session share s --expires soon", "session share s --expires=-1d", "session wait s", "session wait s --stored-on x",
		"session log s --tail=-1", "session import f --name n --session s", "session import f --format xml", "agent new a nofield",
		"run --listen nowhere", "run --clock-skew x", "run --control-tcp 0.0.0.0:1", "completion tcsh", "id --nope", "cmd /x", "routine add x", "routine add x --every 0s", "routine add x --every 1500ms", "routine add x --every 1h --at z", "peers approve r --role x",
		"ext", "ext trust x", "ext trust x --session s --cap a --no-caps", "ext trust x --session s --all-requested --no-caps", "ext trust x --session s --yes-sha256 abcd",
		"ext trust x --session s --mount notes=/no/such/folder", "ext trust x --session s --mount notes", "ext logs x", "ext audit --last=-1",
		"ext pack x --profile v9", "ext publish x --doc d --name n", "ext publish x --doc d --private", "ext yank d",
	} {
		b := newBench(t)
		b.node.results = sampleResults()
		r := b.do(strings.Fields(args)...)
		if r.code != exitUsage || r.out != "" || r.err == "" {
			t.Errorf("%q: exit %d, out %q, err %q", args, r.code, r.out, r.err)
		}
		if len(b.node.calls) != 0 {
			t.Errorf("%q asked the node", args)
		}
	}
}

func TestErrorsAreCauseAndRemedy(t *testing.T) {
	b := newBench(t)
	b.node.results["session.show"] = &control.Error{Cause: "find session\nabc: two fit\x1b", Remedy: "give more characters", Code: control.CodeAmbiguous, Candidates: control.List[string]{"abcd1", "abcd2"}}
	r := b.do("session", "show", "abc", "--json")
	if r.code != exitError || r.out != "" || r.err != "error: find session abc: two fit\ufffd: abcd1, abcd2\ntry: give more characters\n" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.err)
	}
	b.node.results["session.show"] = errors.New("plain")
	if r := b.do("session", "show", "abc"); r.code != exitError || r.err != "error: plain\n" {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
}

func TestExitStatusSaysTheOutcome(t *testing.T) {
	for _, tc := range []struct {
		name, args, method string
		result             any
		code               int
		out                string
	}{
		{"ready", "session join t --json", "session.join", control.Joined{State: control.StateReady}, 0, `"state":"ready"`},
		{"pending", "session join t --json", "session.join", control.Joined{State: control.Pending}, 0, `"state":"pending"`},
		{"not served", "session join t --json", "session.join", control.Joined{State: control.NotServed}, 1, `"state":"not_served"`},
		{"offline", "agent join t --json", "agent.join", control.Joined{State: control.Offline}, 1, `"state":"offline"`},
		{"waited", "session wait s --stored-on 2", "session.wait", control.Waited{StoredOn: 2}, 0, "Stored on 2 peers."},
		{"timeout", "session wait s --stored-on 2 --timeout 1s", "session.wait", &control.Error{Cause: "late", Code: control.CodeTimeout}, 1, ""},
		{"command", "cmd --session s /x", "cmd", control.CmdResult{OK: true, Output: "yes"}, 0, "yes"},
		{"failed command", "cmd --session s /x --json", "cmd", control.CmdResult{Output: "usage: /x"}, 1, `{"ok":false,"output":"usage: /x"}`},
		{"healthy", "doctor --json", "doctor", control.Doctor{OK: true}, 0, `{"ok":true`},
		{"ill", "doctor --json", "doctor", control.Doctor{Checks: control.List[control.Check]{{Name: "x"}}}, 1, `{"ok":false`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			if err := os.Chmod(b.home, 0o700); err != nil {
				t.Fatal(err)
			}
			b.node.results[tc.method] = tc.result
			if r := b.do(strings.Fields(tc.args)...); r.code != tc.code || !strings.Contains(r.out, tc.out) {
				t.Errorf("exit %d, %q, %q; want %d, %q", r.code, r.out, r.err, tc.code, tc.out)
			}
		})
	}
}

func TestStatusWithoutDaemon(t *testing.T) {
	b := newBench(t)
	r := b.do("status", "--json")
	const want = `{"daemon":false,"peer_id":"","version":"1.2.3","addrs":[],"clock_skew_ms":0,"peers":[],"documents":[]}` + "\n"
	if r.code != exitNoDaemon || r.out != want || len(b.node.opened) != 0 {
		t.Errorf("exit %d, %q, opened %d", r.code, r.out, len(b.node.opened))
	}
	if r := b.do("status"); r.code != exitNoDaemon || !strings.Contains(r.out, "chaz-peer run") {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
	if left, _ := filepath.Glob(filepath.Join(b.home, "*")); len(left) != 0 {
		t.Errorf("status made %v", left)
	}
	for _, args := range []string{"session log s --follow", "peers pair --yes"} {
		if r := b.do(strings.Fields(args)...); r.code != exitError || !strings.Contains(r.err, "chaz-peer run") {
			t.Errorf("%s without a daemon: exit %d, %q", args, r.code, r.err)
		}
	}
}

func TestDoctorFindsWhatStopsTheNode(t *testing.T) {
	b := newBench(t)
	if err := os.Chmod(b.home, 0o700); err != nil {
		t.Fatal(err)
	}
	b.setup = func(a *app) {
		a.engine.Open = func(context.Context, nodeOptions) (*control.Client, func() error, error) {
			return nil, nil, &control.Error{Cause: "the store is from a newer version", Remedy: "update chaz-peer"}
		}
	}
	if r := b.do("doctor"); r.code != exitError || !strings.Contains(r.out, "FAULT node: the store is from a newer version\n      → update chaz-peer") {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
	if err := os.WriteFile(filepath.Join(b.home, configFile), []byte("nmae: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := b.do("doctor"); r.code != exitError || !strings.Contains(r.out, `did you mean "name"?`) {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
	if r := b.do("--home", b.home+"/none", "doctor"); r.code != exitError || !strings.Contains(r.out, "FAULT home") {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
}

func TestRunReportsReady(t *testing.T) {
	b := newBench(t)
	var got nodeOptions
	b.run = func(_ context.Context, o nodeOptions, ready func(control.Ready)) error {
		got = o
		ready(control.Ready{PeerID: peerC, Addrs: control.List[string]{"/ip4/127.0.0.1/tcp/1"}})
		return nil
	}
	b.env["CHAZ_CLOCK_SKEW"] = "1h"
	r := b.do("run", "--json", "--listen", "127.0.0.1:0", "--no-mdns", "--clock-skew", "-3d", "--control-tcp", "127.0.0.1:0")
	const want = `{"ready":true,"peer_id":"` + peerC + `","addrs":["/ip4/127.0.0.1/tcp/1"]}` + "\n"
	if r.code != 0 || r.out != want {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.err)
	}
	s := got.Settings
	if strings.Join(s.Listen, " ") != "/ip4/127.0.0.1/udp/0/quic-v1 /ip4/127.0.0.1/tcp/0" || s.MDNS || s.ClockSkewMS != -259_200_000 || s.ControlTCP != "127.0.0.1:0" {
		t.Errorf("settings %+v", s)
	}
	if r := b.do("run", "--clock-skew=+2h"); r.code != 0 || got.Settings.ClockSkewMS != 7_200_000 || !got.Settings.MDNS || !strings.Contains(r.out, "shifted by 2h") {
		t.Errorf("exit %d, %q, %+v", r.code, r.out, got.Settings)
	}
	b.run = func(context.Context, nodeOptions, func(control.Ready)) error {
		return &control.Error{Cause: "port in use", Remedy: "choose another"}
	}
	if r := b.do("run"); r.code != exitError || !strings.Contains(r.err, "try: choose another") {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
}

func TestPairing(t *testing.T) {
	b := newBench(t)
	b.node.results = sampleResults()
	b.daemon(t)
	if r := b.do("peers", "pair"); r.code != exitError || !strings.Contains(r.err, "--yes") {
		t.Errorf("without a person: exit %d, %q", r.code, r.err)
	}
	asked := func() string {
		var names []string
		for _, c := range b.node.calls {
			if c.method == "config" {
				continue // whose clock it is
			}
			names = append(names, strings.TrimPrefix(c.method, "peers.pair."))
		}
		last := b.node.calls[len(b.node.calls)-1].params
		b.node.calls = nil
		return strings.Join(names, " ") + " " + last
	}
	r := b.do("peers", "pair", "--yes", "--json")
	if got := asked(); r.code != 0 || got != `start wait confirm {"pairing":"p1","yes":true,"timeout_ms":600000}` || strings.Count(r.out, "\n") != 2 {
		t.Errorf("exit %d, asked %s, %q", r.code, got, r.out)
	}
	b.tty, b.in, b.env["NO_COLOR"] = true, "y\n", "1"
	r = b.do("peers", "pair", "TICKET", "--timeout", "1m")
	if got := asked(); r.code != 0 || got != `join confirm {"pairing":"p1","yes":true,"timeout_ms":60000}` || !strings.Contains(r.err, "apple river stone") {
		t.Errorf("exit %d, asked %s, %q", r.code, got, r.err)
	}
	b.in = "n\n"
	b.node.results["peers.pair.confirm"] = control.Pairing{State: control.PairRefused}
	r = b.do("peers", "pair", "TICKET")
	if got := asked(); r.code != exitError || !strings.Contains(got, `"yes":false`) {
		t.Errorf("exit %d, asked %s", r.code, got)
	}
}

func TestForgetAsksAPerson(t *testing.T) {
	b := newBench(t)
	b.node.results = sampleResults()
	b.tty, b.in = true, "n\n"
	if r := b.do("session", "forget", "s"); r.code != 0 || len(b.node.calls) != 0 {
		t.Errorf("exit %d, asked the node %d times", r.code, len(b.node.calls))
	}
	b.in = "y\n"
	if r := b.do("session", "forget", "s"); r.code != 0 || len(b.node.calls) != 1 {
		t.Errorf("exit %d, asked the node %d times", r.code, len(b.node.calls))
	}
	if r := b.do("session", "forget", "s", "--yes"); r.code != 0 || len(b.node.calls) != 2 {
		t.Errorf("exit %d, asked the node %d times", r.code, len(b.node.calls))
	}
}

func TestInterruptedIsSaidSo(t *testing.T) {
	b := newBench(t)
	b.setup = func(a *app) {
		a.engine.Open = func(context.Context, nodeOptions) (*control.Client, func() error, error) {
			return nil, nil, context.Canceled
		}
	}
	if r := b.do("id"); r.code != exitError || r.err != "error: interrupted\n" {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
}
