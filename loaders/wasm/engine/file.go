package engine

import (
	"errors"
	"io"
	"os"

	"github.com/tetratelabs/wazero/experimental/sys"
	statsys "github.com/tetratelabs/wazero/sys"
)

// file is one open file or folder of an instance. All its methods are those of [sys.File].
type file struct {
	sys.UnimplementedFile
	open *openFiles
	root *os.Root
	name string // as it was opened, in root
	f    *os.File
	dir  bool
	flag sys.Oflag
}

func (f *file) Dev() (uint64, sys.Errno) {
	st, no := f.Stat()
	return st.Dev, no
}

func (f *file) Ino() (statsys.Inode, sys.Errno) {
	st, no := f.Stat()
	return st.Ino, no
}

func (f *file) IsDir() (bool, sys.Errno) { return f.dir, 0 }

func (f *file) IsAppend() bool { return f.flag&sys.O_APPEND != 0 }

// SetAppend can't be changed in an open file: a guest has to open it so.
func (f *file) SetAppend(enable bool) sys.Errno {
	if enable != f.IsAppend() {
		return sys.ENOSYS
	}
	return 0
}

func (f *file) Stat() (statsys.Stat_t, sys.Errno) {
	f.open.in.work(1 << 10)
	info, err := f.f.Stat()
	if err != nil {
		return statsys.Stat_t{}, errno(err)
	}
	return statsys.NewStat_t(info), 0
}

func (f *file) Read(b []byte) (int, sys.Errno) {
	if f.dir {
		return 0, sys.EISDIR
	}
	b = b[:min(len(b), 1<<20)] // the deadline is looked at between pieces
	f.open.in.work(len(b))
	n, err := f.f.Read(b)
	return n, readErrno(err)
}

func (f *file) Pread(b []byte, off int64) (int, sys.Errno) {
	if f.dir {
		return 0, sys.EISDIR
	}
	b = b[:min(len(b), 1<<20)]
	f.open.in.work(len(b))
	n, err := f.f.ReadAt(b, off)
	return n, readErrno(err)
}

// readErrno is errno, where the end of a file is none.
func readErrno(err error) sys.Errno {
	if errors.Is(err, io.EOF) {
		return 0
	}
	return errno(err)
}

// position is an int64 by a name that vet does not take for [io.Seeker].
type position = int64

func (f *file) Seek(off position, whence int) (int64, sys.Errno) {
	f.open.in.work(0)
	if f.dir && (off != 0 || whence != io.SeekStart) {
		return 0, sys.EISDIR
	}
	n, err := f.f.Seek(off, whence)
	return n, errno(err)
}

func (f *file) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	if !f.dir {
		return nil, sys.ENOTDIR
	}
	f.open.in.work(64 << 10)
	list, err := f.f.ReadDir(n)
	out := make([]sys.Dirent, len(list))
	for i, e := range list {
		out[i] = sys.Dirent{Name: e.Name(), Type: e.Type()}
		if info, err := e.Info(); err == nil {
			out[i].Ino = statsys.NewStat_t(info).Ino
		}
	}
	return out, readErrno(err)
}

func (f *file) Write(b []byte) (int, sys.Errno) {
	if no := f.writable(len(b)); no != 0 {
		return 0, no
	}
	n, err := f.f.Write(b)
	return n, errno(err)
}

func (f *file) Pwrite(b []byte, off int64) (int, sys.Errno) {
	if no := f.writable(len(b)); no != 0 {
		return 0, no
	}
	n, err := f.f.WriteAt(b, off)
	return n, errno(err)
}

// writable accounts for a write before it happens.
func (f *file) writable(n int) sys.Errno {
	f.open.in.work(n)
	switch {
	case f.dir:
		return sys.EISDIR
	case f.flag&(sys.O_RDWR|sys.O_WRONLY) == 0:
		return sys.EBADF
	}
	f.open.wrote(int64(n))
	return 0
}

func (f *file) Truncate(size int64) sys.Errno {
	if no := f.writable(0); no != 0 {
		return no
	}
	if st, no := f.Stat(); no == 0 {
		f.open.wrote(size - st.Size)
	}
	return errno(f.f.Truncate(size))
}

func (f *file) Sync() sys.Errno {
	f.open.in.check()
	return errno(f.f.Sync())
}

func (f *file) Datasync() sys.Errno { return f.Sync() }

func (f *file) Utimens(atim, mtim int64) sys.Errno {
	if no := f.writable(0); no != 0 {
		return no
	}
	return errno(f.root.Chtimes(f.name, stamp(atim), stamp(mtim)))
}

func (f *file) Close() sys.Errno {
	delete(f.open.files, f)
	return errno(f.f.Close())
}
