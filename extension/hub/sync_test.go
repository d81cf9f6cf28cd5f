package hub

import (
	"context"
	"errors"
	"math/rand"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// grantTo gives a peer a role in a document that repo owns.
func grantTo(t *testing.T, repo *crdt.Repo, id crdt.DocID, to crdt.PeerID, role crdt.Role) crdt.ObjectID {
	t.Helper()
	ctx := context.Background()
	a, err := repo.Access(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	parent, _ := a.GrantFor(repo.Self())
	o, err := repo.Identity().NewGrant(id, crdt.Grant{Parent: parent, Subject: to, Role: role}, rand.New(rand.NewSource(int64(role))))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := repo.AddObjects(ctx, id, [][]byte{o.Raw}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	return o.ID
}

// copyDoc brings everything of a document from one peer to another, as a sync does.
func copyDoc(t *testing.T, from, to *crdt.Repo, id crdt.DocID) {
	t.Helper()
	ctx := context.Background()
	a, err := from.Access(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var raw [][]byte
	for _, o := range a.InOrder() {
		raw = append(raw, o.Raw)
	}
	if _, known := to.Summary(id); !known {
		_, err = to.Adopt(ctx, raw)
	} else {
		_, err = to.AddObjects(ctx, id, raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	have, err := to.Vector(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		var page []crdt.SignedChange
		if page, have, more, err = from.Page(ctx, id, have, nil, 1<<20); err != nil {
			t.Fatal(err)
		}
		verdicts, err := to.Apply(ctx, id, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range verdicts {
			if v.State != crdt.Accepted && v.State != crdt.Known {
				t.Fatalf("%+v", v)
			}
		}
	}
}

// TestASwitchOnAnotherPeerTakesEffect: what another peer switched arrives; at the next dispatch hooks
// are silent and tools are gone, and the instance is shut down.
func TestASwitchOnAnotherPeerTakesEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		far := newRepo(t, 2, w.clock)
		defer far.Close()
		f := compiled("f", extension.HookTool, extension.HookAgentEnd, extension.HookCommand).at(extension.Global, extension.PerAgent, extension.PerSession)
		f.d.Commands = []string{"f"}
		f.builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
			i := w.observed("f", s)
			i.Hooks.SessionStart, i.Hooks.SessionShutdown = nil, nil
			i.Tools = []extension.Tool{tool("t_"+where(s), "")}
			i.Commands = []extension.Command{{Name: "f", Run: func(context.Context, extension.Call, string) (string, error) { return "ran", nil }}}
			return i, nil
		})
		w.mustInstall(f)
		session, agent := w.session(f), w.agent("nova")
		for _, id := range []crdt.DocID{session, agent.ID} {
			grantTo(t, w.repo, id, far.Self(), crdt.Write)
			copyDoc(t, w.repo, far, id)
		}
		w.running(t)
		look := func(tools int, command error) {
			t.Helper()
			w.during(session, agent, func(turn *Turn) {
				turn.AgentEnd(w.ctx)
				if len(turn.Tools()) != tools {
					t.Errorf("%v; want %d", toolNames(turn), tools)
				}
			})
			var off *InactiveError
			if _, err := w.hub.Command(w.ctx, session, agent, "f", ""); (err != nil) != (command != nil) || err != nil && !errors.As(err, &off) {
				t.Errorf("command: %v; want %v", err, command)
			}
		}
		look(3, nil)
		w.wantNotes("f per_session agent_end")

		toggleIn(t, far, agent.ID, activation.Deactivated, f) // opted out elsewhere
		copyDoc(t, far, w.repo, agent.ID)
		look(0, nil) // the command follows the session
		synctest.Wait()
		w.wantNotes("f per_agent shutdown")

		toggleIn(t, far, session, activation.Deactivated, f)
		copyDoc(t, far, w.repo, session)
		look(0, &InactiveError{})
		synctest.Wait()
		if got := w.noted(); !slices.Contains(got, "f per_session shutdown") || slices.Contains(got, "f per_session agent_end") {
			t.Errorf("%q", got)
		}

		toggleIn(t, far, session, activation.Activated, f) // and back
		copyDoc(t, far, w.repo, session)
		look(0, nil)
		toggleIn(t, far, agent.ID, activation.Activated, f)
		copyDoc(t, far, w.repo, agent.ID)
		look(3, nil)
		w.wantNotes("f per_session agent_end")
	})
}

func TestAForgottenDocumentEndsItsInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f := w.watched("f", extension.PerSession)
		w.mustInstall(f)
		session := w.session(f)
		w.running(t)
		w.during(session, extension.Agent{}, func(*Turn) {})
		w.noted()
		if err := w.repo.Forget(w.ctx, session); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.wantNotes("f per_session shutdown")
	})
}

func TestAnAgentThatIsHostedNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		far := newRepo(t, 2, w.clock)
		defer far.Close()
		f := w.watched("f", extension.PerAgent)
		w.mustInstall(f)
		id, err := far.Create(w.ctx, crdt.Agent, func(*crdt.Tx) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		grant := grantTo(t, far, id, w.repo.Self(), crdt.Write)
		copyDoc(t, far, w.repo, id)
		w.running(t)
		session := w.session(f)
		w.during(session, extension.Agent{ID: id}, func(*Turn) {})
		w.wantNotes("f per_agent built")
		end, err := far.Identity().NewRevocation(id, grant, crdt.PeerID{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.repo.AddObjects(w.ctx, id, [][]byte{end.Raw}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.wantNotes("f per_agent shutdown")
	})
}

func TestASettingFromAnotherPeerEndsTheInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		far := newRepo(t, 2, w.clock)
		defer far.Close()
		f := w.watched("f", extension.PerSession)
		f.d.ReadAtBuild = []string{"banks"}
		w.mustInstall(f)
		session := w.session(f)
		grantTo(t, w.repo, session, far.Self(), crdt.Write)
		copyDoc(t, w.repo, far, session)
		w.running(t)
		w.during(session, extension.Agent{}, func(*Turn) {})
		w.noted()
		if err := far.Update(w.ctx, session, func(tx *crdt.Tx) error { return tx.Set(crdt.SettingsStore, "f/banks", []string{"x"}) }); err != nil {
			t.Fatal(err)
		}
		copyDoc(t, far, w.repo, session)
		synctest.Wait()
		w.wantNotes("f per_session shutdown")
	})
}
