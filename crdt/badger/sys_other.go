//go:build !linux && !darwin && !freebsd

package badger

import "os"

// lock creates the lock file. Without flock, Badger's own lock finds out that a store is open.
func lock(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}

// freeBytes: not known here.
func freeBytes(string) (n int64, ok bool) { return 0, false }
