package soak

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

// space is a network namespace, held by a thread that lives in it. What [space.do] runs there makes
// its sockets and its processes there; they stay there whoever uses them.
type space struct {
	jobs chan func()
	done chan struct{}
}

// newSpace makes a namespace in which only the loopback interface is there and up. It takes the right
// to administer the machine.
func newSpace() (*space, error) {
	s := &space{jobs: make(chan func()), done: make(chan struct{})}
	ready := make(chan error)
	go s.live(ready)
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("make a network namespace: %w", err)
	}
	return s, nil
}

func (s *space) live(ready chan<- error) {
	defer close(s.done)
	// It is never unlocked: the thread must not be used for anything else, and ends with the goroutine.
	runtime.LockOSThread()
	err := syscall.Unshare(syscall.CLONE_NEWNET)
	if err == nil {
		err = loopbackUp()
	}
	if ready <- err; err != nil {
		return
	}
	for fn := range s.jobs {
		fn()
	}
}

// do runs fn in the namespace, or right here if s is nil. fn must not wait for long.
func (s *space) do(fn func() error) (err error) {
	if s == nil {
		return fn()
	}
	done := make(chan struct{})
	s.jobs <- func() { defer close(done); err = fn() }
	<-done
	return err
}

// close lets go of the namespace. Processes that were started in it are killed.
func (s *space) close() {
	if s != nil {
		close(s.jobs)
		<-s.done
	}
}

// loopbackUp switches on the loopback interface of the thread's namespace.
func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer syscall.Close(fd)
	req := struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		rest  [22]byte
	}{flags: syscall.IFF_UP}
	copy(req.name[:], "lo")
	if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&req))); no != 0 {
		return fmt.Errorf("switch on the loopback interface: %w", no)
	}
	return nil
}

// procAttr keeps a daemon from hearing the terminal's Ctrl-C, and, in a namespace, from outliving it.
func procAttr(s *space) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if s != nil {
		attr.Pdeathsig = syscall.SIGKILL // of the thread that starts it, which is that of the namespace
	}
	return attr
}
