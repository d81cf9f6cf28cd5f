package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/chaz-peer/chaz-peer/extension"
)

// leash lends a host to one execution: what still runs when that ends is cancelled, and a tool that
// keeps the host, or was abandoned with it, finds every door shut.
type leash struct {
	host extension.Host // nil: there is none
	life context.Context
}

var errOver = errors.New("the call is over")

// during calls a door with a context that also ends with the execution.
func during[T any](ctx context.Context, l leash, op string, door func(context.Context) (T, error)) (T, error) {
	var none T
	switch {
	case l.host == nil:
		return none, fmt.Errorf("%s: there are no doors to the machine here: %w", op, extension.ErrGrant)
	case l.life.Err() != nil:
		return none, fmt.Errorf("%s: %w: %w", op, errOver, extension.ErrGrant)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.life, func() { cancel(context.Cause(l.life)) })()
	return door(ctx)
}

// Shell implements [extension.Host].
func (l leash) Shell(ctx context.Context, c extension.ShellCommand) (extension.ShellResult, error) {
	return during(ctx, l, "run a command", func(ctx context.Context) (extension.ShellResult, error) { return l.host.Shell(ctx, c) })
}

// Fetch implements [extension.Host].
func (l leash) Fetch(ctx context.Context, r extension.FetchRequest) (extension.FetchResponse, error) {
	return during(ctx, l, "fetch", func(ctx context.Context) (extension.FetchResponse, error) { return l.host.Fetch(ctx, r) })
}

// Files implements [extension.Host].
func (l leash) Files() extension.Files { return leashedFiles{l} }

type leashedFiles struct{ l leash }

// ReadFile implements [extension.Files].
func (f leashedFiles) ReadFile(ctx context.Context, path string, limit int64) (data []byte, more bool, err error) {
	data, err = during(ctx, f.l, "read a file", func(ctx context.Context) (b []byte, err error) {
		b, more, err = f.l.host.Files().ReadFile(ctx, path, limit)
		return b, err
	})
	return data, more, err
}

// WriteFile implements [extension.Files].
func (f leashedFiles) WriteFile(ctx context.Context, path string, data []byte) error {
	_, err := during(ctx, f.l, "write a file", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, f.l.host.Files().WriteFile(ctx, path, data)
	})
	return err
}

// Stat implements [extension.Files].
func (f leashedFiles) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	return during(ctx, f.l, "look at a file", func(ctx context.Context) (fs.FileInfo, error) { return f.l.host.Files().Stat(ctx, path) })
}
