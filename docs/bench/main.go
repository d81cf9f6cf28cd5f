package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
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
	entries    int    // in the session that is opened, searched and synced
	crowds     []int  // how many peers
	heals      int
	jsEntries  int
	jsEdits    int
	codeOptions
	dir     string
	child   string
	profile string
}

// codeOptions are the options of the rows about code by reference.
type codeOptions struct {
	targets                                                         string // of the group "code"; empty: all
	processes, calls, computations, kills, fetches, replays, cycles int
	seed                                                            uint64
}

func (c *codeOptions) flags(f *flag.FlagSet) {
	f.StringVar(&c.targets, "targets", "", "of the group code only these, such as T1,T5")
	f.IntVar(&c.processes, "processes", 20, "fresh processes of a row of T1")
	f.IntVar(&c.calls, "calls", 5000, "calls of a row of T2 and of the parallel calls of T4")
	f.IntVar(&c.computations, "computations", 10, "computations of a row of T3")
	f.IntVar(&c.kills, "kills", 10, "guests that are stopped, of a row of T4")
	f.IntVar(&c.fetches, "fetches", 30, "fetches of a row of T5")
	f.IntVar(&c.replays, "replays", 10, "fresh processes of a row of T6")
	f.IntVar(&c.cycles, "cycles", 10_000, "instances that come and go, of T7")
	f.Uint64Var(&c.seed, "seed", 1, "of the random logs of T8")
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
	crowds := flags.String("crowds", "2,5,10,20,50", "peers of a session, of the group peers")
	flags.IntVar(&o.heals, "heals", 3, "samples of the group peers")
	flags.IntVar(&o.entries, "entries", 100_000, "entries of the session of the group entries")
	flags.IntVar(&o.jsEntries, "js-entries", 10_000, "entries of the session of the group js")
	flags.IntVar(&o.jsEdits, "js-edits", 300, "live edits of the group js")
	o.codeOptions.flags(flags)
	flags.StringVar(&o.rows, "rows", "", "only these groups: session, memory, sessions, documents, entries, peers, js, code")
	flags.StringVar(&o.dir, "dir", "", "work folder, on the disk to be measured (default: below the system's temporary folder)")
	flags.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of this process to this file")
	flags.StringVar(&o.child, "child", "", "internal: what a measuring process does")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.child != "" {
		return runChild(ctx, o.child, flags.Args(), out)
	}
	var err1, err2 error
	o.sizes, err1 = numbers(*sizes)
	o.crowds, err2 = numbers(*crowds)
	if err := errors.Join(err1, err2); err != nil {
		return err
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

// numbers reads a list such as "2,5,10".
func numbers(list string) (out []int, err error) {
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("read numbers: %q is no positive number", s)
		}
		out = append(out, n)
	}
	return out, nil
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
		{"documents", measureDocuments},
		{"entries", measureEntries},
		{"peers", measurePeers},
		{"js", measureJS},
		{"code", measureCode},
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
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
