package extension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Manifest is what a host reads before it runs anything of an extension.
type Manifest struct {
	Name string `json:"name"`
	Ref  Ref    `json:"extension_ref"`
	// Hooks are the kinds that the extension may use; nothing else of it is dispatched.
	Hooks []HookKind `json:"supported_hooks"`
	// Requires: it can't run without these.
	Requires []Request `json:"required_capabilities"`
	// Requests: it does less without these.
	Requests []Request `json:"requested_capabilities"`
	// Provides: what it implements for others.
	Provides []Capability `json:"provides_capabilities"`
}

// APIVersion is the version of the contract that this build knows.
const APIVersion = 1

// Declaration is the static side of an extension.
type Declaration struct {
	Manifest
	// API is the version of the contract it was written for; 0 is 1. One that this build does not
	// know marks the extension failed.
	API int
	// Scopes lists where it lives; empty is Global alone.
	Scopes []Scope
	// Commands are the slash commands it brings, without the slash.
	Commands []string
	// Settings are the defaults under the overrides of a session, by key.
	Settings map[string]any
	// SettingsSchema is a JSON Schema of an object; what it declares is checked when a setting is
	// made. Empty checks nothing.
	SettingsSchema json.RawMessage
	// ReadAtBuild lists the settings that an instance reads when it is built: a change of one ends
	// the PerSession instance, and the next need builds another.
	ReadAtBuild []string
	// Enforcing: a tool_call hook of it that fails denies the call instead of letting it pass.
	Enforcing bool
}

// LivesAt reports whether the extension has instances of the scope.
func (d Declaration) LivesAt(s Scope) bool {
	if len(d.Scopes) == 0 {
		return s == Global
	}
	return slices.Contains(d.Scopes, s)
}

// Extension is one extension: what it says of itself, and how it comes alive. Both methods may be
// called from any goroutine; Declaration always returns the same and costs nothing.
type Extension interface {
	Declaration() Declaration
	// Instantiate builds the instance of one scope. It is called once for each live scope, with a
	// deadline; ctx ends when the call does and must not be kept.
	Instantiate(ctx context.Context, s ScopeContext) (*Instance, error)
}

// Validate checks the manifest on its own and returns the first fault: empty name, a host-only
// capability provided, a duplicate, a request both required and requested, a malformed name, a
// reserved name, a reference that names another extension.
func (m Manifest) Validate() error {
	if m.Name == "" {
		return errors.New("check manifest: the name must not be empty")
	}
	if err := m.checkLists(); err != nil {
		return fmt.Errorf("check manifest of %.80q: %w", m.Name, err)
	}
	if err := CheckName(m.Name, m.Ref); err != nil {
		return fmt.Errorf("check manifest of %.80q: %w", m.Name, err)
	}
	return nil
}

// CheckName checks a name against the reference that goes with it: its form, whether it is reserved,
// and that the reference (if it holds a name) names the same extension.
func CheckName(name string, ref Ref) error {
	switch {
	case !ValidName(name):
		return errors.New("the name must be a-z, 0-9, _ and -, at most 64 characters, and start with a letter or digit")
	case ReservedName(name) && ref.Kind() != Builtin:
		return errors.New("the name is reserved for built-in extensions")
	case ref.IsZero():
		return errors.New("there is no extension reference")
	case ref.Name() != name:
		return fmt.Errorf("the extension reference names %.80q", ref.Name())
	}
	return nil
}

func (m Manifest) checkLists() error {
	for _, c := range m.Provides {
		if c.HostOnly() {
			return fmt.Errorf("only the host provides the capability %s", c)
		}
	}
	same := func(a, b Capability) bool { return a == b }
	if c, twice := duplicate(m.Provides, same); twice {
		return fmt.Errorf("provides_capabilities lists %s twice", c)
	}
	if k, twice := duplicate(m.Hooks, func(a, b HookKind) bool { return a == b }); twice {
		return fmt.Errorf("supported_hooks lists %s twice", k)
	}
	if r, twice := duplicate(m.Requires, Request.Equal); twice {
		return fmt.Errorf("required_capabilities lists %s twice", r.Kind)
	}
	if r, twice := duplicate(m.Requests, Request.Equal); twice {
		return fmt.Errorf("requested_capabilities lists %s twice", r.Kind)
	}
	for _, r := range m.Requires {
		if slices.ContainsFunc(m.Requests, r.Equal) {
			return fmt.Errorf("%s is both required and requested", r.Kind)
		}
	}
	return nil
}

func duplicate[T any](list []T, same func(a, b T) bool) (T, bool) {
	for i, x := range list {
		for _, y := range list[:i] {
			if same(x, y) {
				return x, true
			}
		}
	}
	var none T
	return none, false
}
