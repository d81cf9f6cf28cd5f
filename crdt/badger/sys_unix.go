//go:build linux || darwin || freebsd

package badger

import (
	"errors"
	"os"
	"syscall"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// lock takes the lock file, or fails with [crdt.ErrStoreBusy]. The lock goes with the process.
func lock(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = crdt.ErrStoreBusy
		}
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// freeBytes is what an ordinary user can still write to the disk of dir.
func freeBytes(dir string) (n int64, ok bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
