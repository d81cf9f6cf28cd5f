//go:build !linux

package soak

import (
	"errors"
	"syscall"
)

// space is a network namespace; there are none here.
type space struct{}

func newSpace() (*space, error) { return nil, errors.New("network namespaces exist on Linux only") }

func (*space) do(fn func() error) error { return fn() }

func (*space) close() {}

func procAttr(*space) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
