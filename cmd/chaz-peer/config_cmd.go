package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/goccy/go-yaml"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type configCheckCmd struct {
	File string `arg:"" optional:"" help:"Another file than the one in the home."`
}

// Run checks a config file.
func (c *configCheckCmd) Run(a *app) error {
	path := c.File
	if path == "" {
		path = filepath.Join(a.home, configFile)
	}
	_, missing := os.Stat(path)
	if c.File != "" && missing != nil {
		return fmt.Errorf("check config file: %w", missing)
	}
	_, err := loadConfig(path)
	var e *control.Error
	if err != nil && !errors.As(err, &e) {
		return err
	}
	v := struct {
		OK   bool   `json:"ok"`
		File string `json:"file"`
		// Error is empty when the file is good.
		Error string `json:"error"`
	}{OK: err == nil, File: path}
	if err != nil {
		if !a.json {
			return err
		}
		v.Error = err.Error()
	}
	if err := a.show(v, func(p *page) {
		if missing != nil {
			p.line(plain, "%s does not exist: all defaults.", path)
			return
		}
		p.line(good, "%s is good.", path)
	}); err != nil || v.OK {
		return err
	}
	return &exit{code: exitError}
}

type configShowCmd struct {
	Example bool `help:"Print a commented example with every key."`
}

// Run shows the settings of the config file with defaults and environment applied, or of the running
// daemon if there is one.
func (c *configShowCmd) Run(ctx context.Context, a *app) error {
	if c.Example {
		_, err := fmt.Fprint(a.out, exampleConfig())
		return err
	}
	o, err := a.options()
	if err != nil {
		return err
	}
	s, from := o.Settings, filepath.Join(a.home, configFile)
	cl, err := control.Dial(a.home)
	if err == nil {
		defer cl.Close()
		if s, err = control.Call(ctx, cl, control.GetConfig, control.ConfigParams{}); err == nil {
			from = "the running daemon"
			a.warnChanged(o.Settings, s)
		}
	}
	if err != nil && !errors.Is(err, control.ErrNoDaemon) {
		return err
	}
	return a.show(s, func(p *page) {
		p.line(dim, "# from %s", from)
		b, err := yaml.Marshal(yamlOf(s))
		if err != nil {
			p.line(bad, "%v", err)
		}
		p.b.Write(b)
	})
}

// warnChanged says that the file no longer says what the daemon runs with.
func (a *app) warnChanged(file, running control.Settings) {
	x, y := yamlOf(file), yamlOf(running)
	for i := range x {
		if !reflect.DeepEqual(fmt.Sprint(x[i].Value), fmt.Sprint(y[i].Value)) {
			fmt.Fprintf(a.err, "%s the daemon runs with another %s than %s says (a flag, or a change since its start)\n",
				a.paint(a.errTTY, warn, "note:"), x[i].Key, configFile)
		}
	}
}
