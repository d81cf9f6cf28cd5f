package docsync

import (
	"context"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// workers is how many works of one connection are done at once.
const workers = 4

// lanes does the works of each document one after the other and those of different documents side
// by side, a bounded number at once.
type lanes struct {
	do   func(context.Context, Work) (Result, error)
	done func(context.Context, WorkDone)
	slot chan struct{} // capacity workers
	wg   sync.WaitGroup

	mu      sync.Mutex
	pending map[crdt.DocID][]Work // of documents with a running lane
}

func newLanes(do func(context.Context, Work) (Result, error), done func(context.Context, WorkDone)) *lanes {
	return &lanes{do: do, done: done, slot: make(chan struct{}, workers), pending: map[crdt.DocID][]Work{}}
}

// add queues a work behind those of its document. It does not block.
func (l *lanes) add(ctx context.Context, w Work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := w.Document()
	queue, running := l.pending[id]
	l.pending[id] = append(queue, w)
	if !running {
		l.wg.Go(func() { l.run(ctx, id) })
	}
}

func (l *lanes) run(ctx context.Context, id crdt.DocID) {
	for {
		l.mu.Lock()
		queue := l.pending[id]
		if len(queue) == 0 || ctx.Err() != nil {
			delete(l.pending, id)
			l.mu.Unlock()
			return
		}
		w := queue[0]
		l.pending[id] = queue[1:]
		l.mu.Unlock()
		select {
		case l.slot <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		result, err := l.do(ctx, w)
		<-l.slot
		if ctx.Err() == nil {
			l.done(ctx, WorkDone{Work: w, Result: result, Err: err})
		}
	}
}

// wait returns when every lane is gone; the context given to add has ended before.
func (l *lanes) wait() { l.wg.Wait() }
