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

// yamlOf is the settings as they would stand in a config file.
func yamlOf(s control.Settings) yaml.MapSlice {
	agents := []any{}
	for _, x := range s.Agents {
		m := yaml.MapSlice{{Key: "name", Value: x.Name}}
		for _, f := range agentFieldNames(agentFields()) {
			if v, ok := x.Config[f]; ok {
				m = append(m, yaml.MapItem{Key: f, Value: v})
			}
		}
		agents = append(agents, m)
	}
	return yaml.MapSlice{
		{Key: "name", Value: s.Name},
		{Key: "listen", Value: texts(s.Listen)},
		{Key: "mdns", Value: s.MDNS},
		{Key: "static_peers", Value: texts(s.StaticPeers)},
		{Key: "clock_skew", Value: exact(s.ClockSkewMS)},
		{Key: "control_tcp", Value: s.ControlTCP},
		{Key: "memory_budget", Value: exactSize(s.MemoryBudget)},
		{Key: "log_level", Value: s.LogLevel},
		{Key: "agents", Value: agents},
		{Key: "default_agents", Value: texts(s.DefaultAgents)},
	}
}

// texts is a list that prints as [] when empty.
func texts(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}
