package command_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/command"
)

func (d *desk) records(doc crdt.DocID, store string) map[string]string {
	d.t.Helper()
	out := map[string]string{}
	err := d.repo.View(context.Background(), doc, func(v *crdt.View) error {
		for k, v := range v.Records(store) {
			out[k] = v
		}
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

func TestAttachAndDetach(t *testing.T) {
	d := started(t)
	d.want("/agents", command.Text, "No agent is attached", "chaz answers")
	d.want("/agent add nobody", command.Error, "no agent nobody", "/agents")
	d.want("/agent add chaz", command.Text, "Attached chaz", "runs on this peer")
	id := d.agent.ID.String()
	got := d.records(d.session, "agents")
	if got[id+"/display_name"] != `"chaz"` || got[id+"/home_pubkey"] != `"`+d.repo.Self().String()+`"` || got[id+"/attached_at"] != "1786000000000" || len(got) != 3 {
		t.Errorf("records: %v", got)
	}
	if s := d.records(d.agent.ID, "sessions"); s[d.session.String()+"/session_db_id"] != `"`+d.session.String()+`"` {
		t.Errorf("the agent does not know its session: %v", s)
	}
	d.clock.Advance(5 * time.Second)
	d.want("/agent add chaz", command.Text, "already attached")
	if again := d.records(d.session, "agents"); again[id+"/attached_at"] != "1786000000000" {
		t.Errorf("a second attach moved it: %v", again)
	}
	d.want("/agents", command.Text, "chaz  "+id+"  runs on this peer")
	d.want("/agent remove nobody", command.Error, "no agent 'nobody' is attached")
	d.want("/agent remove chaz", command.Text, "Detached chaz.")
	if left := d.records(d.session, "agents"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if left := d.records(d.agent.ID, "sessions"); len(left) != 0 {
		t.Errorf("left in the agent: %v", left)
	}
	d.agent = command.Agent{}
	d.want("/agents", command.Text, "nobody answers")
}

func TestReattachKeepsHome(t *testing.T) {
	d := started(t)
	elsewhere := newDeskAs(t, 9, crdt.NewMemStore()).repo.Self()
	id := d.newAgent("nova", elsewhere.String())
	d.want("/agent add nova", command.Text, "runs on peer …"+elsewhere.Short(), "session share "+d.session.Short()+" --role write")
	d.pets[elsewhere] = "server"
	d.want("/agents", command.Text, "nova  "+id.String()+"  runs on server")
	err := d.repo.Update(context.Background(), id, func(tx *crdt.Tx) error { return tx.Delete(crdt.MetaStore, crdt.MetaHome) })
	if err != nil {
		t.Fatal(err)
	}
	d.want("/agent add nova", command.Text, "already attached; it runs on server")
	if got := d.records(d.session, "agents")[id.String()+"/home_pubkey"]; got != `"`+elsewhere.String()+`"` {
		t.Errorf("home is %s", got)
	}
}

func TestHost(t *testing.T) {
	d := started(t)
	d.newAgent("nova", "")
	d.want("/agent host chaz", command.Error, "no agent 'chaz' is attached")
	d.run("/agent add chaz")
	d.clock.Advance(time.Second)
	d.run("/agent add nova")
	d.want("/agent host "+d.agents["nova"].String()[:8], command.Text, "nova is the host")
	out := d.want("/agents", command.Text, "(host)")
	if !strings.HasSuffix(out, "(host)") {
		t.Errorf("the wrong agent is marked:\n%s", out)
	}
	d.want("/agent host", command.Text, "No agent is the host")
	d.want("/agent host", command.Text, "No agent is the host")
	d.want("/agent host chaz", command.Text)
	d.want("/agent remove chaz", command.Text, "It was the host")
	if meta := d.records(d.session, crdt.MetaStore); meta[crdt.MetaHost] != "" {
		t.Errorf("host is still %s", meta[crdt.MetaHost])
	}
}

func TestAmbiguousNames(t *testing.T) {
	d := started(t)
	d.run("/agent add chaz")
	first := d.agents["chaz"]
	second := d.newAgent("chaz", "")
	d.run("/agent add chaz")
	d.want("/agent host chaz", command.Error, "several", first.String(), second.String())
	d.want("/agent remove "+second.String(), command.Text, "Detached chaz")
	d.want("/agent host chaz", command.Text, "host now")
}

// A writer may attach and detach, but the host is meta data.
func TestWriterDetachesTheHost(t *testing.T) {
	a, b := started(t), newDeskAs(t, 2, crdt.NewMemStore())
	ctx := context.Background()
	a.run("/agent add chaz")
	a.run("/agent host chaz")
	share(t, ctx, a, b)
	b.want("/agent host", command.Error, "admin")
	b.want("/agent remove chaz", command.Text, "stays named as the host")
	b.want("/agents", command.Text, "No agent is attached")
	b.want("/extensions remove web", command.Text, "Deactivated")
}

func TestReaderIsRefused(t *testing.T) {
	a, b := started(t), newDeskAs(t, 2, crdt.NewMemStore())
	shareAs(t, context.Background(), a, b, crdt.Read)
	b.want("/extensions remove web", command.Error, "switch web on this session", "role write")
	b.want("/extensions set web k 1", command.Error, "role write")
	b.want("/extensions add web", command.Text, "already active")
	b.want("/extensions", command.Text, "✓ web")
}

func TestName(t *testing.T) {
	d := started(t)
	d.want("/name talk one", command.Text, "talk one")
	d.want("/info", command.Text, "name: talk one")
	d.names[crdt.DocID{9}] = "taken"
	d.want("/rename taken", command.Error, "another session")
	d.want("/name", command.Text, "no name")
	if strings.Contains(d.want("/info", command.Text), "name:") {
		t.Error("the name is still there")
	}
}

func TestInfo(t *testing.T) {
	d := started(t)
	err := d.repo.Update(context.Background(), d.session, func(tx *crdt.Tx) error {
		for _, e := range []crdt.Entry{
			{Sender: "a", Content: "x", Metadata: []byte(`{"model":"m1","usage":{"prompt":10,"completion":5,"cached":2,"cost_usd":0.00125}}`)},
			{Sender: "a", Content: "y", Metadata: []byte(`{"model":"m2","usage":{"prompt":1,"completion":1}}`)},
			{Sender: "a", Content: "z", Metadata: []byte(`{"model":"m2","usage":{"prompt":1,"completion":1}}`)},
			{Sender: "a", Content: "w", Metadata: []byte(`{"usage":7}`)},
			{Sender: "a", Type: crdt.EntryDirective, Content: "d"},
			{Sender: "a", Type: crdt.EntryToolCall, Content: "t", Metadata: []byte(`{"model":"m3","usage":{"prompt":1}}`)},
			{Sender: "a", Type: crdt.EntryError, Content: "e"},
		} {
			if _, err := crdt.AddEntry(tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "session: " + d.session.String() + `
agent: chaz
entries: 7
messages: 4
directives: 1
tool calls: 1
errors: 1
calls: 3
prompt tokens: 12
completion tokens: 7
cached tokens: 2
cost: $0.0013
model: m2 × 2
model: m1 × 1`
	if got := d.want("/info", command.Text); got != want {
		t.Errorf("got\n%s", got)
	}
}
