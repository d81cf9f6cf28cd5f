package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// holdTime is how long an entry is held back in a log that is followed, for the large content that is
// about to come; then its beginning is sent.
const holdTime = 10 * time.Second

// follower sends the entries of one session, each once.
type follower struct {
	n    *Node
	id   crdt.DocID
	out  *control.Events[control.Entry]
	feed *crdt.Feed
	bell *bellSub // rings when content came

	sent  map[crdt.RowID]bool
	held  map[crdt.RowID]time.Time // until when
	count int64
}

// send sends what was not sent yet from the i-th entry on; with hold, entries whose content is about to
// come stay back.
func (f *follower) send(ctx context.Context, i int, hold bool) error {
	for ; ; i += logPage {
		var page []crdt.Entry
		err := f.n.repo.View(ctx, f.id, func(v *crdt.View) error {
			page = crdt.SessionView{View: v}.Entries(i, logPage)
			return nil
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			if f.sent[e.ID] || hold && f.holds(ctx, e) {
				continue
			}
			f.sent[e.ID] = true
			delete(f.held, e.ID)
			if err := f.out.Send(f.n.entryOut(ctx, e)); err != nil {
				return err
			}
			f.count++
		}
	}
}

func (f *follower) holds(ctx context.Context, e crdt.Entry) bool {
	x, ok := e.Outside()
	if !ok {
		return false
	}
	until, held := f.held[e.ID]
	if !held {
		if !f.n.contents.coming(ctx, f.id, x) {
			return false
		}
		f.held[e.ID] = time.Now().Add(holdTime)
		return true
	}
	_, whole, err := f.n.contents.judge(ctx, x)
	return err == nil && !whole && time.Now().Before(until)
}

// next waits until there may be something to send. over says that there will be no more.
func (f *follower) next(ctx context.Context) (over bool, err error) {
	wait, cancel := ctx, context.CancelFunc(func() {})
	if len(f.held) > 0 {
		var first time.Time
		for _, until := range f.held {
			if first.IsZero() || until.Before(first) {
				first = until
			}
		}
		wait, cancel = context.WithDeadline(ctx, first)
		var rung sync.WaitGroup
		rung.Go(func() {
			if f.bell.wait(wait) {
				cancel()
			}
		})
		defer rung.Wait()
	}
	defer cancel()
	_, err = f.feed.Next(wait)
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, crdt.ErrFeedClosed) || errors.Is(ctx.Err(), context.Canceled):
		return true, nil
	case ctx.Err() == nil && wait.Err() != nil:
		return false, nil
	}
	return false, err
}
