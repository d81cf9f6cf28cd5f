package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // zones of routines on machines without a zone database

	"golang.org/x/term"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == readerArg {
		os.Exit(readFile())
	}
	if len(os.Args) == 2 && os.Args[1] == playerArg {
		os.Exit(beChild())
	}
	os.Exit(start())
}

func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first signal the next one has its usual effect: a stop that hangs can be ended.
	context.AfterFunc(ctx, stop)
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "peer"
	}
	a := &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, now: time.Now, hostname: hostname, engine: newEngine(),
		inTTY: isTerminal(os.Stdin), outTTY: isTerminal(os.Stdout), errTTY: isTerminal(os.Stderr),
	}
	return a.run(ctx, os.Args[1:])
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
