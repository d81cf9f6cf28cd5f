package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/chaz-peer/chaz-peer/node/sim/soak"
)

// realStory is how one story went with real daemons.
type realStory struct {
	Scenario string `json:"scenario"`
	File     string `json:"file"`
	OK       bool   `json:"ok"`
	// Skipped: only the simulation can play it; Detail says why.
	Skipped bool   `json:"skipped"`
	Detail  string `json:"detail"`
}

// real plays the stories with real daemons, one story after the other.
func (c *simCmd) real(ctx context.Context, a *app, stories []simStory) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	out := []realStory{}
	failed := 0
	for _, s := range stories {
		r := realStory{Scenario: s.Name, File: s.file}
		if !a.json {
			fmt.Fprintf(a.out, "%s\n", a.paint(a.outTTY, bold, clean(s.Name)))
		}
		err := c.playReal(ctx, a, exe, s)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, soak.ErrOnlySimulated):
			r.Skipped, r.Detail = true, err.Error()
		case err != nil:
			r.Detail = err.Error()
			failed++
		default:
			r.OK = true
		}
		out = append(out, r)
		if !a.json {
			c.tellReal(a, r)
		}
	}
	if a.json {
		if err := writeJSON(a.out, out); err != nil {
			return err
		}
	}
	if failed > 0 {
		return &exit{exitError, fmt.Errorf("%d of %s failed with real daemons", failed, plural(int64(len(stories)), "story"))}
	}
	return nil
}

func (c *simCmd) tellReal(a *app, r realStory) {
	switch {
	case r.OK:
		fmt.Fprintf(a.out, "  %s\n", a.paint(a.outTTY, good, "every expectation holds with real daemons"))
	case r.Skipped:
		fmt.Fprintf(a.out, "  %s\n", a.paint(a.outTTY, warn, "left out: "+clean(r.Detail)))
	default:
		fmt.Fprintf(a.out, "  %s\n", a.paint(a.outTTY, bad, "failed: "+clean(r.Detail)))
	}
}

// playReal plays one story in a folder of its own.
func (c *simCmd) playReal(ctx context.Context, a *app, exe string, s simStory) (err error) {
	dir, err := os.MkdirTemp("", "chaz-sim-")
	if err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	log := io.Discard
	if !a.json {
		log = indented{a.out}
	}
	return soak.RunScenario(ctx, exe, dir, *s.Scenario, log)
}

// indented puts two blanks before what is written, a line at a time.
type indented struct{ w io.Writer }

// Write implements [io.Writer].
func (i indented) Write(b []byte) (int, error) {
	_, err := fmt.Fprintf(i.w, "    %s", cleanText(string(b)))
	return len(b), err
}
