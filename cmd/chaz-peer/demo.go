package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// hamletFile is the conversation that the demo shares: Shakespeare's Hamlet, one speech an entry.
//
//go:embed demo/hamlet.jsonl
var hamletFile []byte

type demoCmd struct {
	Keep bool `help:"Leave the homes of the three peers behind, and say where."`
}

// demoStep is the outcome of one step.
type demoStep struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	MS     int64  `json:"ms"`
	Detail string `json:"detail"`
}

type demoResult struct {
	OK    bool       `json:"ok"`
	Steps []demoStep `json:"steps"`
	Homes string     `json:"homes,omitempty"` // with --keep
}

// Run plays the main job with real processes, sockets and stores on this machine.
func (c *demoCmd) Run(ctx context.Context, a *app) (err error) {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	dir, err := os.MkdirTemp("", "chaz-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d := &demo{a: a, exe: exe, dir: dir}
	defer func() {
		err = errors.Join(err, d.stop())
		if !c.Keep {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if c.Keep {
		d.result.Homes = dir
	}
	d.say("Three peers on this machine: A, whose clock is two hours ahead, B, three days behind, and C.")
	d.result.OK = d.play(ctx)
	return c.report(a, d)
}

func (c *demoCmd) report(a *app, d *demo) error {
	if a.json {
		if err := writeJSON(a.out, d.result); err != nil {
			return err
		}
	} else if d.result.OK {
		d.say("\n%s", a.paint(a.outTTY, good, "All peers agree, and with a fold of the merged log from scratch."))
	}
	if d.result.Homes != "" {
		d.say("The homes are in %s.", d.result.Homes)
	}
	if !d.result.OK {
		last := d.result.Steps[len(d.result.Steps)-1]
		return fmt.Errorf("demo: %s: %s", last.Name, last.Detail)
	}
	return nil
}

// demo is one run: its folder, the peers that live, the steps done.
type demo struct {
	a      *app
	exe    string
	dir    string
	peers  []*demoPeer
	result demoResult

	A, B, C *demoPeer
	D       *demoPeer // has no network
	session string    // id
	agent   string    // id of the shared agent
}

func (d *demo) say(format string, args ...any) {
	if !d.a.json {
		fmt.Fprintf(d.a.out, format+"\n", args...)
	}
}

// demoTime bounds one step, on a slow machine too.
const demoTime = 60 * time.Second

// play runs the steps in order until one fails.
func (d *demo) play(ctx context.Context) bool {
	for _, s := range d.script() {
		d.say("\n%s", d.a.paint(d.a.outTTY, bold, "• "+s.name))
		start := time.Now()
		ctx, cancel := context.WithTimeout(ctx, demoTime)
		detail, err := s.do(ctx)
		cancel()
		step := demoStep{Name: s.name, OK: err == nil, MS: time.Since(start).Milliseconds(), Detail: detail}
		if err != nil {
			step.Detail = err.Error()
		}
		d.result.Steps = append(d.result.Steps, step)
		if err != nil {
			d.say("  %s %s", d.a.paint(d.a.outTTY, bad, "failed:"), clean(step.Detail))
			return false
		}
		d.say("  %s %s", d.a.paint(d.a.outTTY, good, "✓"), detail)
	}
	return true
}

type demoScene struct {
	name string
	do   func(context.Context) (string, error)
}

func (d *demo) script() []demoScene {
	together := []demoScene{
		{"two daemons start, with clocks three days apart", d.start},
		{"A makes a session from a real conversation", d.importTalk},
		{"B joins by a ticket, and shows the same", d.join},
		{"an agent is shared and put on the session's roster", d.shareAgent},
		{"the agent opts out of web on A; B honours it", d.optOut},
		{"the two are cut off and switch memory the opposite way", d.partition},
		{"they are together again and agree", d.heal},
	}
	return slices.Concat(together, d.extScenes(), []demoScene{
		{"C joins late, through B alone", d.late},
		{"A is killed in the middle of its writes and comes back", d.crash},
		{"every peer checks itself from scratch", d.check},
	})
}

// home makes the folder of one peer.
func (d *demo) home(name string) string { return filepath.Join(d.dir, name) }

func (d *demo) stop() error {
	var errs []error
	for _, p := range d.peers {
		errs = append(errs, p.stop())
	}
	return errors.Join(errs...)
}

func talk() *bytes.Reader { return bytes.NewReader(hamletFile) }
