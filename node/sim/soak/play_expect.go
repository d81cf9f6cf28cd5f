package soak

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
	"github.com/chaz-peer/chaz-peer/node/sim"
)

// calm is how long nothing may change before the story counts as quiet.
const calm = 1500 * time.Millisecond

// quiet waits until daemons that reach each other have the same and nothing has changed for a while.
func (g *stage) quiet(ctx context.Context, most time.Duration) error {
	start, since, last := time.Now(), time.Now(), ""
	for {
		heads, apart := g.heads(ctx)
		if heads != last {
			last, since = heads, time.Now()
		}
		if apart == "" && time.Since(since) >= calm {
			g.now += time.Since(start)
			return nil
		}
		if time.Since(start) > most {
			return fmt.Errorf("not quiet after %s: %s", most, apart)
		}
		if err := rest(ctx, lookAgain); err != nil {
			return err
		}
	}
}

// heads says what all daemons have, and why two that reach each other differ, if they do.
func (g *stage) heads(ctx context.Context) (all, apart string) {
	shows := make([]*control.SessionShow, len(g.c.peers))
	for i, d := range g.c.peers {
		if d.up() && g.member[i] {
			if s, err := d.show(ctx, g.session); err == nil {
				shows[i] = &s
				all += fmt.Sprint(i, s.Heads, s.StoredOn)
			}
		}
	}
	for i, a := range shows {
		for j, b := range shows[:i] {
			if a == nil || b == nil || !g.reach(i, j) || g.s.Peers[i].Rogue || g.s.Peers[j].Rogue {
				continue
			}
			if !slices.Equal(a.Heads, b.Heads) {
				apart = fmt.Sprintf("%s has %d entries, %s %d%s", g.c.peers[i].name, a.Entries, g.c.peers[j].name, b.Entries, reasons(*a))
			}
		}
	}
	return all, apart
}

// reach reports whether both directions between two daemons are open.
func (g *stage) reach(i, j int) bool {
	return !g.cutoff[[2]int{min(i, j), max(i, j)}] && !g.c.air.blocked(i, j) && !g.c.air.blocked(j, i)
}

// expect holds what the scenario says against what daemons show.
func (g *stage) expect(ctx context.Context, e *sim.Expect) error {
	asked := g.asked(e)
	var views []view
	var with []*daemon
	for _, d := range asked {
		if err := d.alive(); err != nil {
			return err
		}
		has := g.has(ctx, d)
		if e.Has != nil && has != *e.Has {
			return fmt.Errorf("%s has the session: %v, want %v", d.name, has, *e.Has)
		}
		if !has {
			if e.Has == nil {
				return fmt.Errorf("%s does not have the session", d.name)
			}
			continue
		}
		v, err := d.look(ctx, g.session)
		if err != nil {
			return err
		}
		if err := g.one(d, e, v); err != nil {
			return err
		}
		if e.Scratch {
			if err := d.doctor(ctx); err != nil {
				return err
			}
		}
		views, with = append(views, v), append(with, d)
	}
	return agree(e, with, views)
}

// asked lists who an expectation is about.
func (g *stage) asked(e *sim.Expect) (out []*daemon) {
	for _, name := range e.Peers {
		out = append(out, g.c.peers[g.number[name]])
	}
	if len(e.Peers) == 0 {
		for i, d := range g.c.peers {
			if d.up() && g.member[i] && !g.s.Peers[i].Rogue {
				out = append(out, d)
			}
		}
	}
	return out
}

func (g *stage) has(ctx context.Context, d *daemon) bool {
	_, err := d.show(ctx, g.session)
	return err == nil
}

func (g *stage) one(d *daemon, e *sim.Expect, v view) error {
	on := map[string]bool{}
	for _, x := range v.show.Extensions {
		if x.SessionActive {
			on[x.Name] = true
		}
	}
	for _, name := range e.Active {
		if !on[g.role[name]] {
			return fmt.Errorf("%s is not active on %s; active: %s", name, d.name, strings.Join(active(v.show), ", "))
		}
	}
	for _, name := range e.Inactive {
		if on[g.role[name]] {
			return fmt.Errorf("%s is active on %s", name, d.name)
		}
	}
	switch {
	case e.Entries != nil && len(v.entries) != *e.Entries:
		return fmt.Errorf("%s has %d entries, want %d", d.name, len(v.entries), *e.Entries)
	case e.StoredOn != nil && v.show.StoredOn < *e.StoredOn:
		return fmt.Errorf("%s knows of %d copies, want %d", d.name, v.show.StoredOn, *e.StoredOn)
	}
	return nil
}

func agree(e *sim.Expect, peers []*daemon, views []view) error {
	if e.Agree == nil {
		return nil
	}
	var differ error
	for i := range views {
		if i > 0 && differ == nil {
			differ = same(peers[0], peers[i], views[0], views[i])
			if differ != nil && !slices.Equal(views[0].show.Heads, views[i].show.Heads) {
				differ = fmt.Errorf("%s and %s have different heads", peers[0].name, peers[i].name)
			}
		}
	}
	switch {
	case *e.Agree:
		return differ
	case differ == nil:
		return fmt.Errorf("all have the same, and should not yet")
	}
	return nil
}
