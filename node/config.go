package node

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chaz-peer/chaz-peer/builtins/web"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/routine"
)

// Config is what a node runs with. The zero value of each field has the meaning given.
type Config struct {
	// Home is the folder that holds the key, the store and the socket. Required; made if absent.
	Home string
	// Listen are multiaddrs to listen on; empty: QUIC and TCP on all interfaces, on free ports.
	Listen []string
	// MDNS finds peers on the local network and lets them find this one.
	MDNS bool
	// Static are multiaddrs with /p2p/ of peers to keep in touch with.
	Static []string
	// Skew is added to the machine's clock.
	Skew time.Duration
	// ControlTCP is a loopback host:port on which the local API is served too, with a token; empty:
	// only on the socket in the home.
	ControlTCP string
	// MemoryBudget bounds the bytes of idle documents in memory; 0: 256 MiB.
	MemoryBudget int64
	// Name is what this peer calls itself to others; empty: the host name.
	Name string
	// Agents are made at the first start, DefaultAgents attached to new sessions; empty: "chaz".
	Agents        []AgentTemplate
	DefaultAgents []string
	// Extensions are installed beside the built-ins.
	Extensions []extension.Extension
	// External rules code by reference.
	External External
	// Timings are the deadlines of extensions; zero fields take the hub's defaults.
	Timings hub.Timings
	// RoutineConcurrency is how many handlers of routines run at a time, RoutineDeadline how long one
	// may take; 0: 8, 10 min.
	RoutineConcurrency int
	RoutineDeadline    time.Duration
	Security           Security
	// AgentAllow says which agents (display names) an extension may administer; an extension that is
	// not named may administer all, an empty list is none.
	AgentAllow map[string][]string
	// Embedder turns texts into vectors for recall; nil: recall goes by words alone.
	Embedder extension.Embedder
	// Search lists the back ends of web_search, the first one first; empty: DuckDuckGo.
	Search []web.Backend
	// SkillDirs are folders with skill files, first one first, relative to the working folder of the
	// process unless absolute; empty: none.
	SkillDirs []string
	// FileReader is a command line (program, arguments) that runs [ReadAutomergeFile]; empty: Automerge
	// files can't be imported.
	FileReader []string
	// LockWait is how long to wait for another process to let go of the store.
	LockWait time.Duration
	// IgnoreRole makes this peer write without the right; for tests of what others then do.
	IgnoreRole bool
	// LogLevel is shown by the settings; the logger filters.
	LogLevel string
	// Log gets what happens; nil: nothing is logged.
	Log *slog.Logger
	// Report gets sentences for a person (a repaired store); nil: they are logged.
	Report func(string)
}

// AgentTemplate makes an agent at the first start of a home.
type AgentTemplate struct {
	Name   string
	Config map[string]any
}

func (c *Config) fill() error {
	if c.Home == "" {
		return errors.New("open node: no home folder given")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Report == nil {
		c.Report = func(s string) { c.Log.Warn(s) }
	}
	if len(c.Agents) == 0 {
		c.Agents = []AgentTemplate{{Name: "chaz"}}
	}
	seen := map[string]bool{}
	for _, a := range c.Agents {
		if a.Name == "" || seen[a.Name] {
			return fmt.Errorf("open node: agent name %q is empty or used twice", a.Name)
		}
		seen[a.Name] = true
	}
	if len(c.DefaultAgents) == 0 {
		c.DefaultAgents = []string{c.Agents[0].Name}
	}
	return c.fillTools()
}

// fillTools checks what concerns tools and extensions, and puts the values in force in the place of
// zero ones.
func (c *Config) fillTools() (err error) {
	if c.Security.WorkFolder, err = c.workFolder(); err != nil {
		return err
	}
	if err := c.Security.check(); err != nil {
		return fmt.Errorf("open node: %w", err)
	}
	for _, b := range c.Search {
		if err := b.Check(); err != nil {
			return fmt.Errorf("open node: %w", err)
		}
	}
	setDefault(&c.Timings.Hook, 10*time.Second)
	setDefault(&c.Timings.Instantiate, 10*time.Second)
	setDefault(&c.Timings.Idle, 30*time.Minute)
	setDefault(&c.RoutineConcurrency, routine.DefaultMaxConcurrent)
	setDefault(&c.RoutineDeadline, routine.DefaultDeadline)
	return nil
}

func setDefault[T int | time.Duration](v *T, other T) {
	if *v <= 0 {
		*v = other
	}
}
