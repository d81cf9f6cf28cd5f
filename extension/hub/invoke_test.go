package hub

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// TestAMissedDeadlineLooksTheSame whether the call obeys it or is abandoned: which of the two is seen
// first is chance.
func TestAMissedDeadlineLooksTheSame(t *testing.T) {
	for range 2000 {
		_, err := guard(t.Context(), time.Microsecond, func(ctx context.Context) (int, error) { <-ctx.Done(); return 1, ctx.Err() }, nil)
		var d *deadlineError
		if !errors.As(err, &d) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
}

func TestOneLine(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(r, "bytes")) + rapid.String().Draw(r, "text")
		s = strings.Repeat(s, rapid.IntRange(1, 50).Draw(r, "times"))
		out := oneLine(s)
		if !utf8.ValidString(out) || utf8.RuneCountInString(out) > maxReason+1 || strings.IndexFunc(out, unicode.IsControl) >= 0 || oneLine(out) != out {
			r.Fatalf("%q", out)
		}
	})
	if got := oneLine(" a\n\tb\x00c "); got != "a b c" {
		t.Errorf("%q", got)
	}
}

func TestAFailedAgentInstanceIsAudited(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("nova")
	f := compiled("f").at(extension.PerAgent).builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
		return nil, errors.New("no luck")
	})
	w.mustInstall(f)
	session := w.session(f)
	w.during(session, agent, func(*Turn) {})
	want := AuditEvent{Extension: "f", Point: "instantiate per_agent", Agent: agent.ID, Outcome: OutcomeError, Detail: "no luck"}
	if len(w.audits) != 1 || w.audits[0] != want {
		t.Errorf("%+v", w.audits)
	}
	if state, reason, whole := w.hub.StateIn("f", f.d.Ref, session, agent.ID); state != StateFailed || reason != "no luck" || whole {
		t.Error(state, reason, whole)
	}
	if state, _, _ := w.hub.StateIn("f", f.d.Ref, session, crdt.DocID{}); state != StateOK {
		t.Error(state)
	}
}
