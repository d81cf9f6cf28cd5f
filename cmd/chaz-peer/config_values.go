package main

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// textOf is the text of a scalar. A number is text too where text is wanted: "name: 42".
func textOf(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value, nil
	}
	return "", fmt.Errorf("want text, quoted if it could be read as something else")
}

// listOf is the items of a list; one value stands for a list of one.
func listOf(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values
	}
	return []ast.Node{n}
}

func at(n ast.Node, err error) []fault { return []fault{{lineOf(n), err.Error()}} }

// readWith reads text through a parser.
func readWith[T any](n ast.Node, to *T, parse func(string) (T, error)) []fault {
	s, err := textOf(n)
	if err != nil {
		return at(n, err)
	}
	v, err := parse(s)
	if err != nil {
		return at(n, err)
	}
	*to = v
	return nil
}

// readEach reads a list of text; each item may give several values.
func readEach(n ast.Node, to *[]string, parse func(string) ([]string, error)) []fault {
	var faults []fault
	if *to == nil {
		*to = []string{} // an empty list is not the same as none
	}
	for _, item := range listOf(n) {
		s, err := textOf(item)
		var vs []string
		if err == nil {
			vs, err = parse(s)
		}
		if err != nil {
			faults = append(faults, at(item, err)...)
			continue
		}
		*to = append(*to, vs...)
	}
	return faults
}

func readBool(n ast.Node, to **bool) []fault {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		return at(n, fmt.Errorf("want true or false"))
	}
	*to = &b.Value
	return nil
}

func readName(n ast.Node, to *string) []fault {
	return readWith(n, to, func(s string) (string, error) {
		if s == "" || utf8.RuneCountInString(s) > 64 || clean(s) != s {
			return "", fmt.Errorf("want 1 to 64 characters without control characters")
		}
		return s, nil
	})
}

// loopback is a loopback host:port, or empty for none.
func loopback(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	return s, checkLoopback(s)
}

func checkLoopback(s string) error {
	host, port, err := net.SplitHostPort(s)
	ip, ipErr := netip.ParseAddr(host)
	_, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || (host != "localhost" && (ipErr != nil || !ip.IsLoopback())) {
		return fmt.Errorf("%q is not a loopback address with a port, such as 127.0.0.1:4712", clipText(s))
	}
	return nil
}

// parseSize reads a number of bytes with an optional unit.
func parseSize(s string) (int64, error) {
	fault := fmt.Errorf("%q is not a size: want a number with B, KiB, MiB, GiB, KB, MB or GB", clipText(s))
	digits := strings.TrimLeft(s, "0123456789")
	n, err := strconv.ParseInt(s[:len(s)-len(digits)], 10, 64)
	if err != nil {
		return 0, fault
	}
	units := map[string]int64{"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "kb": 1e3, "mb": 1e6, "gb": 1e9}
	unit, ok := units[strings.ToLower(strings.TrimSpace(digits))]
	if !ok || n > math.MaxInt64/unit {
		return 0, fault
	}
	if n *= unit; n < leastMemory {
		return 0, fmt.Errorf("%q is less than 16MiB", clipText(s))
	}
	return n, nil
}

func agentName(s string) ([]string, error) {
	if s == "" || utf8.RuneCountInString(s) > 64 || clean(s) != s || strings.ContainsAny(s, " \t") {
		return nil, fmt.Errorf("%q is not a name for an agent: want 1 to 64 characters without blanks", clipText(s))
	}
	return []string{s}, nil
}

// readAgents reads the declared agents.
func readAgents(n ast.Node, to *[]control.AgentSpec) []fault {
	var faults []fault
	for _, item := range listOf(n) {
		entries, ok := mappingOf(item)
		if !ok || entries == nil {
			faults = append(faults, at(item, fmt.Errorf("want a list of agents, each with a name"))...)
			continue
		}
		spec, more := readAgent(item, entries)
		faults = append(faults, more...)
		if slices.ContainsFunc(*to, func(x control.AgentSpec) bool { return x.Name == spec.Name && x.Name != "" }) {
			faults = append(faults, at(item, fmt.Errorf("two agents are called %q", spec.Name))...)
		}
		*to = append(*to, spec)
	}
	return faults
}

func readAgent(item ast.Node, entries []*ast.MappingValueNode) (control.AgentSpec, []fault) {
	spec := control.AgentSpec{Config: map[string]any{}}
	var faults []fault
	fields := agentFields()
	for _, e := range entries {
		name, line := keyOf(e)
		var v any
		var err error
		switch read, ok := fields[name]; {
		case name == "name":
			faults = append(faults, readWith(e.Value, &spec.Name, func(s string) (string, error) { _, err := agentName(s); return s, err })...)
			continue
		case !ok:
			err = fmt.Errorf("%s", unknownKey("key", name, agentFieldNames(fields)))
		case spec.Config[name] != nil:
			err = fmt.Errorf("%s is given twice", name)
		default:
			v, err = read(e.Value)
		}
		if err != nil {
			faults = append(faults, fault{line, err.Error()})
			continue
		}
		spec.Config[name] = v
	}
	if spec.Name == "" && len(faults) == 0 {
		faults = at(item, fmt.Errorf("an agent without a name"))
	}
	return spec, faults
}
