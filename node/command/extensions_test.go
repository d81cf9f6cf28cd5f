package command_test

import (
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node/command"
)

const header = "Extensions on this peer (✓ = live for agent 'chaz' this session; ✗ = disabled for this agent):\n"

func TestListExactly(t *testing.T) {
	d := started(t)
	want := header + `  ✓ core [0.1.0] — Tool
  ✓ path_normalizer [0.1.0] — ToolCall
  ✓ security_warnings [0.1.0] — ToolResult
  ✓ fs [0.1.0] — Tool
  ✓ system [0.1.0] — Tool
  ✓ web [0.1.0] — Tool
  ✓ memory [0.1.0] — Command, Tool
  ✓ schedule [0.1.0] — Command, Tool
  ✓ skills [0.1.0] — Command, Tool
  ✓ agent_schedule [0.1.0] — —`
	if got := d.want("/extensions", command.Text); got != want {
		t.Errorf("got\n%s", got)
	}
	d.run("/extensions remove schedule agent")
	d.run("/extensions remove fs")
	d.run("/extensions remove fs agent")
	got := d.want("!chaz extensions", command.Text)
	for was, is := range map[string]string{
		"  ✓ schedule [0.1.0] — Command, Tool": "  ✗ schedule [0.1.0] — Command, Tool  (session: on, agent: off)",
		"  ✓ fs [0.1.0] — Tool":                "  ✗ fs [0.1.0] — Tool",
	} {
		want = strings.Replace(want, was+"\n", is+"\n", 1)
	}
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestListOfAnAgentThatIsNotHostedHere(t *testing.T) {
	d := started(t)
	d.run("/extensions remove web agent")
	d.agent.Hosted = false
	if got := d.want("/extensions", command.Text); strings.Contains(got, "✗ web") {
		t.Error("the opt-outs of an agent that is not hosted here do not count")
	}
	d.agent = command.Agent{}
	d.want("/extensions", command.Text, "live for agent 'none' this session")
}

func TestListExternal(t *testing.T) {
	d := started(t)
	cid := "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
	d.put(d.session,
		`{"extension_ref":{"cid":"`+cid+`","kind":"ipld","name":"zeta"},"kind":"activated","name":"zeta","timestamp":5}`,
		`{"extension_ref":{"kind":"git","name":"alpha","repo":"r","sha":"0123456789abcdef0123456789abcdef01234567"},"kind":"activated","name":"alpha","timestamp":5}`,
		`{"extension_ref":{"kind":"oci","name":"new"},"kind":"activated","name":"new","timestamp":5}`,
		`{"extension_ref":{"db_id":"x","kind":"eidetica","name":"reg","version":"1\u001b[2J\n2"},"kind":"activated","name":"reg","timestamp":5}`,
		`{"extension_ref":{"chaz_version":"9","kind":"builtin","name":"mcp-files"},"kind":"activated","name":"mcp-files","timestamp":5}`,
		`{"extension_ref":{"kind":"git","name":"web"},"kind":"activated","name":"web","timestamp":9000000000000}`,
		`{"kind":"deactivated","name":"ghost","timestamp":5}`)
	rows := func() string {
		out := d.want("/extensions", command.Text)
		return out[strings.Index(out, "agent_schedule"):]
	}
	if got, want := rows(), "agent_schedule [0.1.0] — —\n"+
		"  ✗ alpha [0123456789abcdef…] — —  [unavailable]\n"+
		"  ✗ new [?] — —  [unavailable]\n"+
		"  ✗ reg [1[2J 2] — —  [unavailable]\n"+
		"  ✗ zeta [bafybeigdyrzt5sf…] — —  [unavailable]"; got != want {
		t.Errorf("got\n%s", got)
	}
	d.run("/extensions remove zeta agent")
	d.stand(extension.IPLD, command.StatePending)
	d.stand(extension.Git, command.StateInvalid)
	d.stand(extension.Eidetica, command.StateTrusted)
	d.stand("oci", command.StateNeedsReview)
	got := rows()
	for _, want := range []string{
		"  ✗ zeta [bafybeigdyrzt5sf…] — —  (session: on, agent: off)  [pending trust]",
		"  ✗ alpha [0123456789abcdef…] — —  [invalid: because of[31m this xxx",
		"  ✓ reg [1[2J 2] — —\n",
		"  ✗ new [?] — —  [needs review]",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for state, label := range map[command.State]string{
		command.StateDenied: "[denied]", command.StateSuspended: "[suspended]", command.StateUnknown: "[unavailable]", command.StateFailed: "[failed: because",
	} {
		if d.stand("oci", state); !strings.Contains(rows(), label) {
			t.Errorf("no %s", label)
		}
	}
	for _, line := range strings.Split(got, "\n") {
		if strings.Contains(line, "invalid") && !strings.HasSuffix(line, "x…]") {
			t.Errorf("a long reason was not cut: %s", line)
		}
	}
}

// stand makes references of a kind stand so, for a long and ugly reason.
func (d *desk) stand(kind extension.RefKind, state command.State) {
	d.states[kind] = command.Standing{State: state, Reason: "because \n of\x1b[31m this " + strings.Repeat("x", 200)}
}

// TestListShowsWhatHelps: the declared hooks of what is known, and one line for each state below the
// rows, which keep their form.
func TestListShowsWhatHelps(t *testing.T) {
	d := started(t)
	d.put(d.session,
		`{"extension_ref":{"cid":"bafya","kind":"ipld","name":"alpha"},"kind":"activated","name":"alpha","timestamp":5}`,
		`{"extension_ref":{"cid":"bafyb","kind":"ipld","name":"beta"},"kind":"activated","name":"beta","timestamp":5}`,
		`{"extension_ref":{"kind":"git","name":"gamma","repo":"r","sha":"01"},"kind":"activated","name":"gamma","timestamp":5}`,
		`{"extension_ref":{"db_id":"x","kind":"eidetica","name":"zeta","version":"1.0"},"kind":"activated","name":"zeta","timestamp":5}`)
	hooks := []extension.HookKind{extension.HookToolCall, extension.HookTool, "of_the_future"}
	d.states[extension.IPLD] = command.Standing{State: command.StatePending, Hooks: hooks, Remedy: "look with `ext show`,\n then `ext trust`\x1b"}
	d.states[extension.Git] = command.Standing{State: command.StateUnavailable, Remedy: "get it"}
	d.states[extension.Eidetica] = command.Standing{State: command.StateTrusted, Hooks: hooks[1:2]}
	out := d.want("/extensions", command.Text)
	if got, want := out[strings.Index(out, "agent_schedule"):], "agent_schedule [0.1.0] — —\n"+
		"  ✗ alpha [bafya] — Tool, ToolCall  [pending trust]\n"+
		"  ✗ beta [bafyb] — Tool, ToolCall  [pending trust]\n"+
		"  ✗ gamma [01] — —  [unavailable]\n"+
		"  ✓ zeta [1.0] — Tool\n"+
		"  pending trust: look with `ext show`, then `ext trust`\n"+
		"  unavailable: get it"; got != want {
		t.Errorf("got\n%s", got)
	}
	d.newSession() // where nobody was asked
	d.run("/extensions")
	if out := d.want("/extensions", command.Text); strings.Contains(out, "pending") {
		t.Error(out)
	}
}

func TestSwitchSession(t *testing.T) {
	d := started(t)
	n := d.rows(d.session)
	d.want("/extensions add memory", command.Text, "already active")
	d.want("/extensions add nonesuch", command.Error, "unknown extension 'nonesuch'", "/extensions list")
	d.want("/extensions remove nonesuch", command.Error, "unknown extension")
	if d.rows(d.session) != n {
		t.Error("a no-op wrote rows")
	}
	d.want("/extensions remove memory session", command.Text, "Deactivated memory")
	d.want("/extensions remove memory", command.Text, "not active")
	if got := d.rows(d.session) - n; got != 1 {
		t.Errorf("%d rows for one removal", got)
	}
	d.want("/extensions add memory", command.Text, "Activated memory", "next agent turn")
	d.want("/extensions add agent", command.Error, "unknown extension 'agent'")
	d.want("/extensions remove core", command.Text, "Deactivated core")
	d.want("/extensions", command.Text, "✗ core", "✓ memory")
}

func TestSwitchNamesKnownFromTheLogOnly(t *testing.T) {
	d := started(t)
	d.put(d.session, `{"extension_ref":{"cid":"b","kind":"ipld","name":"notes","x":1},"kind":"activated","name":"notes","timestamp":5}`,
		`{"kind":"deactivated","name":"ghost","timestamp":5}`)
	d.want("/extensions remove notes", command.Text, "Deactivated")
	d.want("/extensions add notes", command.Text, "Activated")
	d.want("/extensions history notes", command.Text, "notes on this session: on. 3 events")
	d.want("/extensions add ghost", command.Error, "unknown")
	d.want("/extensions remove ghost", command.Text, "not active")
}

func TestSwitchAgainstStampsFromTheFuture(t *testing.T) {
	d := started(t)
	d.put(d.session, `{"extension_ref":{"chaz_version":"0.1.0","kind":"builtin","name":"web"},"kind":"activated","name":"web","timestamp":9223372036854775807}`)
	for range 3 {
		d.want("/extensions remove web", command.Text, "Deactivated")
		d.want("/extensions", command.Text, "✗ web")
		d.want("/extensions add web", command.Text, "Activated")
		d.want("/extensions", command.Text, "✓ web")
	}
}

func TestSwitchAgent(t *testing.T) {
	d := started(t)
	session, agent := d.rows(d.session), d.rows(d.agent.ID)
	d.want("/extensions add web agent", command.Text, "has not opted out of web")
	d.want("/extensions add nonesuch agent", command.Text, "has not opted out", "No extension of that name")
	d.want("/extensions remove nonesuch agent", command.Error, "unknown extension")
	d.want("/extensions remove web agent", command.Text, "chaz opts out of web")
	d.want("/extensions remove web agent", command.Text, "already opted out")
	d.want("/extensions add web agent", command.Text, "no longer opts out")
	if d.rows(d.session) != session || d.rows(d.agent.ID) != agent+2 {
		t.Error("an opt-out belongs to the agent's log, and a no-op writes nothing")
	}
	d.put(d.agent.ID, `{"kind":"deactivated","name":"elsewhere","timestamp":5}`, `{"kind":"deactivated","name":"mcp-x","timestamp":5}`)
	d.want("/extensions add elsewhere agent", command.Text, "no longer opts out")
	d.want("/extensions remove elsewhere agent", command.Text, "opts out")
	d.want("/extensions add mcp-x agent", command.Text, "no longer opts out")
	d.run("/extensions remove web")
	d.want("/extensions remove web agent", command.Text, "opts out")
	d.want("/extensions add web agent", command.Text, "no longer")
	d.want("/extensions", command.Text, "✗ web [0.1.0] — Tool\n")

	d.agent.Hosted = false
	d.want("/extensions add web agent", command.Error, "not hosted on this peer")
	d.want("/extensions remove web agent", command.Error, "not hosted on this peer")
	d.want("/extensions history web agent", command.Error, "not hosted")
	d.agent = command.Agent{}
	d.want("/extensions remove web agent", command.Error, "no agent")
	d.want("/extensions history web agent", command.Error, "no agent")
}

func TestSettings(t *testing.T) {
	d := started(t)
	d.want("/extensions settings memory", command.Text)
	if out := d.want("/extensions settings memory", command.Text); out != "{}" {
		t.Errorf("nothing set prints %q", out)
	}
	for line, shown := range map[string]string{
		"poll 60":                     "60",
		"on true":                     "true",
		"none null":                   "null",
		`quoted "a b"`:                `"a b"`,
		"plain foo  bar":              `"foo  bar"`,
		"list [1, 2]":                 "[1,2]",
		`tags '["urgent","ops"]'`:     `["urgent","ops"]`,
		"zero 01":                     `"01"`,
		"one 'foo'":                   `"foo"`,
		"empty ''":                    `""`,
		"half 'x":                     `"'x"`,
		"big 12345678901234567890.50": "12345678901234567890.50",
		"a/b.c <&>":                   `"<&>"`,
	} {
		d.want("/extensions set memory "+line, command.Text, "memory", " to "+shown+".")
	}
	want := `{
  "a/b.c": "<&>",
  "big": 12345678901234567890.50,
  "empty": "",
  "half": "'x",
  "list": [
    1,
    2
  ],
  "none": null,
  "on": true,
  "one": "foo",
  "plain": "foo  bar",
  "poll": 60,
  "quoted": "a b",
  "tags": [
    "urgent",
    "ops"
  ],
  "zero": "01"
}`
	if out := d.want("/extensions settings memory", command.Text); out != want {
		t.Errorf("got %s", out)
	}
	if out := d.want("/extensions settings skills", command.Text); out != "{}" {
		t.Errorf("another extension has %s", out)
	}
	d.want("/extensions unset memory poll", command.Text, "Removed poll of memory")
	d.want("/extensions unset memory poll", command.Text, "was not set")
	d.want("/extensions remove memory", command.Text)
	d.want("/extensions set memory poll 61", command.Text, "61")
	for _, line := range []string{"settings nope", "set nope k v", "unset nope k"} {
		d.want("/extensions "+line, command.Error, "unknown extension 'nope'")
	}
	d.want("/extensions set memory "+strings.Repeat("k", crdt.MaxKey)+" 1", command.Error, "key")
	d.want("/extensions set memory k "+strings.Repeat("v", crdt.MaxValue), command.Error, "limit")
}
