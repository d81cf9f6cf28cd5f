package bank_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/builtins/bank/banktest"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// desk is /memory or /skills of one peer in one session.
type desk struct {
	t    *testing.T
	peer *banktest.Peer
	kind bank.Kind
	call extension.Call
	cmd  extension.Command
}

func newDesk(t *testing.T, p *banktest.Peer, kind bank.Kind, session crdt.DocID, a extension.Agent) *desk {
	return &desk{t, p, kind, p.Call(kind.Word, session, a), kind.Command(p.Handles)}
}

func (d *desk) do(line string) (string, error) { return d.cmd.Run(context.Background(), d.call, line) }

// says runs a line that must succeed, and whose answer must hold a text.
func (d *desk) says(line, want string) string {
	d.t.Helper()
	out, err := d.do(line)
	if err != nil || !strings.Contains(out, want) {
		d.t.Fatalf("/%s %s: %q, %v; want %q", d.kind.Word, line, out, err, want)
	}
	return out
}

// fails runs a line that must not succeed.
func (d *desk) fails(line, want string) error {
	d.t.Helper()
	out, err := d.do(line)
	if err == nil || !strings.Contains(err.Error(), want) {
		d.t.Fatalf("/%s %s: %q, %v; want an error with %q", d.kind.Word, line, out, err, want)
	}
	return err
}

// sources lists what the agent may use, each as name:permission.
func (d *desk) sources() string {
	d.t.Helper()
	ctx := context.Background()
	doc, err := bank.Agent(ctx, d.peer.Handles, d.call.Agent)
	if err != nil {
		d.t.Fatal(err)
	}
	attached, err := bank.Lent(ctx, d.call.Lent.Settings)
	if err != nil {
		d.t.Fatal(err)
	}
	list, err := d.kind.Sources(ctx, d.peer.Handles, doc, attached)
	if err != nil {
		d.t.Fatal(err)
	}
	var out []string
	for _, s := range list {
		out = append(out, s.Name+":"+s.Permission())
	}
	return strings.Join(out, " ")
}

func both(t *testing.T, fn func(t *testing.T, kind bank.Kind)) {
	for _, kind := range []bank.Kind{bank.Memory(), bank.Skills()} {
		t.Run(kind.Word, func(t *testing.T) { fn(t, kind) })
	}
}

func TestBanksOfOnePeer(t *testing.T) {
	both(t, func(t *testing.T, kind bank.Kind) {
		p := banktest.NewNet().Peer(t, 1)
		nova, other := p.NewAgent("nova"), p.NewAgent("otto")
		session := p.NewSession(nova)
		d := newDesk(t, p, kind, session, nova)

		d.says("", "No "+kind.Noun+"s on this peer")
		d.says("new team what the team knows", "/"+kind.Word+" grant team")
		d.fails("new team", "has this name")
		d.says("list", "what the team knows")
		if got := d.sources(); got != "self:write" {
			t.Fatalf("sources %s", got)
		}
		d.says("grant team nova READ", "nova may now read the")
		if got := d.sources(); got != "self:write team:read" {
			t.Fatalf("sources %s", got)
		}
		d.says("grant team nova w", "read and write")
		if got := d.sources(); got != "self:write team:write" {
			t.Fatalf("sources %s", got)
		}
		d.says("list", "granted to this agent: write")
		if got := newDesk(t, p, kind, session, other).sources(); got != "self:write" {
			t.Fatalf("a grant is for one agent, the other has %s", got)
		}
		d.says("revoke team nova", "may no longer use")
		d.says("revoke team nova", "has no grant")
		if got := d.sources(); got != "self:write" {
			t.Fatalf("sources %s", got)
		}
		d.says("grant team nova write", "may now")
		d.says("del team", "no longer kept")
		d.says("list", "granted to nova, not on this peer")
		d.says("revoke team nova", "is not on this peer")
		d.fails("delete team", "not found")
	})
}

func TestCommandUsage(t *testing.T) {
	p := banktest.NewNet().Peer(t, 1)
	nova := p.NewAgent("nova")
	d := newDesk(t, p, bank.Memory(), p.NewSession(nova), nova)
	d.says("new team", "Made")
	for _, line := range []string{"list x", "new", "delete", "delete a b", "grant team nova", "revoke team", "share", "share a b c", "unshare", "import", "attach", "attach a b", "detach"} {
		d.fails(line, "usage: /memory "+strings.Fields(line)[0])
	}
	d.fails("grant team nova admin", "use read or write")
	d.fails("share team admin", "use read or write")
	d.fails("grant team nobody read", "not hosted")
	d.fails("grant no-bank nova read", "not found")
	d.fails("nonsense \x1b[2J", "there are: list, new, delete")
	for _, name := range []string{"self", "ALL", "none", "a,b", "chaz:x", "a\x1bb", strings.Repeat("x", 81), (crdt.DocID{1}).String()} {
		d.fails("new "+name, "make memory bank")
	}
}

func TestAmbiguousNames(t *testing.T) {
	net := banktest.NewNet()
	a, b := net.Peer(t, 1), net.Peer(t, 2)
	one, two := a.NewBank(crdt.MemoryBank, "team"), b.NewBank(crdt.MemoryBank, "team")
	b.Invite(two, a, crdt.Write)
	nova := a.NewAgent("nova")
	d := newDesk(t, a, bank.Memory(), a.NewSession(nova), nova)
	if err := d.fails("grant team nova read", "use the id"); !errors.Is(err, extension.ErrAmbiguous) {
		t.Fatal(err)
	}
	d.says("grant "+two.String()+" nova read", "may now")
	d.says("attach "+one.String(), "Attached")
	list, err := bank.Lent(context.Background(), d.call.Lent.Settings)
	if err != nil || len(list) != 1 || list[0] != one.String() {
		t.Fatalf("a name that two banks have must not be written: %q, %v", list, err)
	}
	if got := d.sources(); got != "self:write team:read team:read" {
		t.Fatalf("sources %s", got)
	}
	d.says("detach "+one.String(), "Detached")
}

func TestAttachAndDetach(t *testing.T) {
	both(t, func(t *testing.T, kind bank.Kind) {
		ctx := context.Background()
		p := banktest.NewNet().Peer(t, 1)
		nova := p.NewAgent("nova")
		session := p.NewSession(nova)
		d := newDesk(t, p, kind, session, nova)
		if err := d.call.Lent.Settings.Set(ctx, "other", 60); err != nil {
			t.Fatal(err)
		}
		d.says("new team", "Made")
		d.says("detach team", "is not attached")
		d.says("attach team", "from the next turn on")
		if list, err := d.call.Lent.Settings.Get(ctx, bank.Setting); err != nil || string(list) != `["team"]` {
			t.Fatalf("the setting is %s, %v", list, err)
		}
		d.says("attach team", "already")
		d.says("list", "attached to this session")
		if got := d.sources(); got != "self:write team:read" {
			t.Fatalf("sources %s", got)
		}
		d.says("new more", "Made")
		d.says("detach more", "is not attached") // a list exists without it
		d.says("attach more", "Attached")
		d.says("detach team", "Detached")
		if got := d.sources(); got != "self:write more:read" {
			t.Fatalf("sources %s", got)
		}
		d.says("grant more nova write", "may now")
		if got := d.sources(); got != "self:write more:write" {
			t.Fatalf("granted and attached is one bank, with the rights of the grant: %s", got)
		}
		d.says("detach more", "Detached")
		if kept, err := d.call.Lent.Settings.Get(ctx, "other"); err != nil || string(kept) != "60" {
			t.Fatalf("another setting became %s, %v", kept, err)
		}
		d.fails("attach nothing", "not found")
		d.call.Lent.Settings = nil
		d.fails("attach team", "no session")
	})
}

func TestGrantsAcrossPeers(t *testing.T) {
	net := banktest.NewNet()
	a, b := net.Peer(t, 1), net.Peer(t, 2)
	nova, otto := a.NewAgent("nova"), a.NewAgent("otto")
	a.Invite(nova.ID, b, crdt.Write) // both agents live on b too
	a.Invite(otto.ID, b, crdt.Write)
	d := newDesk(t, a, bank.Memory(), a.NewSession(nova), nova)
	d.says("new team", "Made")
	team := openBank(t, a, "team")

	d.says("grant team nova write", "may now")
	if got := a.Role(team, b); got != crdt.Write {
		t.Fatalf("the agent's other peer has %s", got)
	}
	d.says("grant team nova read", "may now read the")
	if got := a.Role(team, b); got != crdt.Read {
		t.Fatalf("after a lower grant the agent's other peer has %s", got)
	}
	d.says("grant team otto write", "may now")
	d.says("revoke team nova", "may no longer")
	if got := a.Role(team, b); got != crdt.Write {
		t.Fatalf("taking a bank from one agent took it from another of the same peer, which has %s", got)
	}
	d.says("revoke team otto", "may no longer")
	if got := a.Role(team, b); got != crdt.NoRole {
		t.Fatalf("after the last revoke the other peer has %s", got)
	}
}

func TestGrantTakesBackWhatItBegan(t *testing.T) {
	net := banktest.NewNet()
	a, b := net.Peer(t, 1), net.Peer(t, 2)
	nova := a.NewAgent("nova")
	a.Invite(nova.ID, b, crdt.Write)
	d := newDesk(t, a, bank.Memory(), a.NewSession(nova), nova)
	d.says("new team", "Made")
	team := openBank(t, a, "team")

	a.FailUpdate[nova.ID] = errors.New("disk full")
	d.fails("grant team nova write", "disk full; nothing was granted")
	if got := a.Role(team, b); got != crdt.NoRole {
		t.Fatalf("the right was not taken back: %s", got)
	}
	delete(a.FailUpdate, nova.ID)
	d.says("grant team nova read", "may now")
	a.FailUpdate[nova.ID] = errors.New("disk full")
	d.fails("grant team nova write", "disk full")
	if got := a.Role(team, b); got != crdt.Read {
		t.Fatalf("the right of before was not put back: %s", got)
	}
	d.says("revoke team nova", "still names the bank: disk full")
	if got := a.Role(team, b); got != crdt.NoRole {
		t.Fatalf("revoke left %s", got)
	}
	delete(a.FailUpdate, nova.ID)
	a.FailAdmit = errors.New("no admin")
	d.fails("grant team nova write", "no admin")
	if got := d.sources(); got != "self:write team:read" {
		t.Fatalf("a right that was refused was recorded: %s", got)
	}
}

func TestShareImportAttach(t *testing.T) {
	both(t, func(t *testing.T, kind bank.Kind) {
		net := banktest.NewNet()
		a, b := net.Peer(t, 1), net.Peer(t, 2)
		nova, otto := a.NewAgent("nova"), b.NewAgent("otto")
		da := newDesk(t, a, kind, a.NewSession(nova), nova)
		db := newDesk(t, b, kind, b.NewSession(otto), otto)
		da.says("new team", "Made")
		da.says("new second", "Made")
		team := openBank(t, a, "team", kind)
		ticket := lastLine(da.says("share team", "to read"))

		db.says("import "+ticket, "The ticket is for read only")
		db.fails("import "+ticket, "already")
		db.fails("grant team otto write", "may only read it; ask an admin of the bank (peer "+a.Self().String())
		db.says("grant team otto r", "may now read the")
		if got := db.sources(); got != "self:write team:read" {
			t.Fatalf("sources %s", got)
		}
		second := lastLine(da.says("share second write", "to write"))
		db.says("attach "+second, "Attached the "+kind.Noun+" second")
		if got := b.Role(openBank(t, b, "second", kind), b); got != crdt.Write {
			t.Fatalf("the ticket gave %s", got)
		}
		if got := db.sources(); got != "self:write team:read second:read" {
			t.Fatalf("what a session attaches is for reading: %s", got)
		}
		da.says("unshare team", "no longer synced")
		if !a.Unshared[team] {
			t.Fatal("unshare did not reach the peer")
		}

		wrong := crdt.Ticket{Doc: team, Kind: crdt.Agent, Peer: a.Self()}
		db.fails("import "+wrong.String(), "of kind agent")
		db.fails("import chaz:nonsense", "ticket")
		ask := crdt.Ticket{Doc: crdt.DocID{9}, Kind: kind.Doc, Peer: a.Self()}
		db.says("import "+ask.String(), "has to approve")
		db.says("attach "+ask.String(), "Nothing is attached yet")
		if got := db.sources(); got != "self:write team:read second:read" {
			t.Fatalf("a bank that is not here was attached: %s", got)
		}
	})
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

func openBank(t *testing.T, p *banktest.Peer, name string, kind ...bank.Kind) crdt.DocID {
	t.Helper()
	index := p.Handles.MemoryBanks
	if len(kind) > 0 && kind[0].Doc == crdt.SkillBank {
		index = p.Handles.SkillBanks
	}
	doc, err := index.Open(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return doc.ID()
}
