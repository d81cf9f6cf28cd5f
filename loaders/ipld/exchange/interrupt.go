package exchange

import (
	"context"
	"io"
	"time"
)

// interrupt makes blocked reads and writes of rw fail when ctx ends, if rw has a deadline or can be
// closed. The function it returns ends the watch.
func interrupt(ctx context.Context, rw io.ReadWriter) func() {
	stop := context.AfterFunc(ctx, func() {
		if d, ok := rw.(interface{ SetDeadline(t time.Time) error }); ok && d.SetDeadline(time.Unix(1, 0)) == nil {
			return
		}
		if c, ok := rw.(io.Closer); ok {
			_ = c.Close() // the read or write that it breaks tells what there is to tell
		}
	})
	return func() { stop() }
}
