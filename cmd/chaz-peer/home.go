package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

const configFile = "config.yaml"

// findHome is the home folder: the flag, else $CHAZ_HOME, else the XDG state folder.
func (a *app) findHome(flag string) (string, error) {
	dir := flag
	if dir == "" {
		dir = a.env("CHAZ_HOME")
	}
	if state := a.env("XDG_STATE_HOME"); dir == "" && filepath.IsAbs(state) {
		dir = filepath.Join(state, "chaz-peer")
	}
	if dir == "" {
		user := a.env("HOME")
		if user == "" {
			return "", &control.Error{Cause: "find home folder: neither CHAZ_HOME nor HOME is set", Remedy: "give --home DIR"}
		}
		dir = filepath.Join(user, ".local", "state", "chaz-peer")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find home folder: %w", err)
	}
	return abs, nil
}

// prepareHome makes the home and a config file that explains every key, if they are missing.
func (a *app) prepareHome() error {
	if err := os.MkdirAll(a.home, 0o700); err != nil {
		return fmt.Errorf("make home folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(a.home, configFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write config file: %w", err)
	}
	_, err = f.WriteString(exampleConfig())
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write config file: %w", err)
	}
	return nil
}

// options puts together what a node needs: config file, then environment.
func (a *app) options() (nodeOptions, error) {
	o := nodeOptions{Home: a.home, RuntimeDir: a.env("XDG_RUNTIME_DIR"), IgnoreRole: a.env("CHAZ_UNSAFE_IGNORE_ROLE") == "1"}
	file, err := loadConfig(filepath.Join(a.home, configFile))
	if err != nil {
		return o, err
	}
	o.Settings = file.settings(a.hostname, a.home)
	if s := a.env("CHAZ_CLOCK_SKEW"); s != "" {
		skew, err := parseDuration(s)
		if err != nil {
			return o, &control.Error{Cause: fmt.Sprintf("read CHAZ_CLOCK_SKEW: %v", err), Remedy: "use a duration such as +2h or -3d"}
		}
		o.Settings.ClockSkewMS = skew.Milliseconds()
	}
	o.Log = a.logger(o.Settings.LogLevel)
	return o, nil
}

// logger writes to standard error; the level was checked with the config file.
func (a *app) logger(level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: l}))
}

// with runs fn with a client of the daemon or, when none runs, of the node opened here.
func (a *app) with(ctx context.Context, fn func(c *control.Client) error) (err error) {
	c, err := control.Dial(a.home)
	if err == nil {
		defer func() { err = errors.Join(err, c.Close()) }()
		a.learnSkew(ctx, c)
		return fn(c)
	}
	if !errors.Is(err, control.ErrNoDaemon) {
		return err
	}
	if err := a.prepareHome(); err != nil {
		return err
	}
	o, err := a.options()
	if err != nil {
		return err
	}
	// A command has no log to keep: what goes wrong is its error.
	o.Log = a.logger("warn")
	a.skew = time.Duration(o.Settings.ClockSkewMS) * time.Millisecond
	c, stop, err := a.engine.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(), stop()) }()
	return fn(c)
}

// withDaemon is [app.with] for what only a running daemon can do.
func (a *app) withDaemon(ctx context.Context, what string, fn func(c *control.Client) error) (err error) {
	c, err := control.Dial(a.home)
	if errors.Is(err, control.ErrNoDaemon) {
		return &control.Error{
			Cause:  what + " needs a running daemon, and none runs for " + a.home,
			Remedy: "start it with: chaz-peer run", Code: control.CodeUnavailable,
		}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	a.learnSkew(ctx, c)
	return fn(c)
}

// learnSkew asks the daemon how its clock is shifted: what is shown to a person is compared with the
// peer's clock, not the machine's. A daemon that does not say is taken to have the machine's.
func (a *app) learnSkew(ctx context.Context, c *control.Client) {
	if a.json {
		return
	}
	if s, err := control.Call(ctx, c, control.GetConfig, control.ConfigParams{}); err == nil {
		a.skew = time.Duration(s.ClockSkewMS) * time.Millisecond
	}
}

// nowMS is the peer's clock in Unix milliseconds.
func (a *app) nowMS() int64 { return a.now().Add(a.skew).UnixMilli() }

// ask makes one call and shows its result: as one line of JSON, or by show.
func ask[P, R any](ctx context.Context, a *app, e control.Endpoint[P, R], params P, show func(*page, R)) error {
	return a.with(ctx, func(c *control.Client) error {
		r, err := control.Call(ctx, c, e, params)
		if err != nil {
			return err
		}
		return a.show(r, func(p *page) { show(p, r) })
	})
}

// millis is a duration as the API wants it.
func millis(d duration) int64 { return time.Duration(d).Milliseconds() }
