package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
)

// readDeclaration asks an extension what it is; a panic in there is an error.
func readDeclaration(x extension.Extension) (d extension.Declaration, err error) {
	if x == nil {
		return d, errors.New("read declaration: there is no extension")
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read declaration: panicked: %s", oneLine(fmt.Sprint(r)))
		}
	}()
	return x.Declaration(), nil
}

// unsupported says why this build can't run a declaration that is valid as such.
func unsupported(d extension.Declaration) string {
	if d.API != 0 && d.API != extension.APIVersion {
		return fmt.Sprintf("it was written for version %d of the extension API; this build knows %d", d.API, extension.APIVersion)
	}
	for _, s := range d.Scopes {
		if s != extension.Global && s != extension.PerAgent && s != extension.PerSession {
			return fmt.Sprintf("unknown scope %.40q", string(s))
		}
	}
	for _, k := range d.Hooks {
		if k.Display() == "" {
			return fmt.Sprintf("unknown hook kind %.40q", string(k))
		}
	}
	for _, r := range slices.Concat(d.Requires, d.Requests) {
		if _, err := extension.ParseCapability(string(r.Kind)); err != nil {
			return err.Error()
		}
	}
	return ""
}

// checkInstance holds an instance against the declaration and returns the first endpoint that is not
// declared or can't be used.
func checkInstance(d extension.Declaration, scope extension.Scope, i *extension.Instance) error {
	if i == nil {
		return fmt.Errorf("%s at scope %s: there is no instance", d.Name, scope)
	}
	refuse := func(kind, what string) error {
		return fmt.Errorf("%s at scope %s: undeclared %s: %s", d.Name, scope, kind, what)
	}
	for _, k := range endpointKinds(i) {
		if !slices.Contains(d.Hooks, k) {
			return refuse("kind "+string(k), "it is not in supported_hooks")
		}
	}
	for _, c := range endpointCaps(i) {
		if !slices.Contains(d.Provides, c) {
			return refuse("capability "+string(c), "it is not in provides_capabilities")
		}
	}
	for _, t := range i.Tools {
		if err := checkTool(t); err != nil {
			return fmt.Errorf("%s at scope %s: %w", d.Name, scope, err)
		}
	}
	for _, c := range i.Commands {
		if !slices.Contains(d.Commands, c.Name) {
			return refuse("command", fmt.Sprintf("/%.64s is not among the declared ones", c.Name))
		}
		if c.Run == nil {
			return fmt.Errorf("%s at scope %s: command /%.64s has no function", d.Name, scope, c.Name)
		}
	}
	return nil
}

func endpointKinds(i *extension.Instance) []extension.HookKind {
	kinds := i.Hooks.Kinds()
	if len(i.Tools) > 0 {
		kinds = append(kinds, extension.HookTool)
	}
	if len(i.Commands) > 0 {
		kinds = append(kinds, extension.HookCommand)
	}
	return kinds
}

func endpointCaps(i *extension.Instance) []extension.Capability {
	var caps []extension.Capability
	add := func(there bool, c extension.Capability) {
		if there {
			caps = append(caps, c)
		}
	}
	add(i.PromptAugmentation != nil, extension.CapPromptAugmentation)
	add(i.ContextTail != nil, extension.CapContextTail)
	add(i.StatusSegment != nil, extension.CapStatusSegment)
	add(i.Memory != nil, extension.CapMemory)
	add(i.Messenger != nil, extension.CapMessenger)
	return caps
}

func checkTool(t extension.Tool) error {
	if !validToolName(t.Name) {
		return fmt.Errorf("tool %.80q: the name must be 1 to 64 letters, digits, _ and -", t.Name)
	}
	if t.Run == nil {
		return fmt.Errorf("tool %s has no function", t.Name)
	}
	if len(t.Parameters) > 0 && !isObject(t.Parameters) {
		return fmt.Errorf("tool %s: its parameters are no JSON object", t.Name)
	}
	return nil
}

// validToolName is what all model back ends take.
func validToolName(name string) bool {
	return name != "" && len(name) <= 64 && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}) < 0
}

func isObject(text json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(text, &object) == nil && object != nil
}
