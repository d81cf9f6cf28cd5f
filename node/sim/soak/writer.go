package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

const (
	answerTime = 15 * time.Second // after which a client gives up
	writePause = 250 * time.Millisecond
)

// switchable are the extensions that writers switch on and off.
var switchable = [...]string{"memory", "web", "skills"}

// writers write to every daemon of a cluster until they are stopped.
type writers struct {
	c       *cluster
	led     *ledger
	session string
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// write starts one writer for each daemon. No two texts are equal: round and seed are in them.
func (c *cluster) write(ctx context.Context, led *ledger, session string, seed uint64, round int) *writers {
	ctx, cancel := context.WithCancel(ctx)
	w := &writers{c: c, led: led, session: session, cancel: cancel}
	for _, d := range c.peers {
		rng := rand.New(rand.NewPCG(seed, uint64(round)<<8|uint64(d.n)))
		w.wg.Go(func() { w.run(ctx, d, rng, fmt.Sprintf("round %d", round)) })
	}
	return w
}

// stop ends the writers. What they asked for last may be kept or not.
func (w *writers) stop() {
	w.cancel()
	w.wg.Wait()
}

func (w *writers) run(ctx context.Context, d *daemon, rng *rand.Rand, words string) {
	for i := 0; ctx.Err() == nil; i++ {
		if api := d.api(); api != nil {
			if rng.IntN(8) == 0 {
				w.turn(ctx, api, switchable[rng.IntN(len(switchable))], rng.IntN(2) == 0)
			} else {
				w.post(ctx, d, api, fmt.Sprintf("%s, %s, write %d", words, d.name, i))
			}
		}
		timer := time.NewTimer(time.Duration(rng.Int64N(int64(2 * writePause))))
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// post writes one entry; it reports whether that was acknowledged.
func (w *writers) post(ctx context.Context, d *daemon, api *control.Client, text string) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	made, err := control.Call(ctx, api, control.SessionPost, control.SessionPostParams{Session: w.session, Content: text})
	if err != nil {
		w.led.unanswered()
		return false
	}
	w.led.acked(made.ID, d.name)
	return true
}

func (w *writers) turn(ctx context.Context, api *control.Client, name string, on bool) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	verb := "remove"
	if on {
		verb = "add"
	}
	r, err := control.Call(ctx, api, control.RunCmd, control.CmdParams{Session: w.session, Line: "/extensions " + verb + " " + name})
	switch {
	case err != nil || !r.OK:
		w.led.unanswered()
	default:
		w.led.switched()
	}
}
