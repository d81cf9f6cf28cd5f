package pipeline

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

func TestWhenAPersonIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		rule      extension.Approval
		automatic bool
		hookAsks  bool
		asked     bool
	}{
		"never": {extension.NeverAsk, false, false, false}, "never, a hook asks": {extension.NeverAsk, false, true, true},
		"unless": {extension.AskUnlessAutomatic, false, false, true}, "unless, automatic": {extension.AskUnlessAutomatic, true, false, false},
		"unless, automatic, a hook asks": {extension.AskUnlessAutomatic, true, true, true},
		"always":                         {extension.AlwaysAsk, false, false, true}, "always, automatic": {extension.AlwaysAsk, true, false, true},
		"nonsense": {"perhaps", true, false, true},
	} {
		cfg := Config{}
		if c.automatic {
			cfg.AutoApproved = []string{"work"}
		}
		r := newRig(t, cfg, extension.Tool{Policy: extension.Policy{Approval: c.rule, Risk: extension.HighRisk}})
		if c.hookAsks {
			r.turn.onCall = func(_ context.Context, _ string, args json.RawMessage, _ func(json.RawMessage) error) CallOutcome {
				return CallOutcome{Verdict: extension.Ask, Args: args, Reason: "odd", By: "guard"}
			}
		}
		var person bool
		r.cfg.HostFor = func(_ context.Context, h HostRequest) (extension.Host, error) { person = h.Approved; return nil, nil }
		a := answering(Approve)
		r.req.Approver = a
		r.want(t, r.call(t), StatusOK, "did")
		if (len(a.asked) == 1) != c.asked || person != c.asked {
			t.Errorf("%s: asked %d times, person %v", name, len(a.asked), person)
		}
		if c.asked {
			q := a.asked[0]
			if q.Tool != "work" || q.Owner != "ext" || q.Risk != extension.HighRisk || q.Call != "1" || q.Timeout != ApprovalTimeout || (q.Reason == "odd" && q.By == "guard") != c.hookAsks {
				t.Errorf("%s: the question is %+v", name, q)
			}
		}
		r.req.Approver = nil
		if out := r.call(t); (out.Status == StatusDenied) != c.asked {
			t.Errorf("%s: with nobody to ask: %s", name, out.Status)
		}
	}
}

func TestDecisions(t *testing.T) {
	for d, part := range map[Decision]string{Refuse: "denied by the user", TimedOut: "not given in time", "shrug": "unknown decision", "": "unknown decision"} {
		r := newRig(t, Config{}, extension.Tool{Policy: extension.Policy{Approval: extension.AlwaysAsk}})
		r.req.Approver = answering(d)
		r.want(t, r.call(t), StatusDenied, part)
		if strings.Contains(r.audit.happened(), "run") {
			t.Errorf("%s: it ran", d)
		}
	}
	r := newRig(t, Config{}, extension.Tool{Policy: extension.Policy{Approval: extension.AlwaysAsk}})
	for name, reply := range map[string]func(context.Context, Question) (Decision, error){
		"failed":   func(context.Context, Question) (Decision, error) { return Approve, errTest },
		"panicked": func(context.Context, Question) (Decision, error) { panic("ui") },
	} {
		r.req.Approver = &asker{reply: reply}
		r.want(t, r.call(t), StatusDenied, "approval could not be asked for")
		if strings.Contains(r.audit.happened(), "run") {
			t.Errorf("%s: it ran", name)
		}
	}
}

func TestApproveAllHoldsForTheTurn(t *testing.T) {
	r := newRig(t, Config{}, extension.Tool{Policy: extension.Policy{Approval: extension.AlwaysAsk}})
	r.turn.tools = append(r.turn.tools, Bound{Owner: "ext2", Tool: extension.Tool{Name: "other", Policy: extension.Policy{Approval: extension.AlwaysAsk}, Run: r.turn.tools[0].Tool.Run}})
	a := answering(ApproveAll)
	r.req.Approver, r.req.Approvals = a, &Approvals{}
	for _, tool := range []string{"work", "work", "other"} {
		r.req.Tool = tool
		r.want(t, r.call(t), StatusOK, "did")
	}
	if len(a.asked) != 1 {
		t.Errorf("asked %d times in one turn", len(a.asked))
	}
	r.req.Approvals = &Approvals{} // the next turn
	r.call(t)
	r.req.Approvals = nil
	r.call(t)
	r.call(t)
	if len(a.asked) != 4 {
		t.Errorf("asked %d times", len(a.asked))
	}
}

func TestNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, extension.Tool{Policy: extension.Policy{Approval: extension.AlwaysAsk, Timeout: tick}})
		release := make(chan struct{})
		for name, reply := range map[string]func(context.Context, Question) (Decision, error){
			"waits for its context": func(ctx context.Context, _ Question) (Decision, error) { <-ctx.Done(); return "", ctx.Err() },
			"ignores its context":   func(context.Context, Question) (Decision, error) { <-release; return Approve, nil },
			"says so":               func(ctx context.Context, _ Question) (Decision, error) { <-ctx.Done(); return TimedOut, nil },
		} {
			r.req.Approver = &asker{reply: reply}
			start := time.Now()
			r.want(t, r.call(t), StatusDenied, "not given in time")
			if took := time.Since(start); took != ApprovalTimeout {
				t.Errorf("%s: %s", name, took)
			}
		}
		close(release)
		// Thinking is not the tool's time.
		r.req.Approver = &asker{reply: func(context.Context, Question) (Decision, error) { time.Sleep(200 * tick); return Approve, nil }}
		r.want(t, r.call(t), StatusOK, "did")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(tick, cancel)
		r.req.Approver = &asker{reply: func(ctx context.Context, _ Question) (Decision, error) { <-ctx.Done(); return Approve, nil }}
		r.want(t, r.Call(ctx, r.req), StatusError, "cancelled")
	})
}

func TestSensitiveParametersAreNotShown(t *testing.T) {
	args := json.RawMessage(`{"Key":"k1","deep":[{"key":{"a":"k2"},"other":1}],"n":12345678901234567890}`)
	got := showArgs(args, []string{"key"})
	if got != `{"Key":"[REDACTED]","deep":[{"key":"[REDACTED]","other":1}],"n":12345678901234567890}` {
		t.Error(got)
	}
	if got := showArgs(args, nil); got != string(args) {
		t.Errorf("without any: %s", got)
	}
	long := showArgs(json.RawMessage(`{"a":"`+strings.Repeat("é", maxShown)+`"}`), nil)
	if len(long) > maxShown+100 || !strings.Contains(long, "more bytes are not shown") || strings.Contains(long, "\uFFFD") {
		t.Errorf("long arguments: %d bytes, …%s", len(long), long[len(long)-60:])
	}
	r := newRig(t, Config{}, extension.Tool{Policy: extension.Policy{Approval: extension.AlwaysAsk, Sensitive: []string{"secret"}}})
	r.req.Args = json.RawMessage(`{"secret":"hush"}`)
	a := answering(Approve)
	r.req.Approver = a
	r.want(t, r.call(t), StatusOK, "hush")
	if a.asked[0].Arguments != `{"secret":"[REDACTED]"}` {
		t.Errorf("shown: %s", a.asked[0].Arguments)
	}
}
