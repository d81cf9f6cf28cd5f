package hub

import (
	"context"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Routine hands a fire to an extension and returns the error of its handler. The active set of no
// session gates it; the deadline is the caller's.
func (h *Hub) Routine(ctx context.Context, ext string, f extension.Fire) error {
	e := h.catalog.Load().byName[ext]
	if e == nil {
		return fmt.Errorf("fire routine %.80q: there is no extension %.80q here", f.Routine, ext)
	}
	if e.suspended.Load() {
		return fmt.Errorf("fire routine %.80q: the extension %s is suspended: %s", f.Routine, ext, e.lastFault())
	}
	h.mu.Lock()
	var x *instance
	reason := e.failure()
	if e.global != nil && e.global.live != nil {
		x = e.global.live
		x.hold(h.now())
	}
	h.mu.Unlock()
	switch {
	case x == nil && reason != "":
		return fmt.Errorf("fire routine %.80q: the extension %s is not live: %s", f.Routine, ext, reason)
	case x == nil:
		return fmt.Errorf("fire routine %.80q: the extension %s has no routine handler", f.Routine, ext)
	}
	defer func() {
		if x.drop(h.now()) {
			go h.shutdown(x)
		}
	}()
	if x.ext.Routine == nil {
		return fmt.Errorf("fire routine %.80q: the extension %s has no routine handler", f.Routine, ext)
	}
	_, err := invoke(ctx, h, x, place{point: "routine " + f.Scope, answers: true}, 0, func(ctx context.Context) (nothing, error) {
		return nothing{}, x.ext.Routine(ctx, f)
	})
	if err != nil {
		return fmt.Errorf("fire routine %.80q at %s: %w", f.Routine, ext, err)
	}
	return nil
}
