package soak

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	packetSize = 64 << 10
	flowIdle   = 2 * time.Minute
)

// flows are the UDP flows through one door, by the address that the sender has there. A flow has a
// socket in the other namespace, with the sender's address and a port of its own.
type flows struct {
	mu  sync.Mutex
	all map[netip.AddrPort]*net.UDPConn
}

func (f *flows) get(from netip.AddrPort) *net.UDPConn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[from]
}

// receive carries what comes to the door of j in the namespace of i.
func (r *relay) receive(door *net.UDPConn, i, j int) {
	f := &flows{all: map[netip.AddrPort]*net.UDPConn{}}
	b := make([]byte, packetSize)
	for {
		n, from, err := door.ReadFromUDPAddrPort(b)
		if err != nil {
			if over(err) {
				return
			}
			continue // somebody is not there; UDP goes on
		}
		out := f.get(from)
		if out == nil {
			if out = r.flow(f, door, from, i, j); out == nil {
				continue
			}
		}
		r.carry(i, j, b[:n], func(p []byte) { _, _ = out.Write(p) })
	}
}

// flow opens a flow and carries its answers.
func (r *relay) flow(f *flows, door *net.UDPConn, from netip.AddrPort, i, j int) *net.UDPConn {
	var out *net.UDPConn
	err := r.spaces[j].do(func() (err error) {
		out, err = net.DialUDP("udp4", &net.UDPAddr{IP: place(i)}, &net.UDPAddr{IP: place(j), Port: relayPort})
		return err
	})
	if err != nil {
		return nil // as if nobody were there
	}
	f.mu.Lock()
	f.all[from] = out
	f.mu.Unlock()
	r.track(out, i, j)
	r.wg.Go(func() {
		defer func() {
			f.mu.Lock()
			if f.all[from] == out {
				delete(f.all, from)
			}
			f.mu.Unlock()
			r.drop(out)
		}()
		b := make([]byte, packetSize)
		for last := time.Now(); time.Since(last) < flowIdle; {
			_ = out.SetReadDeadline(time.Now().Add(flowIdle))
			n, err := out.Read(b)
			if over(err) {
				return
			}
			if err != nil {
				time.Sleep(10 * time.Millisecond) // nobody is there at the moment
				continue
			}
			last = time.Now()
			r.carry(j, i, b[:n], func(p []byte) { _, _ = door.WriteToUDPAddrPort(p, from) })
		}
	})
	return out
}

// carry delivers one packet as the weather wants it. Errors are losses, as ever with UDP.
func (r *relay) carry(from, to int, b []byte, send func([]byte)) {
	copies, after := r.air.packet(from, to)
	if copies == 0 {
		return
	}
	if after == 0 {
		for range copies {
			send(b)
		}
		return
	}
	held := append([]byte(nil), b...)
	time.AfterFunc(after, func() {
		for range copies {
			send(held)
		}
	})
}
