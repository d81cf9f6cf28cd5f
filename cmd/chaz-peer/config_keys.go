package main

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// configKey is everything about one key of the config file: how it is read, and what the example
// says about it. The check, the reader and the example cannot disagree.
type configKey struct {
	name string
	read func(*fileConfig, ast.Node) []fault
	doc  string // lines of explanation
	sets string // an example of its use, in YAML
}

func configKeys() []configKey {
	return append(peerKeys(), toolKeys()...)
}

// peerKeys are the keys about the peer itself.
func peerKeys() []configKey {
	return []configKey{
		{
			"name", func(f *fileConfig, n ast.Node) []fault { return readName(n, &f.Name) },
			"What this peer calls itself towards others, and the sender of what you post.\nDefault: the name of the machine.",
			"name: laptop",
		},
		{
			"listen", func(f *fileConfig, n ast.Node) []fault { return readEach(n, &f.Listen, listenAddrs) },
			"Where to listen: multiaddrs, or HOST:PORT for both TCP and QUIC.\nDefault: TCP and QUIC on all addresses, on free ports.",
			"listen: [0.0.0.0:4711, /ip6/::/tcp/4711]",
		},
		{
			"mdns", func(f *fileConfig, n ast.Node) []fault { return readBool(n, &f.MDNS) },
			"Look for peers in the local network, and be found there. Default: true.",
			"mdns: false",
		},
		{
			"static_peers", func(f *fileConfig, n ast.Node) []fault { return readEach(n, &f.StaticPeers, peerAddr) },
			"Peers to stay connected to, beside those learned from tickets: multiaddrs with the peer's id.\nDefault: none.",
			"static_peers:\n  - /dns4/server.example.org/tcp/4711/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN",
		},
		{
			"clock_skew", func(f *fileConfig, n ast.Node) []fault { return readWith(n, &f.ClockSkew, parseDuration) },
			"Shift this peer's clock, for tests: a duration with a sign (ms, s, m, h, d, w). Default: 0.\nThe flag --clock-skew and $CHAZ_CLOCK_SKEW go before it.",
			"clock_skew: +2h",
		},
		{
			"control_tcp", func(f *fileConfig, n ast.Node) []fault { return readWith(n, &f.ControlTCP, loopback) },
			"Serve the local API also on a loopback address, to callers with the token in control.token.\nDefault: only on the Unix socket.",
			"control_tcp: 127.0.0.1:4712",
		},
		{
			"memory_budget", func(f *fileConfig, n ast.Node) []fault { return readWith(n, &f.MemoryBudget, parseSize) },
			"How much memory documents may hold that nobody is using right now. Less makes old sessions\nslower to open again. At least 16MiB. Default: 256MiB.",
			"memory_budget: 512MiB",
		},
		{
			"log_level", func(f *fileConfig, n ast.Node) []fault {
				return readWith(n, &f.LogLevel, oneOf("level", "debug", "info", "warn", "error"))
			},
			"What the daemon writes to standard error: debug, info, warn or error. Default: info.",
			"log_level: warn",
		},
		{
			"agents", func(f *fileConfig, n ast.Node) []fault { return readAgents(n, &f.Agents) },
			"Agents to create, each once, at the first start after it stands here. Only name must be given.\n" +
				"Default: one agent called chaz.",
			"agents:\n  - name: chaz\n    model: script\n    system_prompt: You are a careful colleague.\n    tools: [read_file, search]\n    max_iterations: 20",
		},
		{
			"default_agents", func(f *fileConfig, n ast.Node) []fault { return readEach(n, &f.DefaultAgents, agentName) },
			"Which agents a new session gets. Default: the first of agents.",
			"default_agents: [chaz]",
		},
	}
}

// exampleConfig is a config file in which every key is explained and commented out. Explanations
// begin with "# ", settings with "#".
func exampleConfig() string {
	var b strings.Builder
	b.WriteString("# The configuration of chaz-peer. Everything is optional. Unknown keys are errors.\n" +
		"# Check it with: chaz-peer config check\n")
	for _, k := range configKeys() {
		fmt.Fprintf(&b, "\n# %s\n#%s\n", strings.ReplaceAll(k.doc, "\n", "\n# "), strings.ReplaceAll(k.sets, "\n", "\n#"))
	}
	return b.String()
}

// topKeys is the config file as a block.
func topKeys() []key[fileConfig] {
	var keys []key[fileConfig]
	for _, k := range configKeys() {
		keys = append(keys, key[fileConfig]{k.name, k.read})
	}
	return keys
}
