package engine

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
)

// Open makes a pool. Nothing of the module runs before the first call. An error that wraps [ErrModule]
// says which host function is not among those of the options, one that wraps [ErrMemory] that the module
// wants more memory at the start than it may have.
func (m *Module) Open(ctx context.Context, o Options) (*Pool, error) {
	if err := m.code.admit(ctx, o); err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Name, err)
	}
	e := m.code.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fmt.Errorf("open %s: the engine is closed", o.Name)
	}
	e.use(m.code)
	p := newPool(m.code, o)
	e.pools[p] = struct{}{}
	return p, nil
}

func (c *code) admit(ctx context.Context, o Options) error {
	if err := errors.Join(ctx.Err(), o.check()); err != nil {
		return err
	}
	for _, im := range c.info.Imports {
		if im.Module == userModule && !slices.Contains(o.User, im.Name) {
			return fmt.Errorf("%w: it imports the host function %s, which this host does not have", ErrModule, quote(im.Name))
		}
	}
	if mem := c.info.Memory; mem != nil && int64(mem.Min)<<16 > o.Limits.Memory {
		return fmt.Errorf("%w: it needs %s to start, the limit is %s", ErrMemory,
			bytesText(int64(mem.Min)<<16), bytesText(o.Limits.Memory))
	}
	return nil
}

// check judges the options alone.
func (o Options) check() error {
	l := o.Limits
	switch {
	case min(l.Memory, l.Fuel, l.Deadline, l.Output, l.Vars, l.Exchange) <= 0:
		return fmt.Errorf("all limits must be positive: %+v", l)
	case o.Host == nil:
		return errors.New("there is no host")
	}
	for guest, m := range o.Mounts {
		if m.Dir == nil || !path.IsAbs(guest) || path.Clean(guest) != guest {
			return fmt.Errorf("the mount %q is not a folder under a clean absolute path", guest)
		}
	}
	return nil
}
