package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/chaz-peer/chaz-peer/builtins"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/node/command"
)

// openHub installs the extensions. An invalid manifest of what is compiled in means that the program
// is wrong: it must not start.
func (n *Node) openHub(ctx context.Context) error {
	n.hub = hub.New(hub.Config{
		Peer: n.handles(""), PeerFor: func(d extension.Declaration) *extension.Peer { return n.handles(d.Name) },
		Documents: n.repo, Clock: n.clock, Timings: n.cfg.Timings, Log: n.log,
	})
	all := append(builtins.All(builtins.Deps{Log: n.log, Search: n.cfg.Search}), n.cfg.Extensions...)
	if err := hub.Fatal(n.hub.Install(ctx, all)); err != nil {
		return err
	}
	n.decls = n.hub.Declarations()
	n.warnAllowlist()
	return nil
}

// warnAllowlist says which names on the list of who may administer agents are nobody's: an extension
// that was meant and is not named is not limited.
func (n *Node) warnAllowlist() {
	for _, name := range slices.Sorted(maps.Keys(n.cfg.AgentAllow)) {
		if !slices.ContainsFunc(n.decls, func(d extension.Declaration) bool { return d.Name == name }) {
			n.log.Warn("agent_state_allowlist names an extension that is not installed", "extension", name)
		}
	}
}

// Run implements [command.Live].
func (h slashHost) Run(ctx context.Context, c command.Call, word, args string) (string, bool, error) {
	out, err := h.n.hub.Command(ctx, c.Session, extension.Agent{ID: c.Agent.ID, Name: c.Agent.Name}, word, args)
	return out, !errors.Is(err, hub.ErrUnknownCommand), err
}

// Commands implements [command.Live].
func (h slashHost) Commands(session crdt.DocID) []command.ExtensionCommand {
	var out []command.ExtensionCommand
	for _, c := range h.n.hub.Commands(session) {
		out = append(out, command.ExtensionCommand{Name: c.Name, Owner: c.Owner, Usage: c.Usage})
	}
	return out
}

// Trouble implements [command.Live].
func (h slashHost) Trouble(name string, ref extension.Ref, c command.Call) (command.State, string, bool) {
	switch state, reason, whole := h.n.hub.StateIn(name, ref, c.Session, c.Agent.ID); state {
	case hub.StateUnknown:
		return command.StateFailed, "it is not loaded here", true
	case hub.StateFailed:
		return command.StateFailed, reason, whole
	case hub.StateSuspended:
		return command.StateSuspended, reason, whole
	}
	return "", "", true
}

// Resume implements [command.Live].
func (h slashHost) Resume(session crdt.DocID, name string) bool { return h.n.hub.Resume(session, name) }

// CheckSetting implements [command.Live]: what the declaration's schema says of a key. Keys that it
// does not declare take anything.
func (h slashHost) CheckSetting(session crdt.DocID, name, key string, value []byte) error {
	for _, d := range slices.Concat(h.n.hub.InstalledIn(session), h.n.decls) {
		if d.Name == name && len(d.SettingsSchema) > 0 {
			return checkSetting(d.SettingsSchema, key, value)
		}
	}
	return nil
}

// checkSetting checks one value against its property of an object schema.
func checkSetting(schema json.RawMessage, key string, value []byte) error {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return fmt.Errorf("read settings schema: %w", err)
	}
	property, declared := object.Properties[key]
	if !declared {
		return nil
	}
	return matches(property, value)
}

// matches checks a JSON value against a JSON Schema.
func matches(schema, value []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // none: by itself it would read the files that a schema refers to
	if err := c.AddResource("setting.json", doc); err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	compiled, err := c.Compile("setting.json")
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("read value: %w", err)
	}
	var fault *jsonschema.ValidationError
	if err := compiled.Validate(v); errors.As(err, &fault) {
		for len(fault.Causes) > 0 {
			fault = fault.Causes[0]
		}
		return errors.New(fault.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	} else if err != nil {
		return err
	}
	return nil
}

// sessionStarted makes this process the one that runs a session's agents: default rows, then the
// session_start hooks. Doing it twice is doing it once.
func (n *Node) sessionStarted(ctx context.Context, id crdt.DocID) error {
	err := n.repo.Update(ctx, id, n.recordActive)
	if err != nil && !errors.Is(err, crdt.ErrNoRight) {
		return err
	}
	if err != nil {
		n.log.Info("the session's log was not brought up to date", "session", id.Short(), "cause", err)
	}
	return n.hub.SessionStart(ctx, id)
}
