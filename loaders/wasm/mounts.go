package wasm

import (
	"context"
	"fmt"
	"os"
	"path"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// mounts opens the granted folders. One that is granted but bound to no folder of this machine, or to
// one that is not there, is an error: a guest must not take an empty folder for the real one.
func (x *Extension) mounts(ctx context.Context) (map[string]engine.Mount, []*os.Root, error) {
	out := map[string]engine.Mount{}
	var roots []*os.Root
	fail := func(err error) (map[string]engine.Mount, []*os.Root, error) {
		for _, r := range roots {
			_ = r.Close() // opened for reading entries, nothing is lost
		}
		return nil, nil, err
	}
	for _, m := range x.m.Caps.FS {
		if err := x.gate.allow(ctx, OpFS, m.ID); err != nil {
			return fail(err)
		}
		at := path.Clean(m.Path)
		if !path.IsAbs(m.Path) || at == "/" {
			return fail(fmt.Errorf("folder %.80q: the guest's path %.80q is not absolute, or the root", m.ID, m.Path))
		}
		if _, twice := out[at]; twice {
			return fail(fmt.Errorf("folder %.80q: another has the path %.80q", m.ID, at))
		}
		dir := x.services.Mounts[m.ID]
		if dir == "" {
			return fail(fmt.Errorf("folder %.80q is bound to no folder of this machine", m.ID))
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return fail(fmt.Errorf("open folder %.80q: %w", m.ID, err))
		}
		roots = append(roots, root)
		out[at] = engine.Mount{Dir: root, Write: m.Write}
	}
	return out, roots, nil
}
