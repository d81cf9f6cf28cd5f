package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Errors that callers branch on. After each of them the instance that ran is gone; the next call gets
// another one.
var (
	ErrDeadline = errors.New("deadline passed")
	ErrFuel     = errors.New("out of fuel")
	ErrMemory   = errors.New("memory limit reached")
	ErrOutput   = errors.New("output too long")
	ErrTrap     = errors.New("the guest trapped")
	ErrExit     = errors.New("the guest ended itself")
	ErrClosed   = errors.New("the pool is closed")
	ErrNoExport = errors.New("no such function") // the instance stays
)

// ErrModule is wrapped by what [Engine.Compile] and [Module.Open] say of a module that can never run
// here, whatever is tried. Any other error of theirs is one of this machine, or of the options.
var ErrModule = errors.New("the module can't run here")

// GuestError is what a guest reported by itself. The instance stays.
type GuestError struct {
	Code int32  // what the function returned, not 0 unless the function returns nothing
	Text string // at most 4 KiB of valid UTF-8; may be empty
}

func (e *GuestError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("the guest returned %d", e.Code)
	}
	return e.Text
}

// Limits bound one instance and each call of it. All are positive.
type Limits struct {
	Memory   int64 // bytes of linear memory
	Fuel     int64 // units a call, the start function's included; see package meter
	Deadline int64 // ms a call, the building of the instance included
	Output   int64 // bytes of one result
	Vars     int64 // bytes of all variables, names included
	Exchange int64 // bytes of all blocks in the exchange memory of one call
}

// Host is what the kernel asks of whoever owns a pool, in the name of one call. Methods must watch ctx,
// which ends at the call's deadline.
type Host interface {
	// Config is config_get.
	Config(ctx context.Context, key string) (string, bool)
	// HTTP is http_request; an error ends the call with that text.
	HTTP(ctx context.Context, r HTTPRequest) (HTTPResponse, error)
	// User is a function of extism:host/user, bytes in, bytes out; an error ends the call with that text.
	User(ctx context.Context, name string, input []byte) ([]byte, error)
	// Log takes a line of the guest: level is trace, debug, info, warn or error, or stdout or stderr. The
	// text is one line of printable characters, at most 4 KiB; a call has a bounded number of lines. It
	// must not block.
	Log(level, text string)
}

// HTTPRequest is what a guest asks for. The kernel has parsed it and checked nothing.
type HTTPRequest struct {
	Method, URL string
	Header      map[string]string
	Body        []byte
}

// HTTPResponse is the answer; Header has lower-case keys.
type HTTPResponse struct {
	Status int
	Header map[string]string
	Body   []byte
}

// Options are those of one pool.
type Options struct {
	Name   string // for error texts
	Limits Limits
	Host   Host
	// User lists the functions of extism:host/user that exist for this pool. A module that imports
	// another is refused when the pool is opened.
	User []string
	// Mounts are folders by guest path, absolute, such as "/notes".
	Mounts map[string]Mount
	// Deterministic gives a fixed clock and fixed random numbers.
	Deterministic bool
	// Size is how many instances may run at the same time; 0 is 4.
	Size int
}

// Mount is one folder of a guest. Nothing outside of Dir is reached through it, whatever links are or
// come into the folder. The pool does not close Dir.
type Mount struct {
	Dir   *os.Root
	Write bool
}

// Stats are counters of one pool since it was opened, but Live and Idle, which are now.
type Stats struct {
	Live, Idle int    // instances
	Built      uint64 // instances
	Calls      uint64 // that ran, however they ended
	Errors     uint64 // reported by the guest itself
	Traps      uint64 // calls that cost the instance
	Fuel       uint64 // units
}
