package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// demoPeer is one daemon of the demo, a child process, and a client of it.
type demoPeer struct {
	name string
	home string
	id   string
	skew string
	exe  string

	cmd    *exec.Cmd
	client *control.Client
	log    *os.File
}

// startPeer starts a daemon on loopback and waits until it serves.
func (d *demo) startPeer(ctx context.Context, name, skew string) (*demoPeer, error) {
	p := &demoPeer{name: name, home: d.home(name), skew: skew, exe: d.exe}
	d.peers = append(d.peers, p)
	if err := os.MkdirAll(p.home, 0o700); err != nil {
		return nil, err
	}
	// Each peer names itself, so that the narration can tell them apart.
	if err := os.WriteFile(p.home+"/"+configFile, []byte("name: peer-"+name+"\n"+d.extraConfig(name)), 0o600); err != nil {
		return nil, err
	}
	return p, p.start(ctx)
}

func (p *demoPeer) start(ctx context.Context) error {
	log, err := os.OpenFile(p.home+"/daemon.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	p.log = log
	p.cmd = exec.Command(p.exe, "--home", p.home, "--json", "run", "--no-mdns", "--clock-skew="+p.skew,
		"--listen", "/ip4/127.0.0.1/udp/0/quic-v1", "--listen", "/ip4/127.0.0.1/tcp/0")
	p.cmd.Stderr = log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start peer %s: %w", p.name, err)
	}
	ready, err := awaitReady(ctx, out)
	if err != nil {
		return fmt.Errorf("start peer %s: %w; its log: %s", p.name, err, p.lastLog())
	}
	p.id = ready.PeerID
	p.client, err = control.Dial(p.home)
	return err
}

func awaitReady(ctx context.Context, out io.Reader) (control.Ready, error) {
	type answer struct {
		r   control.Ready
		err error
	}
	c := make(chan answer, 1)
	go func() {
		var a answer
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if a.err = err; err == nil {
			a.err = json.Unmarshal(line, &a.r)
		}
		c <- a
		_, _ = io.Copy(io.Discard, out)
	}()
	select {
	case a := <-c:
		return a.r, a.err
	case <-ctx.Done():
		return control.Ready{}, ctx.Err()
	}
}

func (p *demoPeer) lastLog() string {
	b, err := os.ReadFile(p.home + "/daemon.log")
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], " | ")
}

// kill ends the daemon at once, as a power cut would.
func (p *demoPeer) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
	_ = p.client.Close()
	_ = p.log.Close()
	p.cmd = nil
}

// stop ends the daemon as a person would, and only then the hard way.
func (p *demoPeer) stop() error {
	if p.cmd == nil || p.cmd.Process == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		return errors.Join(err, p.log.Close())
	case <-time.After(15 * time.Second):
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("stop peer %s: it did not stop in 15 s", p.name)
	}
}

// slash runs a slash command that must work.
func (p *demoPeer) slash(ctx context.Context, session, agent, line string) (string, error) {
	r, err := control.Call(ctx, p.client, control.RunCmd, control.CmdParams{Session: session, Agent: agent, Line: line})
	if err == nil && !r.OK {
		err = errors.New(r.Output)
	}
	if err != nil {
		return "", fmt.Errorf("%s on %s: %w", line, p.name, err)
	}
	return r.Output, nil
}

func (p *demoPeer) show(ctx context.Context, session, agent string) (control.SessionShow, error) {
	return control.Call(ctx, p.client, control.SessionDetails, control.SessionShowParams{Session: session, Agent: agent})
}

// active lists what is on, by the session's log.
func active(s control.SessionShow) []string {
	var out []string
	for _, e := range s.Extensions {
		if e.SessionActive {
			out = append(out, e.Name+" "+string(e.Ref))
		}
	}
	return out
}

func (p *demoPeer) talk(ctx context.Context, session string) (string, error) {
	var b strings.Builder
	_, err := control.CallStream(ctx, p.client, control.SessionLog, control.SessionLogParams{Session: session}, nil, func(e control.Entry) error {
		fmt.Fprintln(&b, e.ID)
		return nil
	})
	return b.String(), err
}

// agree waits until the peers have equal heads, then compares what they show.
func (d *demo) agree(ctx context.Context, peers ...*demoPeer) (control.SessionShow, error) {
	for {
		var shows []control.SessionShow
		for _, p := range peers {
			s, err := p.show(ctx, d.session, "")
			if err != nil {
				return s, fmt.Errorf("ask %s: %w", p.name, err)
			}
			shows = append(shows, s)
		}
		if !slices.ContainsFunc(shows, func(s control.SessionShow) bool { return !slices.Equal(s.Heads, shows[0].Heads) }) {
			return shows[0], d.equal(ctx, shows, peers)
		}
		if pauseFor(ctx) != nil {
			return shows[0], fmt.Errorf("%s and %s still differ", peers[0].name, peers[len(peers)-1].name)
		}
	}
}

func (d *demo) equal(ctx context.Context, shows []control.SessionShow, peers []*demoPeer) error {
	first, err := peers[0].talk(ctx, d.session)
	if err != nil {
		return err
	}
	for i, p := range peers {
		log, err := p.talk(ctx, d.session)
		switch {
		case err != nil:
			return err
		case log != first:
			return fmt.Errorf("%s and %s have equal heads and show different conversations", peers[0].name, p.name)
		case !slices.Equal(active(shows[i]), active(shows[0])):
			return fmt.Errorf("%s and %s have equal heads and different active sets: %v, %v", peers[0].name, p.name, active(shows[0]), active(shows[i]))
		}
	}
	return nil
}
