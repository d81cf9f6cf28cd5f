package p2p

import (
	"context"
	"time"
)

const (
	sleepTick = 5 * time.Second
	sleepGap  = 30 * time.Second
)

// watchSleep renews all connections after the machine slept, the process was stopped, or the machine
// clock was set: the other side may have dropped them long ago, and certificates may fit now.
func (n *Network) watchSleep(ctx context.Context) {
	ticker := time.NewTicker(sleepTick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			now := time.Now()
			if slept(last, now) {
				n.cfg.Log.Info("the machine slept or its clock was set: connecting anew")
				n.Renew()
			}
			last = now
		}
	}
}

// slept compares wall clocks, because the monotonic one stands still during sleep.
func slept(last, now time.Time) bool {
	gap := now.Round(0).Sub(last.Round(0))
	return gap > sleepGap || gap < -sleepGap
}
