package sim

import (
	"context"
	"errors"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/storetest"
)

func TestDiskIsAStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) func() (crdt.Store, error) {
		d := newDisk()
		return func() (crdt.Store, error) {
			d = d.reopen()
			return d, nil
		}
	})
}

func TestDiskFaults(t *testing.T) {
	batch := func(key string) *crdt.Batch {
		b := &crdt.Batch{}
		b.Put([]byte(key), []byte("value"))
		b.Put([]byte(key+"2"), []byte("value"))
		b.Delete([]byte("before"))
		return b
	}
	const all = 1 << 20
	for name, c := range map[string]struct {
		fault diskFault
		cut   int // bytes of the torn batch that are down
		err   error
		dies  bool
		there bool // the batch, afterwards
	}{
		"fine":       {diskFine, 0, nil, false, true},
		"lost":       {diskLose, 0, errDead, true, false},
		"torn early": {diskTear, 0, errDead, true, false},
		"torn late":  {diskTear, 20, errDead, true, false},
		"torn after": {diskTear, all, errDead, true, true},
		"late death": {diskDieLate, 0, errDead, true, true},
		"full":       {diskFull, 0, errFull, false, false},
		"unsure":     {diskUnsure, 0, errUnsure, false, true},
	} {
		ctx := context.Background()
		d := newDisk()
		first := &crdt.Batch{}
		first.Put([]byte("before"), nil)
		if err := d.Append(ctx, first); err != nil {
			t.Fatal(err)
		}
		var hit diskFault
		d.hit, d.cut = func(f diskFault) { hit = f }, func(n int) int { return min(n, c.cut) }
		d.next = c.fault
		if err := d.Append(ctx, batch("x")); !errors.Is(err, c.err) || d.dead != c.dies || hit != c.fault {
			t.Errorf("%s: %v, dead %v, told %d", name, err, d.dead, hit)
		}
		if _, err := d.Get(ctx, []byte("x")); d.dead && !errors.Is(err, errDead) {
			t.Errorf("%s: a dead process reads: %v", name, err)
		}
		d = d.reopen()
		for _, key := range []string{"x", "x2"} {
			if _, err := d.Get(ctx, []byte(key)); (err == nil) != c.there {
				t.Errorf("%s: %s after a restart: %v", name, key, err)
			}
		}
		if _, err := d.Get(ctx, []byte("before")); (err == nil) == c.there {
			t.Errorf("%s: half of the batch is there", name)
		}
	}
}

func TestClock(t *testing.T) {
	w := &world{}
	c := &clock{world: w, at: epoch}
	at := func(what string, want int64) {
		t.Helper()
		if got := c.millis(); got != want || c.Now().UnixMilli() != want {
			t.Errorf("%s: shows %d, want %d", what, got, want)
		}
	}
	w.now = 10_000_000_000
	at("ten seconds on", epoch+10_000)
	c.drift(100_000)
	at("the drift begins", epoch+10_000)
	w.now += 10_000_000_000
	at("ten per cent too fast", epoch+21_000)
	c.jump(-3_600_000_000_000)
	at("an hour back", epoch+21_000-3_600_000)
	c.correct(5_000_000)
	at("put right, nearly", epoch+20_005)
	c.set(1<<63 - 1)
	w.now += 1_000_000_000
	at("the last moment there is", 1<<63-1)
	c.set(-1 << 63)
	w.now += 1_000_000_000
	at("a second after the first", -1<<63+1000)
}
