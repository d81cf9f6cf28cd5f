package toolhost

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// Grants is what one level says a tool may do. The zero value says nothing. In a list, nil (absent
// in JSON and YAML) says nothing and an empty list allows nothing; see [Intersect] for what counts
// where nobody says anything.
type Grants struct {
	Shell   ShellGrants   `json:"shell,omitzero" yaml:"shell,omitempty"`
	Network NetworkGrants `json:"network,omitzero" yaml:"network,omitempty"`
	FS      FileGrants    `json:"fs,omitzero" yaml:"fs,omitempty"`
}

// ShellGrants says which programs a command line may run. An entry is a program word and perhaps
// arguments, separated by blanks: "git" is git with any arguments, "git log *" is git log with any
// further ones, "git status" in Allow is exactly that command. In Deny every entry stands for all
// command lines that begin with it. "*" is any program.
//
// Program words are compared as they are written: "/usr/bin/git" fits only an entry "/usr/bin/git",
// since a folder may hold another git. Only Deny looks at the last part of a path too.
type ShellGrants struct {
	Allow []string `json:"allow,omitzero" yaml:"allow,omitzero"`
	Deny  []string `json:"deny,omitzero" yaml:"deny,omitzero"`
}

// NetworkGrants says which addresses may be fetched.
type NetworkGrants struct {
	Endpoints []Endpoint `json:"endpoints,omitzero" yaml:"endpoints,omitzero"`
	// AllowPrivate lifts the check of address ranges, and nothing else.
	AllowPrivate *bool `json:"allow_private,omitzero" yaml:"allow_private,omitempty"`
}

// Endpoint is one allowed set of addresses. Host is a name, an address, "*.x" for x and its
// subdomains, or "*"; with ":port" that port alone. PathPrefix ("" is "/") matches on path
// boundaries. Methods nil is all.
type Endpoint struct {
	Host       string   `json:"host" yaml:"host"`
	PathPrefix string   `json:"path_prefix,omitempty" yaml:"path_prefix,omitempty"`
	Methods    []string `json:"methods,omitzero" yaml:"methods,omitzero"`
}

// FileGrants lists folders (or single files) that may be read and written, absolute or relative to
// the work folder. Everything below is meant too.
type FileGrants struct {
	AllowRead  []string `json:"allow_read,omitzero" yaml:"allow_read,omitzero"`
	AllowWrite []string `json:"allow_write,omitzero" yaml:"allow_write,omitzero"`
}

// Effective is what one call may do. Paths are absolute and clean, lists without what another entry
// covers, sorted.
type Effective struct {
	Grants
	// AskShell: the operator has listed no programs, so commands run only after a person's approval.
	AskShell bool

	// The operator's own paths: the granted ones lie in them and are opened through them.
	readRoots, writeRoots []string
}

// Intersect returns what a call may do: allow lists intersect (of two paths the longer wins), deny
// lists add up, booleans must be true at every level that states them. work is the absolute work
// folder.
//
// Where tool, the operator's level, says nothing: files are those of the work folder, commands need
// a person's approval, the network is all public addresses, private ones are not allowed. The other
// levels can only narrow: where they say nothing, nothing changes. Grants that make no sense are an
// error, never a wider grant.
func Intersect(work string, tool, session, agent, perTool Grants) (Effective, error) {
	if !filepath.IsAbs(work) {
		return Effective{}, fmt.Errorf("intersect grants: work folder %q is not absolute", work)
	}
	e := Effective{AskShell: tool.Shell.Allow == nil}
	if tool.FS.AllowRead == nil {
		tool.FS.AllowRead = []string{"."}
	}
	if tool.FS.AllowWrite == nil {
		tool.FS.AllowWrite = []string{"."}
	}
	if tool.Network.AllowPrivate == nil {
		tool.Network.AllowPrivate = new(bool)
	}
	for i, level := range []Grants{tool, session, agent, perTool} {
		if err := level.Check(); err != nil {
			return Effective{}, err
		}
		level = level.normal(work)
		if i == 0 {
			e.Grants = level
			e.readRoots, e.writeRoots = level.FS.AllowRead, level.FS.AllowWrite
			continue
		}
		e.Grants = e.narrow(level)
	}
	return e, nil
}

// Check reports the first entry that makes no sense.
func (g Grants) Check() error {
	for _, list := range [][]string{g.Shell.Allow, g.Shell.Deny} {
		for _, entry := range list {
			if _, err := parseRule(entry); err != nil {
				return fmt.Errorf("check shell grants: %w", err)
			}
		}
	}
	for _, e := range g.Network.Endpoints {
		if _, err := parseEndpoint(e); err != nil {
			return fmt.Errorf("check network grants: %w", err)
		}
	}
	for _, p := range slices.Concat(g.FS.AllowRead, g.FS.AllowWrite) {
		if err := checkPath(p); err != nil {
			return fmt.Errorf("check file grants: %w", err)
		}
	}
	return nil
}

func checkPath(p string) error {
	switch {
	case p == "":
		return errors.New("an empty path")
	case slices.Contains([]byte(p), 0):
		return fmt.Errorf("path %q holds a zero byte", p)
	}
	return nil
}

// normal returns checked grants in the form in which equal ones are equal.
func (g Grants) normal(work string) Grants {
	abs := func(list []string) []string {
		if list == nil {
			return nil
		}
		out := make([]string, len(list))
		for i, p := range list {
			out[i] = absolute(work, p)
		}
		return out
	}
	g.Shell.Allow = tidyRules(g.Shell.Allow)
	g.Shell.Deny = tidyRules(g.Shell.Deny)
	g.Network.Endpoints = tidyEndpoints(g.Network.Endpoints)
	g.FS.AllowRead = tidyPaths(abs(g.FS.AllowRead))
	g.FS.AllowWrite = tidyPaths(abs(g.FS.AllowWrite))
	return g
}

// narrow is the meet of two normal grants: commutative, associative in effect, idempotent.
func (g Grants) narrow(o Grants) Grants {
	var out Grants
	out.Shell.Allow = tidyRules(meet(g.Shell.Allow, o.Shell.Allow, meetRules))
	if g.Shell.Deny != nil || o.Shell.Deny != nil {
		out.Shell.Deny = tidyRules(append(append([]string{}, g.Shell.Deny...), o.Shell.Deny...))
	}
	out.Network.Endpoints = tidyEndpoints(meet(g.Network.Endpoints, o.Network.Endpoints, meetEndpoints))
	out.Network.AllowPrivate = both(g.Network.AllowPrivate, o.Network.AllowPrivate)
	out.FS.AllowRead = tidyPaths(meet(g.FS.AllowRead, o.FS.AllowRead, meetPaths))
	out.FS.AllowWrite = tidyPaths(meet(g.FS.AllowWrite, o.FS.AllowWrite, meetPaths))
	return out
}

// both is the "and" of two booleans that may be left out.
func both(a, b *bool) *bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	and := *a && *b
	return &and
}

// meet is what two allow lists have in common; nil is everything.
func meet[T any](a, b []T, one func(a, b T) (T, bool)) []T {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	out := []T{}
	for _, x := range a {
		for _, y := range b {
			if z, ok := one(x, y); ok {
				out = append(out, z)
			}
		}
	}
	return out
}

// tidy sorts a list and drops what another entry covers. nil stays nil.
func tidy[T any](list []T, compare func(a, b T) int, covers func(a, b T) bool) []T {
	if list == nil {
		return nil
	}
	out := slices.Clone(list)
	slices.SortFunc(out, compare)
	out = slices.CompactFunc(out, func(a, b T) bool { return compare(a, b) == 0 })
	kept := out[:0:0]
	for i, x := range out {
		covered := slices.ContainsFunc(out[:i], func(y T) bool { return covers(y, x) }) ||
			slices.ContainsFunc(out[i+1:], func(y T) bool { return covers(y, x) })
		if !covered {
			kept = append(kept, x)
		}
	}
	if kept == nil {
		return []T{}
	}
	return kept
}
