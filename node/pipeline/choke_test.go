package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
)

// plan is how one call will go.
type plan struct {
	tool, args   string
	owner        string // of the tool "work"
	allow        []string
	rule         extension.Approval
	limit        *int
	automatic    bool
	hook, result string
	answer       string
	run          string
	hostFails    bool
	auditFails   bool
	cancelAfter  time.Duration // 0: never
}

// plainPlan simply works.
func plainPlan() plan {
	return plan{tool: "work", args: `{"n":1}`, owner: "ext", rule: extension.NeverAsk, hook: "allow", result: "keep", answer: "approve", run: "ok"}
}

// drawPlan departs in at most three ways from a call that simply works; more would rarely get far.
func drawPlan(t *rapid.T) plan {
	p := plainPlan()
	// Evenly: rapid's own numbers lean to the small ones, and most plans would end at the first step.
	dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	pick := func(of ...string) string { return of[dice.IntN(len(of))] }
	rules := []extension.Approval{extension.AskUnlessAutomatic, extension.AlwaysAsk, "odd"}
	for range dice.IntN(4) {
		switch dice.IntN(14) {
		case 0:
			p.tool = pick("none", "")
		case 1:
			p.args = pick(`{"n":-1}`, `{`, `null`, ``)
		case 2:
			p.owner = "off"
		case 3:
			p.allow = [][]string{{"work"}, {}, {"w*"}}[dice.IntN(3)]
		case 4:
			p.limit = ptr(5 * dice.IntN(2))
		case 5:
			p.automatic = true
		case 6, 7:
			p.hook = pick("modify", "deny", "ask", "invalid", "no json", "nonsense", "panic", "hang", "exit", "spoil")
		case 8:
			p.result = pick("replace", "block", "panic", "hang", "exit")
		case 9:
			p.rule = rules[dice.IntN(3)]
			p.answer = pick("approve", "approve_all", "deny", "timed_out", "odd", "error", "panic", "hang", "nobody", "removed")
		case 10, 11:
			p.run = pick("error", "panic", "hang", "exit", "network", "argument", "huge", "secret", "obedient")
		case 12:
			p.hostFails, p.auditFails = dice.IntN(2) == 0, dice.IntN(2) == 0
		case 13:
			p.cancelAfter = []time.Duration{1, 10 * tick, 100 * tick}[dice.IntN(3)]
		}
	}
	if (p.hook == "hang" || p.result == "hang") && p.cancelAfter == 0 {
		p.cancelAfter = 100 * tick // the dispatcher's own deadlines are not part of this package
	}
	return p
}

// show is one planned call on its way.
type show struct {
	plan
	r        *rig
	release  chan struct{} // closed when the call is over: whoever hangs goes on
	live     atomic.Bool   // between the two entries
	runs     atomic.Int32
	asked    atomic.Int32
	approved atomic.Bool
	removed  atomic.Bool

	mu     sync.Mutex
	args   map[string]bool // that the tool got
	broken []string
}

func (s *show) fault(ok bool, format string, a ...any) {
	if !ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.broken = append(s.broken, fmt.Sprintf(format, a...))
	}
}

// misbehave does what the name of a behaviour says, if it is one.
func (s *show) misbehave(how string) {
	switch how {
	case "panic":
		panic("planned")
	case "hang":
		<-s.release
	case "exit":
		runtime.Goexit()
	}
}

func (s *show) tool(ctx context.Context, _ extension.Call, args json.RawMessage) (string, error) {
	s.fault(s.live.Load(), "the tool ran outside of a call")
	s.runs.Add(1)
	s.mu.Lock()
	s.args[string(args)] = true
	s.mu.Unlock()
	s.misbehave(s.run)
	switch s.run {
	case "error":
		return "", errTest
	case "network":
		return "", extension.ErrNetwork
	case "argument":
		return "", extension.ErrArgument
	case "huge":
		return strings.Repeat("x\xff", 1<<20), nil
	case "secret":
		return secrets()["github_token"][0], nil
	case "obedient":
		<-ctx.Done()
		return "", ctx.Err()
	}
	return "done", nil
}

func (s *show) onCall(_ context.Context, _ string, args json.RawMessage, _ func(json.RawMessage) error) CallOutcome {
	out := CallOutcome{Verdict: extension.Allow, Args: args, By: "hook"}
	change := func(text string) { out.Args, out.ChangedBy = json.RawMessage(text), []string{"hook"} }
	s.misbehave(s.hook)
	switch s.hook {
	case "modify":
		change(`{"n":42}`)
	case "deny":
		out.Verdict = extension.Deny
	case "ask":
		out.Verdict = extension.Ask
	case "invalid":
		change(`{"n":"x"}`)
	case "no json":
		change(`}`)
	case "nonsense":
		out.Verdict = "perhaps"
	case "spoil":
		for i := range args {
			args[i] = 'x' // what it keeps of the arguments is its own
		}
		out.Args = nil
	}
	return out
}

func (s *show) onResult(_ context.Context, _, text string) ResultOutcome {
	s.fault(!strings.Contains(text, "ghp_"), "a result hook saw a secret")
	s.misbehave(s.result)
	switch s.result {
	case "replace":
		text = "replaced " + secrets()["aws_access_key"][0]
	case "block":
		return ResultOutcome{Text: "why", Blocked: true, By: "hook"}
	}
	return ResultOutcome{Text: text}
}

func (s *show) reply(context.Context, Question) (Decision, error) {
	s.asked.Add(1)
	s.misbehave(s.answer)
	switch s.answer {
	case "error":
		return Approve, errTest
	case "removed":
		s.removed.Store(true)
		return Approve, nil
	case "approve", "approve_all":
		s.approved.Store(true)
	}
	return Decision(s.answer), nil
}

func (s *show) host(context.Context, HostRequest) (extension.Host, error) {
	if s.hostFails {
		return nil, errTest
	}
	return &doors{}, nil
}

// play runs one planned call in fake time and returns what broke the rules.
func (p plan) play(t *testing.T, seen map[Status]int) (broken []string) {
	s := &show{plan: p, release: make(chan struct{}), args: map[string]bool{}}
	cfg := Config{HostFor: s.host}
	if p.automatic {
		cfg.AutoApproved = []string{"work"}
	}
	s.r = newRig(t, cfg, extension.Tool{Policy: extension.Policy{Approval: p.rule, RateLimit: p.limit, Timeout: 30 * tick}, Run: s.tool})
	s.r.turn.tools[0].Owner, s.r.turn.inactive = p.owner, []string{"off"}
	s.r.turn.onCall, s.r.turn.onResult = s.onCall, s.onResult
	if p.answer != "nobody" {
		s.r.req.Approver = &asker{reply: s.reply}
	}
	s.r.req.Turn, s.r.req.Tool, s.r.req.Args, s.r.req.Allow = &removable{s.r.turn, &s.removed}, p.tool, json.RawMessage(p.args), p.allow
	if p.auditFails {
		s.r.audit.failing = errTest
	}
	ctx, cancel := context.WithCancel(t.Context())
	if p.cancelAfter > 0 {
		time.AfterFunc(p.cancelAfter, cancel)
	}
	s.live.Store(true)
	start := time.Now()
	out := s.r.Call(ctx, s.r.req)
	took, before := time.Since(start), s.runs.Load()
	s.live.Store(false)
	// An abandoned hook or approver must not bring the tool to life afterwards.
	close(s.release)
	synctest.Wait()
	cancel()
	synctest.Wait()
	s.fault(s.runs.Load() == before, "the tool ran after the call")
	seen[out.Status]++
	s.judge(out, took)
	if before > 0 {
		s.judgeRun()
	}
	return s.broken
}

// judge compares an outcome with the rules.
func (s *show) judge(out Outcome, took time.Duration) {
	audit, calls := s.r.audit, len(s.r.audit.calls)
	s.fault(len(audit.results) == calls && calls <= 1, "%d calls, %d results", calls, len(audit.results))
	s.fault((calls == 0) == s.auditFails && (out.Err != nil) == s.auditFails, "audit fails %v: %d calls, %v", s.auditFails, calls, out.Err)
	s.fault(slices.Contains(statuses(), out.Status), "status %q", out.Status)
	s.fault(out.Text == wrap(s.plan.tool, out.Plain) && out.Plain != "", "the text %q", out.Plain)
	s.fault(!strings.Contains(out.Plain, "ghp_") && !strings.Contains(out.Plain, "AKIA"), "a secret reaches the model")
	s.fault(len(out.Plain) < defaultMaxOutput+hookRoom+200, "%d bytes for the model", len(out.Plain))
	if calls == 1 {
		res := audit.results[0]
		s.fault(res.Status == out.Status && string(audit.calls[0].Args) == s.plan.args, "entries %+v", res)
		s.fault((len(res.ChangedBy) > 0) == (s.hook == "modify" && len(out.ChangedBy) > 0), "changed by %v", res.ChangedBy)
	}
	limit := ApprovalTimeout + 31*tick
	if s.cancelAfter > 0 {
		limit = s.cancelAfter
	}
	s.fault(took <= limit, "took %s", took)
	if s.runs.Load() == 0 {
		s.fault(!slices.Contains([]Status{StatusOK, StatusTimeout, StatusBlocked}, out.Status), "status %s without a run", out.Status)
	}
}

// judgeRun: whatever ran went through every step before it.
func (s *show) judgeRun() {
	p := s.plan
	must := s.asked.Load() > 0 || p.rule == extension.AlwaysAsk || p.rule == "odd" || p.hook == "ask" || p.rule == extension.AskUnlessAutomatic && !p.automatic
	s.fault(!p.auditFails && p.tool == "work" && p.owner == "ext" && (p.allow == nil || slices.Contains(p.allow, "work")), "ran past the look-up")
	s.fault(p.args == `{"n":1}` || p.args == ``, "ran with invalid arguments")
	s.fault(p.limit == nil || *p.limit > 0, "ran past the rate limit")
	s.fault(slices.Contains([]string{"allow", "modify", "ask", "spoil"}, p.hook), "ran past the hooks")
	s.fault(!must || s.approved.Load(), "ran without approval")
	s.fault(!p.hostFails, "ran without its doors")
	runs := s.runs.Load()
	s.fault(runs == 1 || runs == 2 && p.run == "network", "ran %d times", runs)
	want := map[string]string{`{"n":1}`: `{"n":1}`, ``: `{}`}[p.args]
	if p.hook == "modify" {
		want = `{"n":42}`
	}
	s.fault(len(s.args) == 1 && s.args[want], "ran with %v", s.args)
}

func statuses() []Status {
	return []Status{StatusOK, StatusError, StatusTimeout, StatusDenied, StatusLimited, StatusUnknown, StatusInvalid, StatusBlocked}
}

// removable is a turn whose tool can disappear.
type removable struct {
	*turn
	removed *atomic.Bool
}

func (t *removable) Tool(name string) (Bound, bool) {
	if t.removed.Load() {
		return Bound{}, false
	}
	return t.turn.Tool(name)
}

func TestNothingReachesAToolAroundThePipeline(t *testing.T) {
	seen := map[Status]int{}
	// The rarest ends are played for certain, so that the count below does not depend on luck.
	for _, change := range []func(*plan){
		func(p *plan) { p.result = "block" }, func(p *plan) { p.run = "obedient" }, func(p *plan) { p.limit = ptr(0) },
	} {
		p := plainPlan()
		change(&p)
		synctest.Test(t, func(t *testing.T) {
			if broken := p.play(t, seen); len(broken) > 0 {
				t.Errorf("%+v:\n%s", p, strings.Join(broken, "\n"))
			}
		})
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range 5 {
			p := drawPlan(rt)
			var broken []string
			synctest.Test(t, func(t *testing.T) { broken = p.play(t, seen) })
			if len(broken) > 0 {
				rt.Fatalf("%+v:\n%s", p, strings.Join(broken, "\n"))
			}
		}
	})
	for _, s := range statuses() {
		if seen[s] == 0 {
			t.Errorf("no call ended with %q: the test proves nothing about it", s)
		}
	}
	t.Logf("%v", seen)
}

func TestCallsInParallel(t *testing.T) {
	r := newRig(t, Config{}, extension.Tool{Policy: extension.Policy{RateLimit: ptr(30)}})
	var wg sync.WaitGroup
	var ok, limited atomic.Int32
	for range 50 {
		wg.Go(func() {
			switch out := r.Call(t.Context(), r.req); out.Status {
			case StatusOK:
				ok.Add(1)
			case StatusLimited:
				limited.Add(1)
			default:
				t.Errorf("%+v", out)
			}
		})
	}
	wg.Wait()
	if ok.Load() != 30 || limited.Load() != 20 || len(r.audit.results) != 50 {
		t.Errorf("%d ran, %d were limited, %d results", ok.Load(), limited.Load(), len(r.audit.results))
	}
}
