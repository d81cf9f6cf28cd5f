package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// How long a command and the daemon wait for another process to let go of the store.
const (
	commandLockWait = 2 * time.Second
	daemonLockWait  = 5 * time.Second
)

// newEngine puts the node behind the command line.
func newEngine() engine {
	return engine{Version: extension.HostVersion, Open: openNode, Run: runNode, Play: playInChild}
}

// readerArg makes a process of this program a reader of one foreign file, for its whole life.
const readerArg = "read-automerge-file"

// readFile is that process.
func readFile() int {
	if err := node.ReadAutomergeFile(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitError
	}
	return exitOK
}

func nodeConfig(o nodeOptions, wait time.Duration) node.Config {
	c := node.ConfigOf(o.Settings)
	c.Home, c.LockWait, c.IgnoreRole, c.Log = o.Home, wait, o.IgnoreRole, o.Log
	if exe, err := os.Executable(); err == nil {
		c.FileReader = []string{exe, readerArg}
	}
	return c
}

// openNode opens the home in this process, for one command.
func openNode(ctx context.Context, o nodeOptions) (*control.Client, func() error, error) {
	n, err := node.Open(ctx, nodeConfig(o, commandLockWait))
	if err != nil {
		return nil, nil, err
	}
	c, err := control.InProcess(n.Methods(), o.Log)
	if err != nil {
		return nil, nil, errors.Join(err, n.Close())
	}
	return c, n.Close, nil
}

// runNode is the daemon.
func runNode(ctx context.Context, o nodeOptions, ready func(control.Ready)) error {
	n, err := node.Open(ctx, nodeConfig(o, daemonLockWait))
	if err != nil {
		return err
	}
	err = n.Run(ctx, o.RuntimeDir, func(r node.Ready) {
		ready(control.Ready{Ready: true, PeerID: r.PeerID, Addrs: r.Addrs})
	})
	return errors.Join(err, n.Close())
}
