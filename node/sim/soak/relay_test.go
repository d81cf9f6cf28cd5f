package soak

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// pond is two namespaces with a relay between them. In the second, something answers on TCP and UDP.
type pond struct {
	t      *testing.T
	spaces []*space
	air    *weather
	relay  *relay
	from   chan net.Addr // who spoke to the second
}

func newPond(t *testing.T) *pond {
	t.Helper()
	spaces, err := makeSpaces(2)
	if err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	p := &pond{t: t, spaces: spaces, air: newWeather(1), from: make(chan net.Addr, 1000)}
	if p.relay, err = newRelay(spaces, p.air); err != nil {
		t.Fatal(err)
	}
	var tcp *net.TCPListener
	var udp *net.UDPConn
	err = spaces[1].do(func() (err error) {
		if tcp, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: place(1), Port: relayPort}); err == nil {
			udp, err = net.ListenUDP("udp4", &net.UDPAddr{IP: place(1), Port: relayPort})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	go p.answerTCP(tcp)
	go p.answerUDP(udp)
	t.Cleanup(func() {
		p.relay.close()
		if err := errors.Join(tcp.Close(), udp.Close()); err != nil {
			t.Error(err)
		}
		for _, s := range spaces {
			s.close()
		}
	})
	return p
}

func (p *pond) answerTCP(l *net.TCPListener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		p.from <- c.RemoteAddr()
		go func() {
			defer c.Close()
			_, _ = io.Copy(c, c)
		}()
	}
}

func (p *pond) answerUDP(c *net.UDPConn) {
	b := make([]byte, packetSize)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		p.from <- from
		_, _ = c.WriteTo(b[:n], from)
	}
}

// dial speaks from the first namespace to the second.
func (p *pond) dial(network string) net.Conn {
	p.t.Helper()
	var c net.Conn
	err := p.spaces[0].do(func() (err error) {
		c, err = net.DialTimeout(network, (&net.TCPAddr{IP: place(1), Port: relayPort}).String(), time.Second)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

// echo says something and reports whether it comes back within a time.
func echo(t *testing.T, c net.Conn, text string, within time.Duration) bool {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		return false
	}
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len(text))
	n, err := io.ReadAtLeast(c, b, len(b))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, io.EOF) && over(err) {
		t.Fatal(err)
	}
	return err == nil && string(b[:n]) == text
}

// soon is more than anything takes here, blink less than a test notices.
const (
	soon  = 5 * time.Second
	blink = 150 * time.Millisecond
)

func TestRelayCarries(t *testing.T) {
	p := newPond(t)
	for _, network := range []string{"udp4", "tcp4"} {
		c := p.dial(network)
		if !echo(t, c, "hello", soon) {
			t.Fatalf("%s: nothing comes back", network)
		}
		if host, _, _ := net.SplitHostPort((<-p.from).String()); host != place(0).String() {
			t.Errorf("%s: the other sees %s, want %s", network, host, place(0))
		}
		if network == "tcp4" {
			long := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
			if !echo(t, c, string(long), soon) {
				t.Error("a long text does not come back whole")
			}
		}
	}
}

func TestRelayCuts(t *testing.T) {
	p := newPond(t)
	for _, network := range []string{"udp4", "tcp4"} {
		for _, ways := range [][][2]int{{{0, 1}, {1, 0}}, {{0, 1}}, {{1, 0}}} {
			c := p.dial(network)
			if !echo(t, c, "before", soon) {
				t.Fatalf("%s: nothing comes back", network)
			}
			for _, w := range ways {
				p.air.set(w[0], w[1], func(y *way) { y.blocked = true })
			}
			if echo(t, c, "during", blink) {
				t.Errorf("%s: a cut of %v lets something through", network, ways)
			}
			for _, w := range ways {
				p.air.set(w[0], w[1], func(y *way) { y.blocked = false })
			}
			if network == "udp4" {
				c = p.dial(network) // what was on its way is lost, or late
			} else if !echo(t, c, "", soon) || !drain(c, "during") {
				t.Errorf("%s: the stream lost what was held back", network)
			}
			if !echo(t, c, "after", soon) {
				t.Errorf("%s: nothing comes back after the cut", network)
			}
		}
	}
	if n := p.air.counts().Blocked; n < 6 {
		t.Errorf("%d packets were blocked, want 6 or more", n)
	}
}

// drain reads what was under way.
func drain(c net.Conn, want string) bool {
	b := make([]byte, len(want))
	_ = c.SetReadDeadline(time.Now().Add(soon))
	_, err := io.ReadFull(c, b)
	return err == nil && string(b) == want
}

func TestRelayLosesDoublesAndDelays(t *testing.T) {
	p := newPond(t)
	c := p.dial("udp4")
	p.air.set(0, 1, func(y *way) { y.loss = 0.5 })
	got := 0
	for range 40 {
		if echo(t, c, "x", blink/5) {
			got++
		}
	}
	if lost := p.air.counts().Lost; lost < 5 || got < 5 || int(lost)+got > 45 {
		t.Errorf("%d lost and %d of 40 came back", lost, got)
	}
	p.air.set(0, 1, func(y *way) { *y = way{twice: 1} })
	if !echo(t, c, "twice", soon) || !echo(t, c, "", soon) || !drain(c, "twice") {
		t.Error("a packet does not come twice")
	}
	p.air.set(0, 1, func(y *way) { *y = way{delay: blink} })
	for _, network := range []string{"udp4", "tcp4"} {
		start := time.Now()
		if c := p.dial(network); !echo(t, c, "late", soon) || time.Since(start) < blink {
			t.Errorf("%s: it came after %s, want %s or more", network, time.Since(start), blink)
		}
	}
}

func TestRelayResets(t *testing.T) {
	p := newPond(t)
	tcp, udp := p.dial("tcp4"), p.dial("udp4")
	if !echo(t, tcp, "x", soon) || !echo(t, udp, "x", soon) {
		t.Fatal("nothing comes back")
	}
	<-p.from
	before := <-p.from
	if n := p.relay.reset(1, 0); n != 2 {
		t.Errorf("%d connections end, want 2", n)
	}
	_ = tcp.SetReadDeadline(time.Now().Add(soon))
	if _, err := tcp.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the TCP connection goes on: %v", err)
	}
	for start := time.Now(); !echo(t, udp, "y", blink); {
		if time.Since(start) > soon {
			t.Fatal("UDP does not go on")
		}
	}
	if after := <-p.from; after.String() == before.String() {
		t.Errorf("the packets still come from %s", after)
	}
	// What nobody listens to is refused, not held.
	var nobody net.Conn
	err := p.spaces[1].do(func() (err error) {
		nobody, err = net.DialTimeout("tcp4", (&net.TCPAddr{IP: place(0), Port: relayPort}).String(), time.Second)
		return err
	})
	if err == nil {
		defer nobody.Close()
		_ = nobody.SetReadDeadline(time.Now().Add(soon))
		if _, err := nobody.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection to nobody: %v", err)
		}
	}
}

func TestSmallDisk(t *testing.T) {
	d, err := newDisk(t.TempDir())
	if err != nil {
		t.Skipf("no small disks here: %v", err)
	}
	defer func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}()
	write := func() error { return os.WriteFile(d.path+"/x", make([]byte, 1<<20), 0o600) }
	if err := write(); err != nil {
		t.Fatal(err)
	}
	for _, leave := range []int64{0, 512 << 10} {
		if err := d.fill(leave); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.path+"/y", make([]byte, 1<<20), 0o600); err == nil {
			t.Errorf("there is room for a megabyte, want %d bytes", leave)
		}
		if err := errors.Join(d.room(), os.Remove(d.path+"/y")); err != nil {
			t.Fatal(err)
		}
		if err := write(); err != nil {
			t.Errorf("no room again: %v", err)
		}
	}
}
