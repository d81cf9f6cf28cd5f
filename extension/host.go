package extension

import (
	"context"
	"io/fs"
	"time"
)

// Host are the doors to the machine, cut to the grants of one call: the intersection of what the
// tool's policy, the session, the agent and the agent's limits for that tool allow. What is refused
// wraps [ErrGrant] and names operation and target.
type Host interface {
	Shell(ctx context.Context, c ShellCommand) (ShellResult, error)
	Files() Files
	Fetch(ctx context.Context, r FetchRequest) (FetchResponse, error)
}

// ShellCommand is a command line for sh. Dir is below the work folder; "" is the work folder.
type ShellCommand struct {
	Line string
	Dir  string
	// Limit is how many bytes of each output stream are kept; 0 is 10,000.
	Limit int
}

// ShellResult is what a command printed. Exit is -1 when a signal ended it.
type ShellResult struct {
	Stdout, Stderr []byte
	Cut            bool // an output was longer
	Exit           int
	TimedOut       bool
}

// Files reads and writes files below the granted folders. Paths are absolute, or relative to the
// work folder. Symbolic links that lead out are refused.
type Files interface {
	// ReadFile reads at most limit bytes and says whether there was more.
	ReadFile(ctx context.Context, path string, limit int64) (data []byte, more bool, err error)
	// WriteFile replaces a file through a temporary one, so that a failure leaves the original. The
	// folder must be there.
	WriteFile(ctx context.Context, path string, data []byte) error
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
}

// FetchRequest is one HTTP request; redirects are followed, at most 10, each checked again.
type FetchRequest struct {
	Method  string // empty: GET
	URL     string
	Header  map[string]string
	Body    string
	Timeout time.Duration // 0: 30 s
	Limit   int64         // bytes of the body that are kept; 0 is 50,000
}

// FetchResponse is the final answer.
type FetchResponse struct {
	Status string // such as "200 OK"
	Code   int
	Header map[string]string
	Body   []byte
	Cut    bool
	URL    string // after redirects
}
