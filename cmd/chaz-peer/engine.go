package main

import (
	"context"
	"errors"
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
	return engine{Version: extension.HostVersion, Open: openNode, Run: runNode}
}

func nodeConfig(o nodeOptions, wait time.Duration) node.Config {
	s := o.Settings
	c := node.Config{
		Home: o.Home, Listen: s.Listen, MDNS: s.MDNS, Static: s.StaticPeers, Skew: time.Duration(s.ClockSkewMS) * time.Millisecond,
		ControlTCP: s.ControlTCP, MemoryBudget: s.MemoryBudget, Name: s.Name, DefaultAgents: s.DefaultAgents, LogLevel: s.LogLevel,
		LockWait: wait, IgnoreRole: o.IgnoreRole, Log: o.Log,
	}
	for _, a := range s.Agents {
		c.Agents = append(c.Agents, node.AgentTemplate{Name: a.Name, Config: a.Config})
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
