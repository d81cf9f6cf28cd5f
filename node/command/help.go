package command

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

// verb is one command of the host.
type verb struct {
	names []string
	forms []form
	run   func(r *Runner, ctx context.Context, c Call, rest string) Result
}

// form is one way to write a command, and what it does.
type form struct{ usage, what string }

// verbs lists the commands in the order of /help.
func verbs() []verb {
	return []verb{
		{[]string{"help", "?"}, []form{{"/help", "list the commands"}}, (*Runner).help},
		{[]string{"extensions"}, []form{
			{"/extensions [list]", "show the extensions and what is live for the responding agent"},
			{"/extensions add <name> [agent|session]", "switch an extension on, or end an agent's opt-out; for code by reference instead of a name: ./dir, file.wasm, ipld:<cid>, git:<repo>@<sha>[#path=…], registry:<doc>@<version>"},
			{"/extensions remove <name> [agent|session]", "switch an extension off, or opt the agent out"},
			{"/extensions history <name> [agent|session]", "every event of an extension and which rule decided"},
			{"/extensions settings <name>", "show the settings of an extension on this session"},
			{"/extensions set <name> <key> <value>", "set one; the value is JSON, anything else is text"},
			{"/extensions unset <name> <key>", "delete one"},
		}, (*Runner).extensions},
		{[]string{"agents"}, []form{{"/agents", "list the attached agents"}}, (*Runner).agentsVerb},
		{[]string{"agent"}, []form{
			{"/agent [list]", "list the attached agents"},
			{"/agent add <name or id>", "attach an agent to this session"},
			{"/agent remove <name or id>", "detach an agent"},
			{"/agent host [name or id]", "let an agent answer by default; without a name clear it"},
		}, (*Runner).agentVerb},
		{[]string{"name", "rename"}, []form{{"/name [alias]", "name this session on this peer; without an alias clear it"}}, (*Runner).name},
		{[]string{"info"}, []form{{"/info", "what is in this session"}}, (*Runner).info},
	}
}

func (r *Runner) help(_ context.Context, c Call, rest string) Result {
	if rest != "" {
		return usageOf("help")
	}
	var forms []form
	for _, v := range verbs() {
		forms = append(forms, v.forms...)
	}
	forms = append(forms, r.commandForms(c.Session)...)
	return Result{Text, "Commands:\n" + columns(forms)}
}

// usageOf is the reply to a command that is written wrongly. If there are several forms, sub picks
// those whose second word it is.
func usageOf(name string, sub ...string) Result {
	var all, picked []form
	for _, v := range verbs() {
		if v.names[0] != name {
			continue
		}
		all = v.forms
		for _, f := range v.forms {
			if len(sub) > 0 && strings.HasPrefix(f.usage+" ", "/"+name+" "+sub[0]+" ") {
				picked = append(picked, f)
			}
		}
	}
	if len(picked) > 0 {
		all = picked
	}
	if len(all) == 1 {
		return Result{Usage, fmt.Sprintf("usage: %s — %s", all[0].usage, all[0].what)}
	}
	return Result{Usage, "usage:\n" + columns(all)}
}

func columns(forms []form) string {
	width := 0
	for _, f := range forms {
		width = max(width, utf8.RuneCountInString(f.usage))
	}
	var b strings.Builder
	for i, f := range forms {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "  %-*s  %s", width, f.usage, f.what)
	}
	return b.String()
}
