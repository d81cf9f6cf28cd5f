package hub

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// part is what a random extension gives at one scope.
type part struct {
	tools []string
	hook  bool
}

// plan is a random extension and where it is on.
type plan struct {
	name     string
	compiled bool
	parts    map[extension.Scope]part
	on, off  bool // in the session; by the agent
}

func (p plan) fake() *fake {
	f := external(p.name, extension.HookTool, extension.HookBeforeAgentStart)
	if p.compiled {
		f = compiled(p.name, extension.HookTool, extension.HookBeforeAgentStart)
	}
	f.d.Scopes = []extension.Scope{}
	for _, s := range scopes {
		if _, ok := p.parts[s]; ok {
			f.d.Scopes = append(f.d.Scopes, s)
		}
	}
	return f.builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
		i := &extension.Instance{}
		at := p.parts[s.Scope()]
		for _, name := range at.tools {
			i.Tools = append(i.Tools, tool(name, p.name+" "+where(s)))
		}
		if at.hook {
			i.Hooks.BeforeAgentStart = func(context.Context, extension.Call) ([]extension.Message, error) {
				return []extension.Message{{Role: "user", Content: p.name + " " + where(s)}}, nil
			}
		}
		return i, nil
	})
}

func drawPlans(r *rapid.T) []plan {
	toolName := rapid.SampledFrom([]string{"a", "b", "c", "shell", "recall"})
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 0, 8, rapid.ID[string]).Draw(r, "names")
	plans := make([]plan, len(names))
	for i, name := range names {
		p := plan{name: "x" + name, compiled: rapid.Bool().Draw(r, "compiled"), parts: map[extension.Scope]part{}}
		for _, s := range rapid.SliceOfNDistinct(rapid.SampledFrom(scopes[:]), 1, 3, rapid.ID[extension.Scope]).Draw(r, "scopes") {
			p.parts[s] = part{rapid.SliceOfN(toolName, 0, 3).Draw(r, "tools"), rapid.Bool().Draw(r, "hook")}
		}
		p.on, p.off = rapid.IntRange(0, 3).Draw(r, "on") > 0, rapid.IntRange(0, 3).Draw(r, "off") == 0
		plans[i] = p
	}
	return plans
}

// ordered is the registration order, told from the plans.
func ordered(plans []plan) (out []plan) {
	for _, p := range plans {
		if p.compiled {
			out = append(out, p)
		}
	}
	var others []plan
	for _, p := range plans {
		if !p.compiled {
			others = append(others, p)
		}
	}
	slices.SortFunc(others, func(a, b plan) int { return strings.Compare(a.name, b.name) })
	return append(out, others...)
}

// expected says which extension and scope answers each tool, by looking at everybody for each name.
func expected(all, live []plan, withAgent bool) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"a", "b", "c", "shell", "recall"} {
		protected := name == "shell" || name == "recall"
		for _, p := range all { // global instances are there wherever they are off
			protected = protected || p.compiled && slices.Contains(p.parts[extension.Global].tools, name)
		}
		for _, p := range live {
			for _, s := range scopes {
				if p.compiled && (s != extension.PerAgent || withAgent) && slices.Contains(p.parts[s].tools, name) {
					protected = true
				}
			}
		}
		for _, s := range scopes {
			for _, p := range live {
				if out[name] == "" && (s != extension.PerAgent || withAgent) && slices.Contains(p.parts[s].tools, name) && (p.compiled || !protected) {
					out[name] = p.name + " " + string(s)
				}
			}
		}
		if out[name] == "" {
			delete(out, name)
		}
	}
	return out
}

func hooksOf(live []plan, withAgent bool) (out []string) {
	for _, p := range live {
		for _, s := range scopes {
			if p.parts[s].hook && (s != extension.PerAgent || withAgent) {
				out = append(out, p.name+" "+string(s))
				break
			}
		}
	}
	return out
}

func TestOrderOwnershipAndFilter(t *testing.T) {
	var shadowed, filtered, calls int
	rapid.Check(t, func(r *rapid.T) {
		plans := drawPlans(r)
		withAgent := rapid.Bool().Draw(r, "agent")
		w := newWorld(t)
		session, agent := w.session(), extension.Agent{}
		if withAgent {
			agent = w.agent("nova")
		}
		var live []plan
		for _, p := range ordered(plans) {
			if p.on && !(p.off && withAgent) {
				live = append(live, p)
			}
		}
		filtered += len(plans) - len(live)
		w.enact(plans, session, agent)
		turn := w.turn(session, agent)
		defer turn.Release()
		var active []string
		for _, p := range live {
			active = append(active, p.name)
		}
		if !slices.Equal(turn.Active(), active) {
			r.Fatalf("active %v; want %v", turn.Active(), active)
		}
		want := expected(plans, live, withAgent)
		if len(turn.Tools()) != len(want) {
			r.Fatalf("tools %v; want %v", toolNames(turn), want)
		}
		for name, answer := range want {
			wantAnswer(r, w, turn, name, answer)
			calls++
			if !strings.HasSuffix(answer, string(extension.Global)) {
				shadowed++
			}
		}
		var fired []string
		for _, m := range turn.BeforeAgentStart(w.ctx) {
			fired = append(fired, m.Content)
		}
		if want := hooksOf(live, withAgent); !slices.Equal(fired, want) {
			r.Fatalf("fired %q; want %q", fired, want)
		}
		if owners := ownersOf(turn); !slices.IsSorted(owners) {
			r.Fatalf("the tools are not in registration order: %v", toolNames(turn))
		}
	})
	if shadowed == 0 || filtered == 0 || calls == 0 {
		t.Errorf("not everything happened: %d %d %d", shadowed, filtered, calls)
	}
}

// enact installs extensions as planned and switches them on and off.
func (w *world) enact(plans []plan, session crdt.DocID, agent extension.Agent) {
	var list []*fake
	for _, p := range plans {
		f := p.fake()
		list = append(list, f)
		if p.on {
			w.toggle(session, activation.Activated, f)
		}
		if p.off && !agent.ID.IsZero() {
			w.toggle(agent.ID, activation.Deactivated, f)
		}
	}
	w.mustInstall(list...)
}

// wantAnswer checks who owns a tool and which instance answers, as "owner scope".
func wantAnswer(r *rapid.T, w *world, turn *Turn, name, answer string) {
	b, ok := turn.Tool(name)
	if !ok || !strings.HasPrefix(answer, b.Owner+" ") {
		r.Fatalf("%s belongs to %q; want %q", name, b.Owner, answer)
	}
	if got, err := b.Tool.Run(w.ctx, b.Call, nil); got != answer || err != nil {
		r.Fatalf("%s answers %q, %v; want %q", name, got, err, answer)
	}
}

// ownersOf gives the place of each tool's owner.
func ownersOf(t *Turn) (out []int) {
	active := t.Active()
	for _, i := range t.Tools() {
		out = append(out, slices.Index(active, i.Owner))
	}
	return out
}

func TestABuiltinsToolIsNeverTaken(t *testing.T) {
	w := newWorld(t)
	named := func(f *fake, scope extension.Scope, tools ...string) *fake {
		f.d.Hooks = []extension.HookKind{extension.HookTool}
		i := &extension.Instance{}
		for _, n := range tools {
			i.Tools = append(i.Tools, tool(n, f.d.Name))
		}
		return f.at(scope).gives(i)
	}
	owner := named(compiled("owner"), extension.Global, "mine")
	list := []*fake{
		owner,
		named(external("thief"), extension.PerSession, "mine", "shell", "thief__own"),
		named(compiled("friend"), extension.PerSession, "friendly"),
	}
	w.mustInstall(list...)
	w.during(w.session(list...), extension.Agent{}, func(turn *Turn) {
		if got := toolNames(turn); !slices.Equal(got, []string{"owner:mine", "friend:friendly", "thief:thief__own"}) {
			t.Error(got)
		}
	})
	// Nor where its owner is off.
	w.during(w.session(list[1:]...), extension.Agent{}, func(turn *Turn) {
		if got := toolNames(turn); !slices.Equal(got, []string{"friend:friendly", "thief:thief__own"}) {
			t.Error(got)
		}
	})
}
