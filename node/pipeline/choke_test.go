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

// drawPlan departs in at most three ways from a call that simply works; more would rarely get far.
func drawPlan(t *rapid.T) plan {
	p := plan{tool: "work", args: `{"n":1}`, owner: "ext", rule: extension.NeverAsk, hook: "allow", result: "keep", answer: "approve", run: "ok"}
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

// play runs one planned call in fake time and returns what broke the rules.
func (p plan) play(t *testing.T, seen map[Status]int) (broken []string) {
	fault := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	release := make(chan struct{})
	var live atomic.Bool // between the two entries
	var runs, asked atomic.Int32
	var approved atomic.Bool
	var mu sync.Mutex
	gotArgs := map[string]bool{}

	cfg := Config{HostFor: func(context.Context, HostRequest) (extension.Host, error) {
		if p.hostFails {
			return nil, errTest
		}
		return &doors{}, nil
	}}
	if p.automatic {
		cfg.AutoApproved = []string{"work"}
	}
	r := newRig(t, cfg, extension.Tool{
		Policy: extension.Policy{Approval: p.rule, RateLimit: p.limit, Timeout: 30 * tick},
		Run: func(ctx context.Context, _ extension.Call, args json.RawMessage) (string, error) {
			if !live.Load() {
				fault("the tool ran outside of a call")
			}
			runs.Add(1)
			mu.Lock()
			gotArgs[string(args)] = true
			mu.Unlock()
			switch p.run {
			case "error":
				return "", errTest
			case "panic":
				panic("tool")
			case "hang":
				<-release
			case "exit":
				runtime.Goexit()
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
		},
	})
	r.turn.tools[0].Owner = p.owner
	r.turn.inactive = []string{"off"}
	var removed atomic.Bool
	turn := &removable{turn: r.turn, removed: &removed}
	r.turn.onCall = func(_ context.Context, _ string, args json.RawMessage, validate func(json.RawMessage) error) CallOutcome {
		out := CallOutcome{Verdict: extension.Allow, Args: args, By: "hook"}
		change := func(text string) { out.Args, out.ChangedBy = json.RawMessage(text), []string{"hook"} }
		switch p.hook {
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
		case "panic":
			panic("hook")
		case "hang":
			<-release
		case "exit":
			runtime.Goexit()
		case "spoil":
			for i := range args {
				args[i] = 'x' // what it keeps of the arguments is its own
			}
			out.Args = nil
		}
		return out
	}
	r.turn.onResult = func(_ context.Context, _, text string) ResultOutcome {
		if strings.Contains(text, "ghp_") {
			fault("a result hook saw a secret")
		}
		switch p.result {
		case "replace":
			text = "replaced " + secrets()["aws_access_key"][0]
		case "block":
			return ResultOutcome{Text: "why", Blocked: true, By: "hook"}
		case "panic":
			panic("hook")
		case "hang":
			<-release
		case "exit":
			runtime.Goexit()
		}
		return ResultOutcome{Text: text}
	}
	if p.answer != "nobody" {
		r.req.Approver = &asker{reply: func(context.Context, Question) (Decision, error) {
			asked.Add(1)
			switch p.answer {
			case "error":
				return Approve, errTest
			case "panic":
				panic("approver")
			case "hang":
				<-release
			case "removed":
				removed.Store(true)
				return Approve, nil
			case "approve", "approve_all":
				approved.Store(true)
			}
			return Decision(p.answer), nil
		}}
	}
	r.req.Turn, r.req.Tool, r.req.Args, r.req.Allow = turn, p.tool, json.RawMessage(p.args), p.allow
	if p.auditFails {
		r.audit.failing = errTest
	}
	live.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	if p.cancelAfter > 0 {
		time.AfterFunc(p.cancelAfter, cancel)
	}
	start := time.Now()
	out := r.Call(ctx, r.req)
	took := time.Since(start)
	// An abandoned hook or approver must not bring the tool to life afterwards.
	before := runs.Load()
	live.Store(false)
	close(release)
	synctest.Wait()
	cancel()
	synctest.Wait()
	if runs.Load() != before {
		fault("the tool ran after the call")
	}
	seen[out.Status]++
	for _, b := range p.judge(r, out, before, asked.Load(), approved.Load(), gotArgs, took) {
		fault("%s", b)
	}
	return broken
}

// judge compares an outcome with the rules.
func (p plan) judge(r *rig, out Outcome, runs, asked int32, approved bool, args map[string]bool, took time.Duration) (broken []string) {
	fault := func(ok bool, format string, a ...any) {
		if !ok {
			broken = append(broken, fmt.Sprintf(format, a...))
		}
	}
	calls := len(r.audit.calls)
	fault(len(r.audit.results) == calls && calls <= 1, "%d calls, %d results", calls, len(r.audit.results))
	fault((calls == 0) == p.auditFails && (out.Err != nil) == p.auditFails, "audit fails %v: %d calls, %v", p.auditFails, calls, out.Err)
	known := []Status{StatusOK, StatusError, StatusTimeout, StatusDenied, StatusLimited, StatusUnknown, StatusInvalid, StatusBlocked}
	fault(slices.Contains(known, out.Status), "status %q", out.Status)
	fault(out.Text == Wrap(p.tool, out.Plain) && out.Plain != "", "the text %q", out.Plain)
	fault(!strings.Contains(out.Plain, "ghp_") && !strings.Contains(out.Plain, "AKIA"), "a secret reaches the model")
	fault(len(out.Plain) < defaultMaxOutput+hookRoom+200, "%d bytes for the model", len(out.Plain))
	if calls == 1 {
		res := r.audit.results[0]
		fault(res.Status == out.Status && string(r.audit.calls[0].Args) == p.args, "entries %+v", res)
		fault((len(res.ChangedBy) > 0) == (p.hook == "modify" && len(out.ChangedBy) > 0), "changed by %v", res.ChangedBy)
	}
	limit := ApprovalTimeout + 31*tick
	if p.cancelAfter > 0 {
		limit = p.cancelAfter
	}
	fault(took <= limit, "took %s", took)
	if runs == 0 {
		fault(out.Status != StatusOK && out.Status != StatusTimeout && out.Status != StatusBlocked, "status %s without a run", out.Status)
		return broken
	}
	// Whatever ran went through every step before it.
	must := asked > 0 || p.rule == extension.AlwaysAsk || p.rule == "odd" || p.hook == "ask" || p.rule == extension.AskUnlessAutomatic && !p.automatic
	fault(!p.auditFails && p.tool == "work" && p.owner == "ext" && (p.allow == nil || slices.Contains(p.allow, "work")), "ran past the look-up")
	fault(p.args == `{"n":1}` || p.args == ``, "ran with invalid arguments")
	fault(p.limit == nil || *p.limit > 0, "ran past the rate limit")
	fault(slices.Contains([]string{"allow", "modify", "ask", "spoil"}, p.hook), "ran past the hooks")
	fault(!must || approved, "ran without approval")
	fault(!p.hostFails, "ran without its doors")
	fault(runs == 1 || runs == 2 && p.run == "network", "ran %d times", runs)
	want := map[string]string{`{"n":1}`: `{"n":1}`, ``: `{}`}[p.args]
	if p.hook == "modify" {
		want = `{"n":42}`
	}
	fault(len(args) == 1 && args[want], "ran with %v", args)
	return broken
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
	for _, s := range []Status{StatusOK, StatusError, StatusTimeout, StatusDenied, StatusLimited, StatusUnknown, StatusInvalid, StatusBlocked} {
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
