package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type doctorCmd struct{}

// Run checks the home and the config file, then everything the node can check of itself. A node that
// does not open is a finding, not a failure of the command.
func (doctorCmd) Run(ctx context.Context, a *app) error {
	d := control.Doctor{Checks: a.checkHome()}
	if allOK(d.Checks) {
		err := a.with(ctx, func(c *control.Client) error {
			r, err := control.Call(ctx, c, control.RunDoctor, control.DoctorParams{})
			d.Checks = append(d.Checks, r.Checks...)
			return err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			d.Checks = append(d.Checks, failedCheck("node", err))
		}
	}
	d.OK = allOK(d.Checks)
	if err := a.show(d, func(p *page) { p.doctor(d) }); err != nil {
		return err
	}
	if !d.OK {
		return &exit{code: exitError}
	}
	return nil
}

func (a *app) checkHome() []control.Check {
	info, err := os.Stat(a.home)
	if err != nil {
		return []control.Check{{Name: "home", Detail: err.Error(), Remedy: "chaz-peer run makes it; or give another --home"}}
	}
	home := control.Check{Name: "home", OK: true, Detail: a.home}
	if mode := info.Mode().Perm(); !info.IsDir() || mode&0o022 != 0 {
		home.OK, home.Detail = false, fmt.Sprintf("%s has mode %04o: others can change it", a.home, mode)
		home.Remedy = "chmod 700 " + a.home
	}
	config := control.Check{Name: "config", OK: true, Detail: filepath.Join(a.home, configFile)}
	if _, err := loadConfig(config.Detail); err != nil {
		config = failedCheck("config", err)
	}
	daemon := control.Check{Name: "daemon", OK: true, Detail: "runs"}
	c, err := control.Dial(a.home)
	switch {
	case errors.Is(err, control.ErrNoDaemon):
		daemon.Detail = "does not run; the checks open the store themselves"
	case err != nil:
		daemon = failedCheck("daemon", err)
	default:
		_ = c.Close()
	}
	return []control.Check{home, config, daemon}
}

func failedCheck(name string, err error) control.Check {
	c := control.Check{Name: name, Detail: err.Error()}
	var e *control.Error
	if errors.As(err, &e) {
		c.Remedy = e.Remedy
	}
	return c
}

func allOK(checks []control.Check) bool {
	for _, c := range checks {
		if !c.OK {
			return false
		}
	}
	return true
}

func (p *page) doctor(d control.Doctor) {
	for _, c := range d.Checks {
		s, mark := good, "ok   "
		if !c.OK {
			s, mark = bad, "FAULT"
		}
		p.line(s, "%s %s: %s", mark, clean(c.Name), clean(c.Detail))
		if c.Remedy != "" {
			p.line(plain, "      → %s", clean(c.Remedy))
		}
	}
	if d.OK {
		p.line(good, "All is well.")
	}
}
