package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// The exit statuses.
const (
	exitOK       = 0
	exitError    = 1
	exitUsage    = 2
	exitNoDaemon = 3
)

// opener opens the node of a home in this process, without serving, for one command. The function
// it returns closes it.
type opener func(ctx context.Context, o nodeOptions) (*control.Client, func() error, error)

// runner is the daemon: it serves until ctx is done and calls ready once.
type runner func(ctx context.Context, o nodeOptions, ready func(control.Ready)) error

// engine is what main puts behind the command line.
type engine struct {
	Version string
	Open    opener
	Run     runner
	Play    player
}

// nodeOptions is what a node needs from flags, environment and config file.
type nodeOptions struct {
	Home       string
	Settings   control.Settings
	RuntimeDir string // for the socket when the path of Home is too long
	IgnoreRole bool   // tests only: write without the right
	Log        *slog.Logger
}

// app is one run of the program: its streams and surroundings, and the global flags.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	// Which streams are terminals; colours, prompts and progress only there.
	inTTY, outTTY, errTTY bool
	now                   func() time.Time
	hostname              string
	engine                engine

	model *kong.Application
	home  string
	json  bool
	skew  time.Duration // of the peer's clock against the machine's
}

// exit is an error that asks for an exit status of its own; err may be nil: everything is said.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// helpShown unwinds kong after it has printed a help text.
type helpShown struct{ code int }

// run parses the arguments, runs the command, and reports its error. It returns the exit status.
func (a *app) run(ctx context.Context, args []string) (code int) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case helpShown:
			code = p.code
		default:
			panic(p)
		}
	}()
	var c cli
	parser, err := a.parser(&c)
	if err != nil {
		return a.fail(err)
	}
	if len(args) == 0 {
		// Help that nobody asked for is the answer to a usage error.
		parser.Stdout = a.err
		parser.Exit = func(int) { panic(helpShown{exitUsage}) }
		args = []string{"--help"}
	}
	k, err := parser.Parse(joinSkew(args))
	if err != nil {
		return a.failUsage(err)
	}
	a.json, a.model = c.JSON, parser.Model
	if a.home, err = a.findHome(c.Home); err != nil {
		return a.fail(err)
	}
	k.BindTo(ctx, (*context.Context)(nil))
	if err := k.Run(a); err != nil {
		return a.fail(err)
	}
	return exitOK
}

func (a *app) parser(c *cli) (*kong.Kong, error) {
	p, err := kong.New(c,
		kong.Name("chaz-peer"),
		kong.Description("A peer node for AI agents: sessions and agents that sync between machines without a server."),
		kong.Writers(a.out, a.err),
		kong.Exit(func(code int) { panic(helpShown{code}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
	)
	if err != nil {
		return nil, fmt.Errorf("build command line: %w", err)
	}
	addExamples(p.Model.Node, "")
	return p, nil
}

// negative is a duration below zero.
var negative = regexp.MustCompile(`^-[0-9]`)

// joinSkew turns "--clock-skew -3d" into one argument: a value that begins with a hyphen would be
// read as a flag.
func joinSkew(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(out, args[i:]...)
		}
		if args[i] == "--clock-skew" && i+1 < len(args) && negative.MatchString(args[i+1]) {
			out = append(out, args[i]+"="+args[i+1])
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// fail reports an error and says which exit status it is.
func (a *app) fail(err error) int {
	code := exitError
	if e := (*exit)(nil); errors.As(err, &e) {
		if code, err = e.code, e.err; err == nil {
			return code
		}
	}
	cause, remedy := err.Error(), ""
	var ce *control.Error
	if errors.As(err, &ce) {
		remedy = ce.Remedy
		if len(ce.Candidates) > 0 {
			cause += ": " + strings.Join(ce.Candidates, ", ")
		}
	}
	if errors.Is(err, context.Canceled) {
		cause, remedy = "interrupted", ""
	}
	a.complain(cause, remedy)
	return code
}

func (a *app) failUsage(err error) int {
	help := "chaz-peer --help"
	var pe *kong.ParseError
	if errors.As(err, &pe) && pe.Context != nil {
		if n := pe.Context.Selected(); n != nil {
			help = n.FullPath() + " --help"
		}
	}
	a.complain(err.Error(), help)
	return exitUsage
}

// complain writes one line of cause and, if there is one, a line of remedy.
func (a *app) complain(cause, remedy string) {
	fmt.Fprintf(a.err, "%s %s\n", a.paint(a.errTTY, bad, "error:"), clean(cause))
	if remedy != "" {
		fmt.Fprintf(a.err, "%s %s\n", a.paint(a.errTTY, warn, "try:"), clean(remedy))
	}
}
