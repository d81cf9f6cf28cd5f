package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"syscall"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
)

// Bounds of the files of a guest.
const (
	maxOpen    = 64       // at the same time, by one instance
	maxWritten = 64 << 20 // bytes by one call
)

// openFiles are those that an instance has open. They are closed with it, also where the runtime forgets
// to: an instance whose start function fails is none to it.
type openFiles struct {
	in    *instance
	files map[*file]struct{}
}

// mounts is the tree of folders that the guest sees.
func (o *openFiles) mounts() wazero.FSConfig {
	c := wazero.NewFSConfig()
	m := o.in.pool.opt.Mounts
	for _, guest := range slices.Sorted(maps.Keys(m)) {
		c = c.(sysfs.FSConfig).WithSysFSMount(&folder{open: o, mount: m[guest]}, guest)
	}
	return c
}

func (o *openFiles) closeAll() {
	for f := range o.files {
		_ = f.f.Close() // what was written is written; nobody is left who could be told
	}
	o.files = nil
}

func (o *openFiles) add(f *file) bool {
	if len(o.files) >= maxOpen {
		return false
	}
	if o.files == nil {
		o.files = map[*file]struct{}{}
	}
	o.files[f] = struct{}{}
	return true
}

// wrote accounts for bytes on disk.
func (o *openFiles) wrote(n int64) {
	o.in.written += max(n, 0)
	if o.in.written > maxWritten {
		o.in.abort(fmt.Errorf("%w: more than %s to files in one call", ErrOutput, bytesText(maxWritten)))
	}
}

// errno is an error as WASI has it. What [os.Root] refuses by itself, such as a link that leads out of
// the folder, has no number of the system: it is not permitted.
func errno(err error) sys.Errno {
	if err == nil {
		return 0
	}
	n := sys.UnwrapOSError(err)
	var own syscall.Errno
	known := errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrClosed)
	if n == sys.EIO && !known && !errors.As(err, &own) {
		return sys.EPERM
	}
	return n
}
