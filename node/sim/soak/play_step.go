package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
	"github.com/chaz-peer/chaz-peer/node/sim"
)

// play does one step.
func (g *stage) play(ctx context.Context, st *sim.Step) error {
	ctx, cancel := context.WithTimeout(ctx, 2*settleIn)
	defer cancel()
	g.c.say("at %s: %s", g.now.Round(time.Millisecond), strings.Join(strings.Fields(string(st.Do)+" "+st.Peer+" "+st.With+" "+st.Name+" "+st.Text), " "))
	switch st.Do {
	case sim.DoPartition, sim.DoHeal:
		return g.partition(ctx, st)
	case sim.DoWait:
		most := settleIn
		if st.For > 0 {
			most = max(time.Duration(st.For), longest)
		}
		return g.quiet(ctx, most)
	case sim.DoExpect:
		return g.expect(ctx, st.Expect)
	}
	d := g.c.peers[g.number[st.Peer]]
	switch st.Do {
	case sim.DoOn, sim.DoOff, sim.DoPost, sim.DoGrant, sim.DoJoin:
		return g.person(ctx, st, d)
	case sim.DoBlock, sim.DoUnblock, sim.DoReset:
		return g.link(st, d)
	}
	return g.machine(ctx, st, d)
}

// person does what somebody does at a daemon.
func (g *stage) person(ctx context.Context, st *sim.Step, d *daemon) error {
	api := d.api()
	if api == nil {
		return fmt.Errorf("%s does not run", d.name)
	}
	switch st.Do {
	case sim.DoPost:
		_, err := control.Call(ctx, api, control.SessionPost, control.SessionPostParams{Session: g.session, Content: st.Text})
		if err != nil && g.full[d.n] {
			g.c.say("%s refuses it: %v", d.name, err)
			return nil
		}
		return err
	case sim.DoGrant, sim.DoJoin:
		with := g.number[st.With]
		by, who := d, g.c.peers[with]
		if st.Do == sim.DoJoin {
			by, who = who, by
		}
		g.member[who.n] = true
		return g.c.admit(ctx, by, who, g.session, st.Role, sessionName)
	}
	verb := "add"
	if st.Do == sim.DoOff {
		verb = "remove"
	}
	s, err := d.show(ctx, g.session)
	if err != nil {
		return err
	}
	for _, e := range s.Extensions {
		if e.Name == g.role[st.Name] && e.SessionActive == (verb == "add") {
			return fmt.Errorf("%w: %s stands so already on %s, where a daemon writes nothing", ErrOnlySimulated, st.Name, d.name)
		}
	}
	return g.turn(ctx, d, verb, g.role[st.Name])
}

// link does what happens to the way between two daemons.
func (g *stage) link(st *sim.Step, d *daemon) error {
	with := g.number[st.With]
	if st.Do == sim.DoReset {
		g.c.relay.reset(d.n, with)
		return nil
	}
	off := st.Do == sim.DoBlock
	g.c.air.set(d.n, with, func(y *way) { y.blocked = off })
	if !off {
		g.c.air.set(with, d.n, func(y *way) { y.blocked = false })
		return nil
	}
	g.later(time.Duration(st.For), func(context.Context) error {
		g.c.air.set(d.n, with, func(y *way) { y.blocked = false })
		return nil
	})
	return nil
}

// machine does what happens to a process, a disk or a clock.
func (g *stage) machine(ctx context.Context, st *sim.Step, d *daemon) error {
	again := func() {
		g.later(time.Duration(st.For), func(ctx context.Context) error { return g.up(ctx, d) })
	}
	switch st.Do {
	case sim.DoCrash:
		d.kill()
		again()
		return nil
	case sim.DoStop:
		again()
		return d.stop()
	case sim.DoRestart:
		return g.up(ctx, d)
	case sim.DoBackup:
		return g.save(ctx, d)
	case sim.DoRestore:
		again()
		return g.restore(d)
	case sim.DoFull:
		g.full[d.n] = true
		g.later(time.Duration(st.For), func(context.Context) error { return g.room(d) })
		return d.small.fill(0)
	case sim.DoRoom:
		return g.room(d)
	case sim.DoJump:
		return g.clock(ctx, d, shifted(d.skew, time.Duration(st.By)))
	case sim.DoClock:
		return g.clock(ctx, d, showing(st.To, 0))
	case sim.DoCorrect:
		return g.clock(ctx, d, g.now)
	}
	return fmt.Errorf("%s is not known here", st.Do)
}

// up starts a daemon that does not run.
func (g *stage) up(ctx context.Context, d *daemon) error {
	if d.up() {
		return nil
	}
	return d.start(ctx)
}

func (g *stage) room(d *daemon) error {
	if !g.full[d.n] {
		return nil
	}
	g.full[d.n] = false
	return d.small.room()
}

// clock brings a daemon back with another clock, if it runs.
func (g *stage) clock(ctx context.Context, d *daemon, skew time.Duration) error {
	was := d.up()
	if err := d.stop(); err != nil {
		return err
	}
	if d.skew = skew; was {
		return d.start(ctx)
	}
	return nil
}

// save copies the home of a daemon, which stands still meanwhile.
func (g *stage) save(ctx context.Context, d *daemon) error {
	was := d.up()
	if err := d.stop(); err != nil {
		return err
	}
	to := filepath.Join(g.c.dir, d.name+"-backup")
	if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(d.home))); err != nil {
		return fmt.Errorf("back up %s: %w", d.name, err)
	}
	if g.backup[d.n] = to; was {
		return d.start(ctx)
	}
	return nil
}

// restore puts the copy in the place of the home.
func (g *stage) restore(d *daemon) error {
	from, ok := g.backup[d.n]
	if !ok {
		return fmt.Errorf("%s has no backup", d.name)
	}
	d.kill()
	if err := errors.Join(os.RemoveAll(d.home), os.CopyFS(d.home, os.DirFS(from))); err != nil {
		return fmt.Errorf("restore %s: %w", d.name, err)
	}
	return tighten(d.home)
}

// tighten gives a copied home the modes of one: only its owner reads it.
func tighten(home string) error {
	return filepath.WalkDir(home, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.Chmod(path, 0o700)
		case e.Type().IsRegular():
			return os.Chmod(path, 0o600)
		}
		return nil
	})
}

// partition cuts or heals links, as the fields of the step say.
func (g *stage) partition(ctx context.Context, st *sim.Step) error {
	off := st.Do == sim.DoPartition
	pairs := g.pairs(st)
	for _, p := range pairs {
		if err := g.cut(ctx, p[0], p[1], off); err != nil {
			return err
		}
	}
	if off {
		g.later(time.Duration(st.For), func(ctx context.Context) error {
			for _, p := range pairs {
				if err := g.cut(ctx, p[0], p[1], false); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return nil
}

// pairs lists the links that a step is about.
func (g *stage) pairs(st *sim.Step) (out [][2]int) {
	for i, a := range st.Groups {
		for _, b := range st.Groups[i+1:] {
			for _, x := range a {
				for _, y := range b {
					out = append(out, [2]int{g.number[x], g.number[y]})
				}
			}
		}
	}
	switch {
	case len(st.Groups) > 0:
	case st.Peer != "" && st.With != "":
		out = append(out, [2]int{g.number[st.Peer], g.number[st.With]})
	default:
		for i := range g.s.Peers {
			for j := range i {
				if x, ok := g.number[st.Peer]; !ok || x == i || x == j {
					out = append(out, [2]int{j, i})
				}
			}
		}
	}
	return out
}

// cut cuts a link, or heals it. Both ends notice at once what can be noticed at once.
func (g *stage) cut(ctx context.Context, i, j int, off bool) error {
	g.cutoff[[2]int{min(i, j), max(i, j)}] = off
	if g.c.relay != nil {
		if g.c.air.cut(i, j, off); off {
			g.c.relay.reset(i, j)
		}
		return nil
	}
	for _, w := range [][2]int{{i, j}, {j, i}} {
		if err := g.c.peers[w[0]].pause(ctx, g.c.peers[w[1]], off); err != nil {
			return err
		}
	}
	return nil
}
