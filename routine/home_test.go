package routine

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPeerThatIsNotHomeWritesNothing(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		for id, trigger := range map[string]Trigger{"cron": cronOf("* * * * *"), "interval": every(time.Minute), "once": onceIn(time.Minute)} {
			r := NewRoutine(id, trigger, "ok", nil)
			r.Home = "there"
			p.rows.add(Session("s"), r)
		}
		retired := NewRoutine("retired", cronOf("* * * * *"), "ok", nil)
		retired.Home, retired.Expires = "there", time.Now().Add(90*time.Second)
		p.rows.add(Session("s"), retired)
		before := p.rows.count()
		p.start()
		pass(2 * time.Hour)
		same(t, "fires", len(p.calls.fires()), 0)
		same(t, "writes", p.rows.count()-before, 0)
		for id, most := range map[string]int{"cron": 120, "interval": 120, "once": 12} {
			info, _ := p.Get(Key{Session("s"), id})
			if info.Skips < most-1 || info.Skips > most {
				t.Errorf("%s: %d skips, want about %d", id, info.Skips, most)
			}
			same(t, id+": told", strings.Count(p.log.String(), "session:s:"+id), 1)
		}
		// It becomes home: what is overdue fires at once.
		for _, id := range []string{"once", "cron", "interval"} {
			p.rows.edit(Key{Session("s"), id}, func(f map[string]string) { delete(f, FieldHome) })
		}
		if err := p.Reload(t.Context(), Session("s")); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		same(t, "fires", len(p.calls.fires()), 2)
		info, _ := p.Get(Key{Session("s"), "interval"})
		same(t, "skips", info.Skips, 0)
	})
}

// notReady is a peer that does not know yet whose routines it holds.
type notReady struct{ ready atomic.Bool }

func (n *notReady) IsHome(context.Context, Key, Routine) bool { return n.ready.Load() }

func TestPeerThatIsNotReadyDisablesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		homes := &notReady{}
		p := newPeer(t, "here", newRows(t), func(c *Config) { c.Homes = homes })
		key := p.rows.add(Agent("a"), NewRoutine("r", cronOf("* * * * *"), "ghost", nil))
		before := p.rows.count()
		p.start()
		pass(10 * time.Minute)
		same(t, "writes", p.rows.count()-before, 0)
		homes.ready.Store(true)
		p.calls.on("ghost", nil)
		pass(time.Minute)
		same(t, "fires when it is ready", len(p.calls.fires()), 1)
		row, _ := p.rows.get(key)
		same(t, "enabled", row.Enabled, true)
		p.halt()
	})
}
