package engine

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
	statsys "github.com/tetratelabs/wazero/sys"
)

// folder is one mount of one instance. Every path goes through [os.Root], which follows links inside of
// the folder and nowhere else.
type folder struct {
	sys.UnimplementedFS
	open  *openFiles
	mount Mount
}

// begin accounts for one operation and makes a path of the guest one of the root.
func (d *folder) begin(name string) string {
	d.open.in.work(4 << 10)
	return path.Clean("./" + name)
}

// change is begin of what only a folder with Write can do.
func (d *folder) change(name string) (string, sys.Errno) {
	name = d.begin(name)
	if !d.mount.Write {
		return "", sys.EROFS
	}
	return name, 0
}

// OpenFile opens regular files and folders. Everything else could block for ever, or do something.
func (d *folder) OpenFile(name string, flag sys.Oflag, _ fs.FileMode) (sys.File, sys.Errno) {
	name = d.begin(name)
	const changes = sys.O_RDWR | sys.O_WRONLY | sys.O_CREAT | sys.O_TRUNC | sys.O_APPEND
	if flag&changes != 0 && !d.mount.Write {
		return nil, sys.EROFS
	}
	if info, err := d.mount.Dir.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 && flag&sys.O_NOFOLLOW != 0 {
		return nil, sys.ELOOP
	}
	if info, err := d.mount.Dir.Stat(name); err == nil && !plain(info) {
		return nil, sys.EPERM
	}
	f, err := d.mount.Dir.OpenFile(name, osFlags(flag), 0o600)
	if err != nil {
		return nil, errno(err)
	}
	info, err := f.Stat()
	if err != nil || !plain(info) {
		_ = f.Close()
		return nil, sys.EPERM
	}
	out := &file{open: d.open, root: d.mount.Dir, name: name, f: f, dir: info.IsDir(), flag: flag}
	if !d.open.add(out) {
		_ = f.Close()
		return nil, sys.EAGAIN
	}
	return out, 0
}

func plain(info fs.FileInfo) bool { return info.IsDir() || info.Mode().IsRegular() }

func osFlags(flag sys.Oflag) int {
	out := syscall.O_NONBLOCK // what is no regular file by now must not block either
	switch {
	case flag&sys.O_RDWR != 0:
		out |= os.O_RDWR
	case flag&sys.O_WRONLY != 0:
		out |= os.O_WRONLY
	}
	for _, f := range []struct {
		guest sys.Oflag
		host  int
	}{
		{sys.O_APPEND, os.O_APPEND},
		{sys.O_CREAT, os.O_CREATE},
		{sys.O_EXCL, os.O_EXCL},
		{sys.O_TRUNC, os.O_TRUNC},
		{sys.O_DIRECTORY, syscall.O_DIRECTORY},
		{sys.O_SYNC | sys.O_DSYNC, os.O_SYNC},
	} {
		if flag&f.guest != 0 {
			out |= f.host
		}
	}
	return out
}

// Lstat is for [sys.FS], like all that follows.
func (d *folder) Lstat(name string) (statsys.Stat_t, sys.Errno) {
	info, err := d.mount.Dir.Lstat(d.begin(name))
	if err != nil {
		return statsys.Stat_t{}, errno(err)
	}
	return statsys.NewStat_t(info), 0
}

func (d *folder) Stat(name string) (statsys.Stat_t, sys.Errno) {
	info, err := d.mount.Dir.Stat(d.begin(name))
	if err != nil {
		return statsys.Stat_t{}, errno(err)
	}
	return statsys.NewStat_t(info), 0
}

func (d *folder) Mkdir(name string, _ fs.FileMode) sys.Errno {
	name, no := d.change(name)
	if no != 0 {
		return no
	}
	return errno(d.mount.Dir.Mkdir(name, 0o700))
}

func (d *folder) Rename(from, to string) sys.Errno {
	from, no := d.change(from)
	if no != 0 {
		return no
	}
	return errno(d.mount.Dir.Rename(from, d.begin(to)))
}

func (d *folder) Link(from, to string) sys.Errno {
	from, no := d.change(from)
	if no != 0 {
		return no
	}
	return errno(d.mount.Dir.Link(from, d.begin(to)))
}

// Symlink makes no link that leads out of the folder. None is followed there, but programs of the host
// would.
func (d *folder) Symlink(target, link string) sys.Errno {
	link, no := d.change(link)
	if no != 0 {
		return no
	}
	if at := path.Join(path.Dir(link), target); path.IsAbs(target) || at == ".." || strings.HasPrefix(at, "../") {
		return sys.EPERM
	}
	return errno(d.mount.Dir.Symlink(target, link))
}

func (d *folder) Readlink(name string) (string, sys.Errno) {
	to, err := d.mount.Dir.Readlink(d.begin(name))
	if err == nil && path.IsAbs(to) { // the layout of the host is nobody's business
		return "", sys.EPERM
	}
	return to, errno(err)
}

func (d *folder) Unlink(name string) sys.Errno { return d.remove(name, false) }

func (d *folder) Rmdir(name string) sys.Errno { return d.remove(name, true) }

func (d *folder) remove(name string, dir bool) sys.Errno {
	name, no := d.change(name)
	if no != 0 {
		return no
	}
	info, err := d.mount.Dir.Lstat(name)
	switch {
	case err != nil:
		return errno(err)
	case dir && !info.IsDir():
		return sys.ENOTDIR
	case !dir && info.IsDir():
		return sys.EISDIR
	}
	return errno(d.mount.Dir.Remove(name))
}

func (d *folder) Utimens(name string, atim, mtim int64) sys.Errno {
	name, no := d.change(name)
	if no != 0 {
		return no
	}
	return errno(d.mount.Dir.Chtimes(name, stamp(atim), stamp(mtim)))
}

// stamp is a time of the guest; the zero time leaves what is.
func stamp(ns int64) time.Time {
	if ns == sys.UTIME_OMIT {
		return time.Time{}
	}
	return time.Unix(0, ns)
}
