package soak

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// diskSize is what a daemon's disk holds: somewhat more than a daemon always leaves free.
const diskSize = 128 << 20

// disk is a small file system in memory, for the home of one daemon.
type disk struct{ path string }

// newDisk mounts one on a folder. It takes the right to administer the machine.
func newDisk(path string) (*disk, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make a small disk: %w", err)
	}
	err := syscall.Mount("tmpfs", path, "tmpfs", syscall.MS_NODEV|syscall.MS_NOSUID, fmt.Sprintf("size=%d,mode=700", diskSize))
	if err != nil {
		return nil, fmt.Errorf("make a small disk: %w", err)
	}
	return &disk{path}, nil
}

func (d *disk) filler() string { return filepath.Join(d.path, "filler") }

// fill takes all room but so many bytes.
func (d *disk) fill(leave int64) error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(d.path, &st); err != nil {
		return fmt.Errorf("fill the disk: %w", err)
	}
	f, err := os.Create(d.filler())
	if err != nil {
		return fmt.Errorf("fill the disk: %w", err)
	}
	block := make([]byte, 64<<10)
	for left := int64(st.Bavail)*st.Bsize - leave; left > 0 && err == nil; left -= int64(len(block)) {
		_, err = f.Write(block[:min(left, int64(len(block)))])
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("fill the disk: %w", err)
	}
	return nil
}

// room gives back what fill took.
func (d *disk) room() error { return os.Remove(d.filler()) }

// close unmounts it, also while somebody still looks at it.
func (d *disk) close() error {
	if err := syscall.Unmount(d.path, syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the small disk: %w", err)
	}
	return nil
}
