package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// fileConfig is config.yaml as read: nil, zero and the empty text mean that the key was not given.
type fileConfig struct {
	Name          string
	Listen        []string // multiaddrs
	MDNS          *bool
	StaticPeers   []string // multiaddrs that end in /p2p/ID
	ClockSkew     time.Duration
	ControlTCP    string // loopback host:port
	MemoryBudget  int64  // bytes
	LogLevel      string
	Agents        []control.AgentSpec
	DefaultAgents []string
	WorkFolder    string
	Security      control.Security
	AgentAllow    map[string][]string
	WebSearch     control.WebSearch
	SkillDirs     []string
	Extensions    control.ExtensionLimits
	Routines      control.RoutineLimits
}

// fault is one thing that is wrong in a config file. Line counts from 1; 0: the whole file.
type fault struct {
	line int
	text string
}

// maxConfig bounds the config file: the time to parse deeply nested text grows with its square.
const maxConfig = 256 << 10

// loadConfig reads a config file; a missing one is all defaults.
func loadConfig(path string) (fileConfig, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fileConfig{}, nil
	}
	if err != nil {
		return fileConfig{}, fmt.Errorf("read config file: %w", err)
	}
	f, faults := parseConfig(b)
	if len(faults) == 0 {
		return f, nil
	}
	return f, &control.Error{
		Cause: path + ": " + joinFaults(faults), Code: control.CodeUsage,
		Remedy: "chaz-peer config show --example explains every key",
	}
}

// parseConfig reads a config file and reports all faults, in the order of their lines.
func parseConfig(b []byte) (fileConfig, []fault) {
	var f fileConfig
	root, faults := configRoot(b)
	faults = append(faults, readEntries(root, &f, topKeys())...)
	sort.SliceStable(faults, func(i, j int) bool { return faults[i].line < faults[j].line })
	return f, faults
}

// configRoot parses the file to its top-level entries.
func configRoot(b []byte) ([]*ast.MappingValueNode, []fault) {
	if len(b) > maxConfig {
		return nil, []fault{{0, fmt.Sprintf("the file is larger than %d bytes", maxConfig)}}
	}
	file, err := parseYAML(b)
	if err != nil {
		var ye yaml.Error
		if errors.As(err, &ye) && ye.GetToken() != nil && ye.GetToken().Position != nil {
			return nil, []fault{{ye.GetToken().Position.Line, ye.GetMessage()}}
		}
		return nil, []fault{{0, firstLine(err.Error())}}
	}
	var root []*ast.MappingValueNode
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			return nil, []fault{{lineOf(doc.Body), "a second document in one file"}}
		}
		entries, ok := mappingOf(doc.Body)
		if !ok {
			return nil, []fault{{lineOf(doc.Body), "want lines of the form key: value"}}
		}
		root = entries
	}
	return root, nil
}

// parseYAML parses with duplicate keys allowed: they are reported here, with both lines. A parser
// that fails on hostile text must not take the program down.
func parseYAML(b []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("not YAML: %v", p)
		}
	}()
	return parser.ParseBytes(b, 0, parser.AllowDuplicateMapKey())
}

func mappingOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	case *ast.NullNode, *ast.CommentGroupNode:
		return nil, true
	}
	return nil, false
}

func keyOf(n *ast.MappingValueNode) (string, int) {
	if s, ok := n.Key.(*ast.StringNode); ok {
		return s.Value, lineOf(n.Key)
	}
	return clipText(strings.TrimSpace(n.Key.String())), lineOf(n.Key)
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}
