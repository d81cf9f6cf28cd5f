package command_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/command"
)

func TestGrammar(t *testing.T) {
	d := started(t)
	for line, kind := range map[string]command.Kind{
		"":                             command.NotCommand,
		"hello":                        command.NotCommand,
		" /help":                       command.NotCommand,
		"!chazextensions":              command.NotCommand,
		"see /help":                    command.NotCommand,
		"/":                            command.Usage,
		"/  ":                          command.Usage,
		"/ help":                       command.Usage,
		"!chaz":                        command.Usage,
		"/help":                        command.Text,
		"/help \t\n":                   command.Text,
		"/?":                           command.Text,
		"!chaz help":                   command.Text,
		"!chaz /help":                  command.Text,
		"/help me":                     command.Usage,
		"/Help":                        command.Error,
		"/helpme":                      command.Error,
		"//help":                       command.Error,
		"/share":                       command.Error,
		"/extensions":                  command.Text,
		"/extensions list":             command.Text,
		"/extensions list x":           command.Usage,
		"/extensions List":             command.Usage,
		"/extensions frob":             command.Usage,
		"/extensionsX":                 command.Error,
		"/extensions add":              command.Usage,
		"/extensions add a b":          command.Usage,
		"/extensions add a b c":        command.Usage,
		"/extensions add a Agent":      command.Usage,
		"/extensions remove":           command.Usage,
		"/extensions history":          command.Usage,
		"/extensions settings":         command.Usage,
		"/extensions set":              command.Usage,
		"/extensions set memory":       command.Usage,
		"/extensions set memory k":     command.Usage,
		"/extensions unset memory":     command.Usage,
		"/extensions unset memory k v": command.Usage,
		"/agents":                      command.Text,
		"/agents x":                    command.Usage,
		"/agent":                       command.Text,
		"/agent list":                  command.Text,
		"/agent list x":                command.Usage,
		"/agent add":                   command.Usage,
		"/agent remove":                command.Usage,
		"/agent frob":                  command.Usage,
		"/info":                        command.Text,
		"/info x":                      command.Usage,
		"/name \xff":                   command.Error,
	} {
		if r := d.run(line); r.Kind != kind || r.OK() != (kind == command.Text) {
			t.Errorf("%q: %s: %s; want %s", line, r.Kind, r.Output, kind)
		}
	}
	d.want("/helpme", command.Error, "/helpme", "`/help`")
	d.want("/x\u202e\x1b[2J"+strings.Repeat("y", 99), command.Error, "unknown command /x[2Jyyy", "…")
	d.want("/extensions add", command.Usage, "/extensions add <name> [agent|session]")
	d.want("/extensions frob", command.Usage, "/extensions add", "/extensions history", "/extensions unset")
}

func TestHelpListsEverything(t *testing.T) {
	d := started(t)
	out := d.want("/help", command.Text)
	for _, part := range []string{"/extensions history <name>", "/agent host", "/name [alias]", "/info", "/memory", "/skills", "/schedule"} {
		if !strings.Contains(out, part) {
			t.Errorf("no %s in %s", part, out)
		}
	}
}

func TestCommandsOfExtensions(t *testing.T) {
	d := started(t)
	d.want("/memory list", command.Text, "memory says list")
	d.run("/extensions remove schedule")
	r := d.run("/schedule list")
	const seed = "/schedule is provided by the 'schedule' extension, which is not active on this session. Use `/extensions add schedule` to enable it."
	if r.Kind != command.Error || r.Output != seed {
		t.Errorf("got %q", r.Output)
	}
	// An opt-out of the agent does not disarm the command.
	d.run("/extensions remove memory agent")
	d.want("/memory list", command.Text, "memory says list")
}

func TestNoSuchDocument(t *testing.T) {
	d := started(t)
	for _, session := range []crdt.DocID{{7}, d.agent.ID} {
		for _, line := range []string{
			"/extensions", "/extensions add web", "/extensions add web agent", "/extensions set web k 1", "/extensions settings web",
			"/extensions unset web k", "/agents", "/agent add chaz", "/agent remove chaz", "/agent host", "/agent host chaz", "/info", "/memory",
		} {
			r := d.runner.Run(context.Background(), command.Call{Session: session, Agent: d.agent, Line: line})
			if r.Kind != command.Error {
				t.Errorf("%s on %s: %s %s", line, session.Short(), r.Kind, r.Output)
			}
		}
	}
}

func FuzzRun(f *testing.F) {
	for _, s := range []string{"/extensions set web k '[1,{}]'", "!chaz extensions add a agent", "/agent add \u2028x", "/extensions history web", "/extensions add './a b' session", "/extensions add \"x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		d, _ := withShop(t, nil)
		r := d.run(line)
		if (r.Kind == command.NotCommand) != (r.Output == "") {
			t.Fatalf("%q: %+v", line, r)
		}
	})
}
