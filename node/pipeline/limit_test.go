package pipeline

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

func TestLimitIsOfTheProcess(t *testing.T) {
	r := newRig(t, Config{}, extension.Tool{Policy: extension.Policy{RateLimit: ptr(2)}})
	r.want(t, r.call(t), StatusOK, "did")
	r.clock.Advance(20 * tick)
	// Another session, agent and turn.
	r.req.Session[0], r.req.Agent.Name = 7, "other"
	r.req.Turn = &turn{tools: r.turn.tools}
	r.want(t, r.call(t), StatusOK, "did")
	r.clock.Advance(10*tick + 500*time.Millisecond)
	r.want(t, r.call(t), StatusLimited, "2 times a minute; wait 30 s")
	r.clock.Advance(29*tick + 499*time.Millisecond)
	r.want(t, r.call(t), StatusLimited, "wait 1 s")
	r.clock.Advance(time.Millisecond)
	r.want(t, r.call(t), StatusOK, "did")
	r.want(t, r.call(t), StatusLimited, "wait 20 s")
}

func TestLimiterWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := crdt.NewManualClock(1_000_000)
		l := newLimiter(clock)
		limit := rapid.IntRange(0, 4).Draw(t, "limit")
		var taken []time.Time
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			clock.Advance(time.Duration(rapid.IntRange(0, 30_000).Draw(t, "ms")) * time.Millisecond)
			now, n := clock.Now(), 0
			for _, at := range taken {
				if now.Sub(at) < time.Minute {
					n++
				}
			}
			wait, ok := l.take("x", limit)
			if ok != (n < limit) {
				t.Fatalf("%d of %d in the last minute, and the answer is %v", n, limit, ok)
			}
			if ok {
				taken = append(taken, now)
				continue
			}
			if limit == 0 {
				continue
			}
			if wait <= 0 || wait > time.Minute {
				t.Fatalf("wait %s", wait)
			}
			clock.Advance(wait - time.Millisecond)
			if _, ok := l.take("x", limit); ok {
				t.Fatalf("a shorter wait than %s is enough", wait)
			}
			clock.Advance(time.Millisecond)
			if _, ok := l.take("x", limit); !ok {
				t.Fatalf("the wait of %s is not enough", wait)
			}
			taken = append(taken, clock.Now())
		}
		if _, ok := l.take("y", limit); ok != (limit > 0) {
			t.Fatal("another tool is counted with this one")
		}
	})
}

func TestLimiterSurvivesClockJumps(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, jump := range []time.Duration{year, -year, -30 * tick} {
		clock := crdt.NewManualClock(2_000_000_000_000)
		l := newLimiter(clock)
		l.take("x", 1)
		clock.Advance(jump)
		wait, ok := l.take("x", 1)
		if jump > 0 && !ok || wait > time.Minute {
			t.Errorf("after a jump of %s: wait %s, %v", jump, wait, ok)
		}
		clock.Advance(time.Minute)
		if _, ok := l.take("x", 1); !ok {
			t.Errorf("a minute after a jump of %s the tool is still limited", jump)
		}
	}
	l := newLimiter(crdt.NewManualClock(0))
	for i := range 10 {
		if _, ok := l.take(fmt.Sprint(i), -1); ok {
			t.Error("a negative limit let a call pass")
		}
	}
}
