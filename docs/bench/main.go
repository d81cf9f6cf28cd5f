package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	sizes      []int
	writes     int // samples of the write and live rows
	bootstraps int
	full       bool   // also the bootstrap of large sessions, which takes minutes
	memory     int    // events in the session of the memory rows
	rows       string // which groups of rows; empty: all
	dir        string
	child      string
	profile    string
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	sizes := flags.String("sizes", "1000,10000,100000", "events in the session")
	flags.IntVar(&o.writes, "n", 1000, "samples of the write and live rows, at each size")
	flags.IntVar(&o.bootstraps, "bootstraps", 10, "samples of the bootstrap rows")
	flags.BoolVar(&o.full, "full", false, "compare the bootstrap of sessions over 10,000 events too: minutes")
	flags.IntVar(&o.memory, "memory", 100_000, "events in the session of the memory rows")
	flags.StringVar(&o.rows, "rows", "", "only these groups: session, memory, sessions")
	flags.StringVar(&o.dir, "dir", "", "work folder, on the disk to be measured (default: below the system's temporary folder)")
	flags.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the session rows to this file")
	flags.StringVar(&o.child, "child", "", "internal: what a measuring process does")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.child != "" {
		return runChild(ctx, o.child, flags.Args(), out)
	}
	for _, s := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return fmt.Errorf("read sizes: %q is no number of events", s)
		}
		o.sizes = append(o.sizes, n)
	}
	dir, err := os.MkdirTemp(o.dir, "chaz-bench-")
	if err != nil {
		return err
	}
	o.dir = dir
	start := time.Now()
	t := &table{}
	err = errors.Join(measure(ctx, &o, t), os.RemoveAll(dir))
	t.print(out)
	fmt.Fprintf(out, "\nmeasured in %s\n", time.Since(start).Round(time.Second))
	return err
}

// measure runs the groups of rows that were asked for.
func measure(ctx context.Context, o *options, t *table) error {
	groups := []struct {
		name string
		run  func(context.Context, *options, *table) error
	}{
		{"session", measureSessions},
		{"memory", measureMemory},
		{"sessions", measureClosedSessions},
	}
	want := strings.Split(o.rows, ",")
	for _, g := range groups {
		if o.rows != "" && !slices.Contains(want, g.name) {
			continue
		}
		if err := g.run(ctx, o, t); err != nil {
			return fmt.Errorf("measure %s: %w", g.name, err)
		}
	}
	return nil
}

// progress tells a person what is going on; the table goes to the standard output.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "… "+format+"\n", args...) }
