//go:build !linux

package soak

import "errors"

// disk is a small file system in memory; there are none here.
type disk struct{}

func newDisk(string) (*disk, error) {
	return nil, errors.New("small disks in memory exist on Linux only")
}

func (*disk) fill(int64) error { return nil }

func (*disk) room() error { return nil }

func (*disk) close() error { return nil }
