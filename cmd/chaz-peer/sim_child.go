package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"time"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// simOptions are the options of runs on their way to a child process.
type simOptions struct {
	Peers    int           `json:"peers"`
	Steps    int           `json:"steps"`
	Core     sim.CoreMode  `json:"core"`
	Faults   []sim.Fault   `json:"faults"`
	Keep     []int         `json:"keep"`
	Scenario *sim.Scenario `json:"scenario,omitempty"`
	Timeline bool          `json:"timeline"`
}

func (o simOptions) options() sim.Options {
	return sim.Options{Peers: o.Peers, Steps: o.Steps, Core: o.Core, Faults: o.Faults, Keep: o.Keep, Scenario: o.Scenario, Timeline: o.Timeline}
}

// simRequest asks a child for some runs. Shorten asks for the shortest list of steps that fails as the
// first of them does.
type simRequest struct {
	Options simOptions `json:"options"`
	First   uint64     `json:"first"`
	Count   int        `json:"count"`
	Shorten bool       `json:"shorten"`
}

// simReply is one line of a child's answer: the seed that begins now, or the result of one.
type simReply struct {
	Start  *uint64     `json:"start,omitempty"`
	Result *sim.Result `json:"result,omitempty"`
}

// player plays runs and tells of each before it begins and when it has ended. Errors: ctx.Err(), and
// an *aborted when the process that played is gone.
type player func(ctx context.Context, r simRequest, tell func(simReply) error) error

// aborted says that a process that played ended before it was done.
type aborted struct{ cause string }

func (a *aborted) Error() string { return "the process that played ended: " + a.cause }

// playHere plays in this process.
func playHere(ctx context.Context, r simRequest, tell func(simReply) error) error {
	lab, err := sim.New()
	if err != nil {
		return err
	}
	defer lab.Close()
	for i := range r.Count {
		opt := r.Options.options()
		opt.Seed = r.First + uint64(i)
		if err := tell(simReply{Start: &opt.Seed}); err != nil {
			return err
		}
		if r.Shorten {
			opt.Timeline = false
			short, _, err := lab.Shrink(ctx, opt)
			if err != nil && ctx.Err() == nil {
				return err
			}
			// Time that ran out is no error: the shortest list so far is played.
			opt, ctx = short, context.WithoutCancel(ctx)
			opt.Timeline = r.Options.Timeline
		}
		res, err := lab.Run(ctx, opt)
		if err != nil {
			return err
		}
		if err := tell(simReply{Result: &res}); err != nil {
			return err
		}
	}
	return nil
}

// playerArg makes a process of this program a player, for its whole life. A run that takes its process
// down takes no other with it, and the seed that was told before says which one it was.
const playerArg = "play-runs"

// shortenTime bounds the search for a shorter list of steps.
const shortenTime = time.Minute

// beChild is that process.
func beChild() int {
	signal.Ignore(os.Interrupt) // a Ctrl-C in the terminal is for the one who asked
	debug.SetGCPercent(400)     // runs are short, and what they leave behind is small
	return playFor(os.Stdin, os.Stdout, os.Stderr)
}

// playFor reads a request and writes a line for each reply. It ends when its input does, so that a child
// does not outlive who asked.
func playFor(in io.Reader, out, errs io.Writer) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dec := json.NewDecoder(in)
	var r simRequest
	if err := dec.Decode(&r); err != nil {
		fmt.Fprintln(errs, "read request:", err)
		return exitError
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	if r.Shorten {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, shortenTime)
		defer done()
	}
	enc := json.NewEncoder(out)
	if err := playHere(ctx, r, func(x simReply) error { return enc.Encode(x) }); err != nil {
		fmt.Fprintln(errs, err)
		return exitError
	}
	return exitOK
}

// playInChild plays in a process of its own.
func playInChild(ctx context.Context, r simRequest, tell func(simReply) error) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("play: %w", err)
	}
	return playIn(ctx, exec.CommandContext(ctx, exe, playerArg), r, tell)
}

func playIn(ctx context.Context, cmd *exec.Cmd, r simRequest, tell func(simReply) error) error {
	errs := &firstBytes{most: 2000}
	cmd.Stderr = errs
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("play: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("play: %w", err)
	}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("play: %w", err)
	}
	err = json.NewEncoder(in).Encode(r)
	dec := json.NewDecoder(out)
	for err == nil {
		var x simReply
		if err = dec.Decode(&x); err == nil {
			err = tell(x)
		}
	}
	if !errors.Is(err, io.EOF) {
		_ = in.Close() // tells it to stop; what is said below matters more
	}
	_, _ = io.Copy(io.Discard, out)
	waited := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case waited != nil:
		return &aborted{waited.Error() + ": " + errs.text()}
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// firstBytes keeps the beginning of what is written to it.
type firstBytes struct {
	most int
	b    []byte
}

// Write implements [io.Writer].
func (f *firstBytes) Write(b []byte) (int, error) {
	f.b = append(f.b, b[:min(len(b), f.most-len(f.b))]...)
	return len(b), nil
}

func (f *firstBytes) text() string {
	if len(f.b) == 0 {
		return "it said nothing"
	}
	return string(f.b)
}
