package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
	"github.com/chaz-peer/chaz-peer/node/sim"
)

func newStage(exe, dir string, s *sim.Scenario, log io.Writer) (*stage, error) {
	g := &stage{s: s, number: map[string]int{}, member: make([]bool, len(s.Peers)), cutoff: map[[2]int]bool{}, backup: map[int]string{}, full: map[int]bool{}, role: map[string]string{}}
	if err := g.casting(); err != nil {
		return nil, err
	}
	var specs []spec
	for i, p := range s.Peers {
		g.number[p.Name] = i
		sp := spec{name: p.Name, skew: skewOf(p.Clock)}
		sp.small = slices.ContainsFunc(s.Steps, func(st sim.Step) bool { return st.Do == sim.DoFull && st.Peer == p.Name })
		if p.Rogue {
			sp.env = append(sp.env, "CHAZ_UNSAFE_IGNORE_ROLE=1")
		}
		specs = append(specs, sp)
	}
	var err error
	// Over TCP both ends notice at once that a link was cut, as those of a story do.
	g.c, err = newCluster(exe, dir, false, s.Seed, log, specs)
	return g, err
}

// players are the built-ins that can play extensions of a story: an extension by reference would have to
// be there, and trusted.
var players = [...]string{"memory", "web", "skills", "fs", "schedule", "system", "path_normalizer", "security_warnings"}

// casting gives each extension of the story a built-in that plays it.
func (g *stage) casting() error {
	for i, st := range g.s.Steps {
		if st.Do != sim.DoOn && st.Do != sim.DoOff || g.role[st.Name] != "" {
			continue
		}
		if len(g.role) == len(players) {
			return fmt.Errorf("step %d (%s): a story has at most %d extensions with daemons", i+1, st.Do, len(players))
		}
		g.role[st.Name] = players[len(g.role)]
	}
	return nil
}

// skewOf is by how much a clock is off that shows what the scenario says.
func skewOf(c sim.ScenarioClock) time.Duration {
	if c.At == "" {
		return time.Duration(c.Offset)
	}
	return showing(c.At, time.Duration(c.Offset))
}

// showing is by how much a clock is off that shows a stamp now. The ends of what a clock can show are as
// far away as a duration reaches, which is 292 years.
func showing(at sim.Stamp, more time.Duration) time.Duration {
	switch at {
	case "min":
		return -1 << 63
	case "max":
		return 1<<63 - 1
	}
	ms, err := crdt.ParseStamp(string(at))
	if err != nil {
		return more // it was checked before
	}
	return time.Until(time.UnixMilli(ms)) + more
}

// needs reports what the story needs and this machine does not allow.
func (g *stage) needs() error {
	for i, st := range g.s.Steps {
		switch {
		case (st.Do == sim.DoFull || st.Do == sim.DoRoom) && g.c.peers[g.number[st.Peer]].small == nil:
			return fmt.Errorf("step %d (%s): not on this machine: %s", i+1, st.Do, g.c.skipped["disk_full"])
		case (st.Do == sim.DoBlock || st.Do == sim.DoUnblock || st.Do == sim.DoReset) && g.c.relay == nil:
			return fmt.Errorf("step %d (%s): not on this machine: %s", i+1, st.Do, g.c.skipped["network"])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.role)) {
		g.c.say("%s is played by the built-in %s", name, g.role[name])
	}
	if g.c.relay == nil {
		g.c.say("without a relay links have no latency, and a partition is a pause on both sides: %s", g.c.skipped["network"])
	}
	return nil
}

// begin starts the daemons, brings the session to all that have a role, and sets up the links.
func (g *stage) begin(ctx context.Context) error {
	if err := g.prologue(ctx); err != nil {
		return err
	}
	if err := g.c.start(ctx); err != nil {
		return err
	}
	for i, p := range g.s.Peers {
		role := p.Role
		if role == "" {
			role = "write"
		}
		g.member[i] = i == 0 || role != "none"
		if i > 0 && g.member[i] {
			if err := g.c.admit(ctx, g.c.peers[0], g.c.peers[i], g.session, role, sessionName); err != nil {
				return err
			}
		}
	}
	if err := g.quiet(ctx, settleIn); err != nil {
		return err
	}
	return g.links(ctx)
}

// longAgo is what the clock shows when a session is prepared: what is stamped then is older than all that
// the story stamps.
const longAgo = sim.Stamp("1970-01-02T00:00:00Z")

// prologue makes the session on the first daemon. A session of daemons begins with all built-ins active,
// one of a story with none.
func (g *stage) prologue(ctx context.Context) error {
	d := g.c.peers[0]
	own := d.skew
	d.skew = showing(longAgo, 0)
	if err := d.start(ctx); err != nil {
		return err
	}
	var err error
	if g.session, err = g.c.session(ctx, sessionName, nil); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Values(g.role)) {
		if err := g.turn(ctx, d, "remove", name); err != nil {
			return err
		}
	}
	if err := d.stop(); err != nil {
		return err
	}
	d.skew = own
	return nil
}

// turn switches a built-in.
func (g *stage) turn(ctx context.Context, d *daemon, verb, name string) error {
	r, err := control.Call(ctx, d.api(), control.RunCmd, control.CmdParams{Session: g.session, Line: "/extensions " + verb + " " + name})
	if err == nil && !r.OK {
		err = errors.New(r.Output)
	}
	if err != nil {
		return fmt.Errorf("%s %s on %s: %w", verb, name, d.name, err)
	}
	return nil
}

// links gives each link its latency, and cuts those that are down at first.
func (g *stage) links(ctx context.Context) error {
	for i := range g.s.Peers {
		for j := range g.s.Peers {
			if i != j {
				latency, jitter := time.Duration(g.s.Latency), time.Duration(g.s.Jitter)
				g.c.air.set(i, j, func(y *way) { y.delay, y.jitter = latency, jitter })
			}
		}
	}
	for _, l := range g.s.Links {
		i, j := g.number[l.Between[0]], g.number[l.Between[1]]
		for _, w := range [][2]int{{i, j}, {j, i}} {
			g.c.air.set(w[0], w[1], func(y *way) {
				if l.Latency > 0 {
					y.delay = time.Duration(l.Latency)
				}
				if l.Jitter > 0 {
					y.jitter = time.Duration(l.Jitter)
				}
			})
		}
		if l.Down {
			if err := g.cut(ctx, i, j, true); err != nil {
				return err
			}
		}
	}
	return nil
}
