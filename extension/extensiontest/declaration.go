package extensiontest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
)

func (s *suite) declaration(t *testing.T) {
	d := s.d
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	for range 3 {
		if again := s.x.Declaration(); !sameDeclaration(d, again) {
			t.Errorf("the declaration changes:\n%+v\n%+v", d, again)
		}
	}
	if d.API != 0 && d.API != extension.APIVersion {
		t.Errorf("API %d is not the version of this build, %d", d.API, extension.APIVersion)
	}
	for i, sc := range d.Scopes {
		if !slices.Contains([]extension.Scope{extension.Global, extension.PerAgent, extension.PerSession}, sc) {
			t.Errorf("unknown scope %q", sc)
		}
		if slices.Contains(d.Scopes[:i], sc) {
			t.Errorf("the scope %s is listed twice", sc)
		}
	}
	s.vocabulary(t)
	s.declaredCommands(t)
	s.declaredSettings(t)
}

// sameDeclaration compares all but the refs by value, these by meaning.
func sameDeclaration(a, b extension.Declaration) bool {
	if !a.Ref.Equal(b.Ref) {
		return false
	}
	a.Ref, b.Ref = extension.Ref{}, extension.Ref{}
	return reflect.DeepEqual(a, b)
}

func (s *suite) vocabulary(t *testing.T) {
	for _, k := range s.d.Hooks {
		if k.Display() == "" {
			t.Errorf("unknown hook kind %q", k)
		}
	}
	for _, r := range slices.Concat(s.d.Requires, s.d.Requests) {
		if _, err := extension.ParseCapability(string(r.Kind)); err != nil {
			t.Error(err)
		}
	}
	for _, c := range s.d.Provides {
		if _, err := extension.ParseCapability(string(c)); err != nil {
			t.Error(err)
		}
	}
	if s.d.Enforcing && !slices.Contains(s.d.Hooks, extension.HookToolCall) {
		t.Error("it is enforcing and has no tool_call hook")
	}
}

func (s *suite) declaredCommands(t *testing.T) {
	if len(s.d.Commands) > 0 && !slices.Contains(s.d.Hooks, extension.HookCommand) {
		t.Error("there are commands, but the hook kind command is not declared")
	}
	for i, c := range s.d.Commands {
		if c == "" || strings.ContainsAny(c, "/ \t\n") {
			t.Errorf("the command %q is no single word without slash", c)
		}
		if extension.ReservedCommand(c) {
			t.Errorf("/%s belongs to the host", c)
		}
		if slices.Contains(s.d.Commands[:i], c) {
			t.Errorf("the command /%s is listed twice", c)
		}
	}
}

func (s *suite) declaredSettings(t *testing.T) {
	for key, v := range s.d.Settings {
		if _, err := json.Marshal(v); key == "" || err != nil {
			t.Errorf("the default of setting %q has no JSON form: %v", key, err)
		}
	}
	if len(s.d.SettingsSchema) > 0 && !object(s.d.SettingsSchema) {
		t.Error("the schema of the settings is no JSON object")
	}
	if len(s.d.ReadAtBuild) > 0 && !s.d.LivesAt(extension.PerSession) {
		t.Error("settings are read when an instance is built, but there is no session instance")
	}
	if slices.Contains(s.d.ReadAtBuild, "") {
		t.Error("ReadAtBuild lists an empty key")
	}
}

func object(text json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(text, &fields) == nil && fields != nil
}

// endpoints holds an instance against the declaration.
func (s *suite) endpoints(t *testing.T, scope extension.Scope, i *extension.Instance) {
	declared := func(there bool, k extension.HookKind) {
		if there && !slices.Contains(s.d.Hooks, k) {
			t.Errorf("it uses the hook kind %s, which it does not declare", k)
		}
	}
	for _, k := range i.Hooks.Kinds() {
		declared(true, k)
	}
	declared(len(i.Tools) > 0, extension.HookTool)
	declared(len(i.Commands) > 0, extension.HookCommand)
	provides := func(there bool, c extension.Capability) {
		if there && !slices.Contains(s.d.Provides, c) {
			t.Errorf("it provides the capability %s, which it does not declare", c)
		}
	}
	provides(i.Memory != nil, extension.CapMemory)
	provides(i.Messenger != nil, extension.CapMessenger)
	provides(i.PromptAugmentation != nil, extension.CapPromptAugmentation)
	provides(i.ContextTail != nil, extension.CapContextTail)
	provides(i.StatusSegment != nil, extension.CapStatusSegment)
	if scope == extension.Global && (i.PromptAugmentation != nil || i.ContextTail != nil) {
		t.Error("context of a Global instance is never asked for")
	}
	ofSession := s.d.Ref.Kind() != extension.Builtin && scope == extension.PerSession && !s.d.LivesAt(extension.Global)
	if scope != extension.Global && !ofSession && i.Routine != nil {
		t.Errorf("a routine handler at scope %s is never called", scope)
	}
	for n, c := range i.Commands {
		if c.Run == nil || !slices.Contains(s.d.Commands, c.Name) {
			t.Errorf("the command %q has no function or is not declared", c.Name)
		}
		if slices.ContainsFunc(i.Commands[:n], func(o extension.Command) bool { return o.Name == c.Name }) {
			t.Errorf("the command /%s is there twice", c.Name)
		}
	}
	for id, fn := range i.Caps {
		if id == "" || fn == nil {
			t.Errorf("the capability %q has no id or no function", id)
		}
	}
	for n, tool := range i.Tools {
		checkTool(t, tool)
		if slices.ContainsFunc(i.Tools[:n], func(o extension.Tool) bool { return o.Name == tool.Name }) {
			t.Errorf("the tool %s is there twice", tool.Name)
		}
	}
}
