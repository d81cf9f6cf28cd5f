package toolhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

const (
	defaultOutput = 10_000
	maxOutput     = 4 << 20
	maxLine       = 128 << 10 // Linux takes no longer argument
	// drain is how long output is still read after the command itself has ended, for what it left
	// running in the background.
	drain = 200 * time.Millisecond
)

// Shell implements [extension.Host]. The command gets its own process group, of which nothing is
// left when Shell returns, little of the environment, and no input. A command that is still running
// when ctx ends is killed; if that was a deadline, the result says so and holds what there was.
func (d *doors) Shell(ctx context.Context, c extension.ShellCommand) (extension.ShellResult, error) {
	var none extension.ShellResult
	if err := d.mayRun(c.Line); err != nil {
		return none, fmt.Errorf("run %.200q: %w", c.Line, err)
	}
	dir, err := d.folder(c.Dir)
	if err != nil {
		return none, fmt.Errorf("run %.200q in %.200q: %w", c.Line, c.Dir, err)
	}
	argv, err := d.argv(c.Line, dir)
	if err != nil {
		return none, fmt.Errorf("run %.200q: %w", c.Line, err)
	}
	limit := c.Limit
	if limit <= 0 {
		limit = defaultOutput
	}
	res, err := run(ctx, argv, dir, environment(d.m.cfg.Environ), min(limit, maxOutput))
	if err != nil {
		return none, fmt.Errorf("run %.200q: %w", c.Line, err)
	}
	return res, nil
}

func (d *doors) mayRun(line string) error {
	switch {
	case len(line) > maxLine:
		return fmt.Errorf("the command line is longer than %d bytes: %w", maxLine, extension.ErrArgument)
	case strings.ContainsRune(line, 0):
		return fmt.Errorf("the command line holds a zero byte: %w", extension.ErrArgument)
	case d.may.AskShell && !d.approved:
		return fmt.Errorf("no command runs without a person's approval: %w", extension.ErrGrant)
	}
	return checkShell(line, d.may.Shell)
}

// folder returns the folder in which a command starts, with symbolic links resolved; it must lie in
// the work folder.
func (d *doors) folder(dir string) (string, error) {
	work, err := filepath.EvalSymlinks(d.m.cfg.WorkFolder)
	if err != nil {
		return "", fmt.Errorf("work folder: %w", err)
	}
	if filepath.IsAbs(dir) {
		if inside := filepath.Clean(dir); below(d.m.cfg.WorkFolder, inside) {
			dir = rel(d.m.cfg.WorkFolder, inside)
		}
	}
	real, err := filepath.EvalSymlinks(absolute(work, dir))
	if err != nil {
		return "", fmt.Errorf("the folder can't be used: %w", extension.ErrArgument)
	}
	if !below(work, real) {
		return "", fmt.Errorf("it is not in the work folder: %w", extension.ErrGrant)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", fmt.Errorf("it is no folder: %w", extension.ErrArgument)
	}
	return real, nil
}

// environment keeps the variables that say nothing secret.
func environment(all []string) []string {
	out := []string{"TERM=dumb"}
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE":
		default:
			if !strings.HasPrefix(name, "LC_") {
				continue
			}
		}
		out = append(out, v)
	}
	return out
}

// run starts a process in a group of its own and waits for it.
func run(ctx context.Context, argv []string, dir string, env []string, limit int) (extension.ShellResult, error) {
	out, errs := &capped{limit: limit}, &capped{limit: limit}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	killGroup := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = func() error {
		if err := killGroup(); !errors.Is(err, syscall.ESRCH) {
			return err
		}
		return os.ErrProcessDone
	}
	cmd.WaitDelay = drain
	if err := cmd.Start(); err != nil {
		return extension.ShellResult{}, err
	}
	err := cmd.Wait()
	_ = killGroup() // what it left in the background
	res := extension.ShellResult{
		Stdout: out.data, Stderr: errs.data, Cut: out.cut || errs.cut, Exit: cmd.ProcessState.ExitCode(),
	}
	if ctx.Err() != nil && res.Exit < 0 {
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return extension.ShellResult{}, context.Cause(ctx)
		}
		res.TimedOut = true
		return res, nil
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return extension.ShellResult{}, err
	}
	return res, nil
}

// capped keeps the first bytes and swallows the rest, so that a chatty command does not block.
type capped struct {
	data  []byte
	limit int
	cut   bool
}

// Write implements [io.Writer].
func (c *capped) Write(b []byte) (int, error) {
	keep := min(len(b), c.limit-len(c.data))
	c.data = append(c.data, b[:keep]...)
	c.cut = c.cut || keep < len(b)
	return len(b), nil
}
