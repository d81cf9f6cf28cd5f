package soak

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// relayPort is where each daemon listens in its namespace, on TCP and UDP.
const relayPort = 4001

// place is the address of daemon n, the same in every namespace: its own there, the relay's in all
// others. All of 127.0.0.0/8 is local to a namespace.
func place(n int) net.IP { return net.IPv4(127, 0, 1, byte(n+1)) }

// relay carries what daemons send each other between their namespaces. In the namespace of each of
// them it stands at the addresses of all others, so that they can't tell it from a network.
type relay struct {
	air    *weather
	spaces []*space
	done   chan struct{}
	wg     sync.WaitGroup

	mu    sync.Mutex
	open  map[io.Closer][2]int // connections and flows, and between whom
	doors []io.Closer
}

// newRelay starts carrying. close ends it.
func newRelay(spaces []*space, air *weather) (*relay, error) {
	r := &relay{air: air, spaces: spaces, done: make(chan struct{}), open: map[io.Closer][2]int{}}
	for i := range spaces {
		for j := range spaces {
			if i == j {
				continue
			}
			if err := r.door(i, j); err != nil {
				r.close()
				return nil, fmt.Errorf("start the relay: %w", err)
			}
		}
	}
	return r, nil
}

// door opens the address of j in the namespace of i.
func (r *relay) door(i, j int) error {
	var tcp *net.TCPListener
	var udp *net.UDPConn
	err := r.spaces[i].do(func() (err error) {
		if tcp, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: place(j), Port: relayPort}); err != nil {
			return err
		}
		udp, err = net.ListenUDP("udp4", &net.UDPAddr{IP: place(j), Port: relayPort})
		return err
	})
	if tcp != nil {
		r.doors = append(r.doors, tcp)
	}
	if udp != nil {
		r.doors = append(r.doors, udp)
	}
	if err != nil {
		return err
	}
	r.wg.Go(func() { r.accept(tcp, i, j) })
	r.wg.Go(func() { r.receive(udp, i, j) })
	return nil
}

// track remembers something that a reset ends.
func (r *relay) track(c io.Closer, i, j int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[c] = [2]int{i, j}
	select {
	case <-r.done:
		_ = c.Close() // too late to be of use
	default:
	}
}

func (r *relay) drop(c io.Closer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, c)
	_ = c.Close()
}

// reset ends the TCP connections between two daemons and gives their UDP packets new ports, as a
// router does that was restarted.
func (r *relay) reset(i, j int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for c, ends := range r.open {
		if ends == [2]int{i, j} || ends == [2]int{j, i} {
			_ = c.Close()
			delete(r.open, c)
			n++
		}
	}
	r.air.resets(n)
	return n
}

// close ends everything and waits for it.
func (r *relay) close() {
	close(r.done)
	r.mu.Lock()
	for c := range r.open {
		_ = c.Close()
	}
	for _, c := range r.doors {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// over reports whether an error is the end of a connection that was closed here.
func over(err error) bool { return errors.Is(err, net.ErrClosed) }
