package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// cluster is a set of daemons that know each other, and what is between them.
type cluster struct {
	exe     string
	dir     string
	log     io.Writer
	peers   []*daemon
	quic    bool // they talk over QUIC too, not over TCP only
	air     *weather
	relay   *relay            // nil without namespaces
	skipped map[string]string // what this machine does not allow, and why
}

// spec is what a daemon is made of.
type spec struct {
	name  string
	skew  time.Duration
	small bool     // its home is on a small disk
	env   []string // beside the usual
}

// newCluster makes homes, namespaces and the relay, and writes configurations. Nothing runs yet.
func newCluster(exe, dir string, quic bool, seed uint64, log io.Writer, specs []spec) (*cluster, error) {
	c := &cluster{exe: exe, dir: dir, quic: quic, log: log, air: newWeather(seed), skipped: map[string]string{}}
	spaces, err := makeSpaces(len(specs))
	if err != nil {
		c.skipped["network"] = err.Error()
	}
	for i, s := range specs {
		c.peers = append(c.peers, &daemon{n: i, name: s.name, exe: exe, logTo: filepath.Join(dir, s.name+".log"), home: filepath.Join(dir, s.name), skew: s.skew})
		d := c.peers[i]
		d.env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir()}, s.env...)
		if spaces != nil {
			d.space = spaces[i]
		}
		if s.small {
			c.smallDisk(d)
		}
	}
	if spaces != nil {
		if c.relay, err = newRelay(spaces, c.air); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	if err := c.introduce(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// makeSpaces makes one for each daemon, or none at all.
func makeSpaces(n int) ([]*space, error) {
	var out []*space
	for range n {
		s, err := newSpace()
		if err != nil {
			for _, s := range out {
				s.close()
			}
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (c *cluster) smallDisk(d *daemon) {
	at := filepath.Join(c.dir, d.name+"-disk")
	small, err := newDisk(at)
	if err != nil {
		c.skipped["disk_full"] = err.Error()
		return
	}
	d.small, d.home = small, filepath.Join(at, "home")
}

// introduce tells each daemon where the others are.
func (c *cluster) introduce() error {
	static := make([]string, 0, 2*len(c.peers))
	for _, d := range c.peers {
		ip, port := place(d.n).String(), relayPort
		if c.relay == nil {
			ip = "127.0.0.1"
			var err error
			if port, err = freePort(); err != nil {
				return err
			}
		}
		d.listen = []string{fmt.Sprintf("/ip4/%s/tcp/%d", ip, port)}
		if c.quic {
			d.listen = append(d.listen, fmt.Sprintf("/ip4/%s/udp/%d/quic-v1", ip, port))
		}
		if err := d.configure(nil); err != nil {
			return err
		}
		if err := d.identify(); err != nil {
			return err
		}
		for _, l := range d.listen {
			static = append(static, l+"/p2p/"+d.id)
		}
	}
	for _, d := range c.peers {
		var others []string
		for _, a := range static {
			if !strings.HasSuffix(a, d.id) {
				others = append(others, a)
			}
		}
		if err := d.configure(others); err != nil {
			return err
		}
	}
	return nil
}

// freePort is one that nobody uses now, for TCP and UDP.
func freePort() (int, error) {
	for range 20 {
		l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		u, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		_ = l.Close()
		if err == nil {
			return port, u.Close()
		}
	}
	return 0, errors.New("find a free port: none is free for TCP and UDP")
}

// say writes a line for whoever watches.
func (c *cluster) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.log, "%s  %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

// start starts all that do not run.
func (c *cluster) start(ctx context.Context) error {
	for _, d := range c.peers {
		if !d.up() {
			if err := d.start(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// close stops all daemons in order and lets go of everything but the files.
func (c *cluster) close() error {
	var errs []error
	for _, d := range c.peers {
		errs = append(errs, d.stop())
	}
	if c.relay != nil {
		c.relay.close()
	}
	for _, d := range c.peers {
		d.space.close()
		if d.small != nil {
			errs = append(errs, d.small.close())
		}
	}
	return errors.Join(errs...)
}

// session makes a session on the first daemon and brings it to others with roles (empty: not to that
// one). It returns its id.
func (c *cluster) session(ctx context.Context, name string, roles []string) (string, error) {
	first := c.peers[0]
	made, err := control.Call(ctx, first.api(), control.SessionNew, control.SessionNewParams{Name: name})
	if err != nil {
		return "", fmt.Errorf("make a session on %s: %w", first.name, err)
	}
	for i, role := range roles {
		if i == 0 || role == "" {
			continue
		}
		if err := c.admit(ctx, first, c.peers[i], made.ID, role, name); err != nil {
			return "", err
		}
	}
	return made.ID, nil
}

// admit lets a peer in by a ticket of another, and waits until it has the session.
func (c *cluster) admit(ctx context.Context, by, who *daemon, session, role, name string) error {
	t, err := control.Call(ctx, by.api(), control.SessionShare, control.SessionShareParams{Session: session, ShareOptions: control.ShareOptions{Role: role, Uses: 1}})
	if err != nil {
		return fmt.Errorf("share the session on %s: %w", by.name, err)
	}
	j, err := control.Call(ctx, who.api(), control.SessionJoin, control.JoinParams{Ticket: t.Ticket, Name: name, WaitMS: patience.Milliseconds()})
	if err == nil && j.State != control.StateReady {
		err = fmt.Errorf("%s: %s", j.State, j.Reason)
	}
	if err != nil {
		return fmt.Errorf("%s joins: %w", who.name, err)
	}
	return nil
}
