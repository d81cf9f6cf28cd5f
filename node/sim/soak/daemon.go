package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// patience bounds the start and the stop of a daemon; it is far more than either takes.
const patience = 60 * time.Second

// daemon is one peer: a home, and the process that serves it, if one does. One goroutine at a time
// starts and ends it; [daemon.api] is safe for concurrent use.
type daemon struct {
	n      int
	name   string
	exe    string
	home   string
	logTo  string
	id     string
	listen []string
	env    []string
	space  *space        // nil: the machine's own network
	small  *disk         // nil: the home is on an ordinary disk
	skew   time.Duration // of its clock
	extra  []string      // lines of its configuration

	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process is gone
	end    error         // of the process, once ended is closed
	frozen bool
	client atomic.Pointer[control.Client]
}

// up reports whether there is a process, frozen or not.
func (d *daemon) up() bool { return d.cmd != nil }

// api is a client of the daemon; nil when none is to be had.
func (d *daemon) api() *control.Client { return d.client.Load() }

// configure writes the configuration file.
func (d *daemon) configure(static []string) error {
	if err := os.MkdirAll(d.home, 0o700); err != nil {
		return fmt.Errorf("make home of %s: %w", d.name, err)
	}
	text := "name: " + d.name + "\nlog_level: info\n" + strings.Join(d.extra, "\n") + "\n"
	if len(static) > 0 {
		text += "static_peers:\n"
	}
	for _, a := range static {
		text += "  - " + a + "\n"
	}
	if err := os.WriteFile(filepath.Join(d.home, "config.yaml"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("configure %s: %w", d.name, err)
	}
	return nil
}

func (d *daemon) command(args ...string) *exec.Cmd {
	cmd := exec.Command(d.exe, append([]string{"--home", d.home, "--json"}, args...)...)
	cmd.Env = d.env
	cmd.SysProcAttr = procAttr(d.space)
	return cmd
}

// identify asks for the id of the peer, which makes its key.
func (d *daemon) identify() error {
	out, err := d.command("id").Output()
	var id control.ID
	if err == nil {
		err = json.Unmarshal(out, &id)
	}
	if err != nil {
		return fmt.Errorf("ask %s who it is: %w", d.name, err)
	}
	d.id = id.PeerID
	return nil
}

// spawn starts the process; what it says first comes over the channel.
func (d *daemon) spawn() (<-chan []byte, error) {
	log, err := os.OpenFile(d.logTo, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", d.name, err)
	}
	defer log.Close()
	args := []string{"run", "--no-mdns", fmt.Sprintf("--clock-skew=%dms", d.skew.Milliseconds())}
	for _, l := range d.listen {
		args = append(args, "--listen", l)
	}
	cmd := d.command(args...)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", d.name, err)
	}
	if err := d.space.do(cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", d.name, err)
	}
	d.cmd, d.ended, d.frozen = cmd, make(chan struct{}), false
	first, ended := make(chan []byte, 1), d.ended
	go func() {
		r := bufio.NewReader(out)
		line, _ := r.ReadBytes('\n')
		first <- line
		_, _ = io.Copy(io.Discard, r)
		d.end = cmd.Wait()
		close(ended)
	}()
	return first, nil
}

// start starts the process and waits until it serves.
func (d *daemon) start(ctx context.Context) error {
	first, err := d.spawn()
	if err != nil {
		return err
	}
	if err := d.ready(ctx, first); err != nil {
		d.kill()
		return fmt.Errorf("start %s: %w; its log: %s", d.name, err, d.tail(5))
	}
	c, err := control.Dial(d.home)
	if err != nil {
		d.kill()
		return fmt.Errorf("start %s: %w", d.name, err)
	}
	d.client.Store(c)
	return nil
}

func (d *daemon) ready(ctx context.Context, first <-chan []byte) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var r control.Ready
	select {
	case line := <-first:
		if err := json.Unmarshal(line, &r); err != nil || !r.Ready {
			return fmt.Errorf("it said %q", line)
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("it does not serve after %s", patience)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *daemon) gone() {
	if c := d.client.Swap(nil); c != nil {
		_ = c.Close()
	}
	d.cmd, d.frozen = nil, false
}

// kill ends the process as a power cut would.
func (d *daemon) kill() {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Signal(syscall.SIGKILL)
	<-d.ended
	d.gone()
}

// stop ends the process as a service manager would. It must say that it ended well.
func (d *daemon) stop() error {
	if d.cmd == nil {
		return nil
	}
	d.thaw()
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-d.ended:
		err := d.end
		if d.gone(); err != nil {
			return fmt.Errorf("stop %s: %w; its log: %s", d.name, err, d.tail(5))
		}
		return nil
	case <-timer.C:
		_ = d.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines are in the log then
		<-d.ended
		d.gone()
		return fmt.Errorf("stop %s: it did not stop in %s; its log: %s", d.name, patience, d.tail(5))
	}
}

// freeze makes the process stand still, thaw lets it go on.
func (d *daemon) freeze() {
	if d.cmd != nil && d.cmd.Process.Signal(syscall.SIGSTOP) == nil {
		d.frozen = true
	}
}

func (d *daemon) thaw() {
	if d.frozen && d.cmd.Process.Signal(syscall.SIGCONT) == nil {
		d.frozen = false
	}
}

// pause makes a daemon cut another one off, or take it up again: a partition where there is no relay.
func (d *daemon) pause(ctx context.Context, other *daemon, off bool) error {
	api := d.api()
	if api == nil {
		return nil // what does not run is cut off anyway
	}
	e := control.PeersResume
	if off {
		e = control.PeersPause
	}
	if _, err := control.Call(ctx, api, e, control.PeerParams{Peer: other.id}); err != nil {
		return fmt.Errorf("pause or resume %s on %s: %w", other.name, d.name, err)
	}
	return nil
}

// alive is an error if the process has ended by itself.
func (d *daemon) alive() error {
	if d.cmd == nil {
		return fmt.Errorf("%s does not run", d.name)
	}
	select {
	case <-d.ended:
		err := errors.Join(errors.New("the process has ended"), d.end)
		d.gone()
		return fmt.Errorf("%s: %w; its log: %s", d.name, err, d.tail(20))
	default:
		return nil
	}
}

// tail is the end of its log.
func (d *daemon) tail(lines int) string {
	b, err := os.ReadFile(d.logTo)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], " | ")
}
