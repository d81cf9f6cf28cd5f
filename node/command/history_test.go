package command_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/command"
)

func TestHistoryTellsTheStory(t *testing.T) {
	d := started(t)
	d.clock.Advance(time.Second)
	d.run("/extensions remove web")
	d.put(d.session,
		`{"extension_ref":{"chaz_version":"0.1.0","kind":"builtin","name":"web"},"kind":"activated","name":"web","timestamp":9223372036854775807}`,
		`{"kind":"deactivated","name":"web","timestamp":4070908800000}`,
		`{"extension_ref":{"kind":"git","name":"web"},"kind":"activated","name":"web","timestamp":7}`,
		`{"kind":"deactivated","name":"web","timestamp":-62167219200001}`)
	out := d.want("/extensions history web", command.Text, "web on this session: on. 6 events")
	for _, want := range []string{
		"ignored: the name is reserved",
		"  · 2026-08-06T07:06:40.000Z  activated builtin 0.1.0, row ",
		"  · 2099-01-01T00:00:00.000Z (ahead of this clock by 26445 days)  deactivated, row ",
		"  → 9223372036854775807 (ahead of this clock by ",
		" by this peer — this one counts",
		"  · -62167219200001  deactivated",
		"that has the later stamp",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	d.put(d.session, `{"kind":"deactivated","name":"web","timestamp":9223372036854775807}`)
	d.want("/extensions history web", command.Text, "web on this session: off. 7 events", "same stamp, and off beats on")
	d.put(d.session, `{"kind":"deactivated","name":"web","timestamp":9223372036854775807,"x":1}`)
	d.want("/extensions history web", command.Text, "off. 8 events", "same stamp, and that has the greater id")
	d.run("/extensions add web session")
	d.want("/extensions history web session", command.Text, "web on this session: on", "which names it")

	d.want("/extensions history nope", command.Error, "nope")
	d.want("/extensions history web agent", command.Text, "no events on agent chaz")
	d.run("/extensions remove web agent")
	d.want("/extensions history web agent", command.Text, "web on agent chaz: opted out. 1 event,")
	d.run("/extensions add web agent")
	d.want("/extensions history web agent", command.Text, "web on agent chaz: allowed. 2 events,")
}

// A second peer with a wrong clock writes; the first sees who it was and how far his clock is off.
func TestHistoryNamesSigners(t *testing.T) {
	a, b := started(t), newDeskAs(t, 2, crdt.NewMemStore())
	ctx := context.Background()
	share(t, ctx, a, b)
	b.clock.Set(start + 7_200_000)
	b.want("/extensions remove web", command.Text)
	pull(t, ctx, a, b)

	a.want("/extensions history web", command.Text, "by peer …"+b.repo.Self().Short()+" —", "(ahead of this clock by 2h0m)", "off")
	a.pets[b.repo.Self()] = "server\n"
	a.offset = 7_200_000
	a.want("/extensions history web", command.Text, "by server (its clock is 2h0m ahead) —")
	a.offset = -90_000
	a.want("/extensions history web", command.Text, "by server (its clock is 1m30s behind) —")
	b.want("/extensions history web", command.Text, "by this peer — this one counts")
}
