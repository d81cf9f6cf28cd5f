package loaders

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Policy is what the operator of this peer rules for all external extensions, from a file. It holds at
// every load, also for what was trusted before. The zero value rules nothing.
type Policy struct {
	// Allow trusts without asking, in every session.
	Allow []AllowRule `json:"allow,omitempty"`
	// Deny is stronger than everything else.
	Deny DenyRules `json:"deny,omitzero"`
	// MaxCaps is a ceiling for the powers of each; nil is none. Forbid lists powers that nobody gets, by
	// their keys in a manifest, such as "net" or "hooks".
	MaxCaps *extension.GuestCaps `json:"max_caps,omitempty"`
	Forbid  []string             `json:"forbid,omitempty"`
	// MaxLimits is a ceiling for limits; zero fields set none.
	MaxLimits extension.GuestLimits `json:"max_limits,omitzero"`
	// AllowGitHosts are the only hosts for git references ("local" is a path); empty is any.
	AllowGitHosts []string `json:"allow_git_hosts,omitempty"`
	// AllowUnsigned is "ask" (also when empty) or "never".
	AllowUnsigned string `json:"allow_unsigned,omitempty"`
	// Network "off" fetches from peers only.
	Network string `json:"network,omitempty"`
	// EnforcingPending is what an enforcing extension does that is active but not trusted here: "warn"
	// (also when empty), or "block", which refuses tool calls.
	EnforcingPending string `json:"enforcing_pending,omitempty"`
}

// AllowRule matches a package by all of its fields that are set, at least one of the first three.
type AllowRule struct {
	Publisher string `json:"publisher,omitempty"` // peer id or did:key; the signature must hold
	SHA256    string `json:"sha256,omitempty"`    // of the module
	CID       string `json:"cid,omitempty"`       // of the package
	Name      string `json:"name,omitempty"`
	// Caps is what it gets of what it asks; the zero value is nothing.
	Caps extension.GuestCaps `json:"caps,omitzero"`
}

// DenyRules refuse by name, by reference (its text, its CID or its commit), by the module's sha256, and
// by publisher.
type DenyRules struct {
	Names      []string `json:"names,omitempty"`
	Refs       []string `json:"refs,omitempty"`
	SHA256     []string `json:"sha256,omitempty"`
	Publishers []string `json:"publishers,omitempty"`
}

// Validate returns the first fault. A policy with one is not used at all: a rule that is misread would
// let through what it was written against.
func (p Policy) Validate() error {
	for _, check := range []func() error{p.checkWords, p.checkAllow, p.checkDeny, p.checkCeilings} {
		if err := check(); err != nil {
			return fmt.Errorf("check extension policy: %w", err)
		}
	}
	return nil
}

func (p Policy) checkWords() error {
	for what, c := range map[string]struct {
		value string
		words []string
	}{
		"allow_unsigned":    {p.AllowUnsigned, []string{"", "ask", "never"}},
		"network":           {p.Network, []string{"", "on", "off"}},
		"enforcing_pending": {p.EnforcingPending, []string{"", "warn", "block"}},
	} {
		if !slices.Contains(c.words, c.value) {
			return fmt.Errorf("%s: %.40q is none of %s", what, c.value, strings.Join(c.words[1:], " and "))
		}
	}
	for _, h := range p.AllowGitHosts {
		if h == "" || strings.ContainsAny(h, "/@ *") || strings.ToLower(h) != h {
			return fmt.Errorf("allow_git_hosts: %.80q is no host name in lower case", h)
		}
	}
	return nil
}

func (p Policy) checkAllow() error {
	for i, r := range p.Allow {
		if r.Publisher == "" && r.SHA256 == "" && r.CID == "" {
			return fmt.Errorf("allow %d: it names no publisher, no sha256 and no cid", i+1)
		}
		if r.SHA256 != "" && !isSHA256(r.SHA256) {
			return fmt.Errorf("allow %d: sha256: want 64 lower-case hex digits", i+1)
		}
		if r.Publisher != "" {
			if _, err := (&Publisher{Key: r.Publisher}).ID(); err != nil {
				return fmt.Errorf("allow %d: %w", i+1, err)
			}
		}
		if err := r.Caps.Validate(); err != nil {
			return fmt.Errorf("allow %d: %w", i+1, err)
		}
	}
	return nil
}

func (p Policy) checkDeny() error {
	for _, s := range p.Deny.SHA256 {
		if !isSHA256(s) {
			return fmt.Errorf("deny: sha256 %.80q: want 64 lower-case hex digits", s)
		}
	}
	for _, s := range p.Deny.Publishers {
		if _, err := (&Publisher{Key: s}).ID(); err != nil {
			return fmt.Errorf("deny: %w", err)
		}
	}
	for _, n := range p.Deny.Names {
		if !extension.ValidName(n) {
			return fmt.Errorf("deny: %.80q is no name of an extension", n)
		}
	}
	if slices.Contains(p.Deny.Refs, "") {
		return errors.New("deny: refs has an empty entry")
	}
	return nil
}

func (p Policy) checkCeilings() error {
	for _, key := range p.Forbid {
		if !forbid(&extension.GuestCaps{}, key) {
			return fmt.Errorf("forbid: unknown power %.40q", key)
		}
	}
	if p.MaxCaps != nil {
		if err := p.MaxCaps.Validate(); err != nil {
			return fmt.Errorf("max_caps: %w", err)
		}
	}
	if err := p.MaxLimits.Validate(); err != nil {
		return fmt.Errorf("max_limits: %w", err)
	}
	return nil
}

func isSHA256(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32 && strings.ToLower(s) == s
}
