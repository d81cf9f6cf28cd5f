package hub

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// held is what this process holds, in bytes, after freeing what can be freed: resident memory, or
// the live heap where that can't be told or says nothing.
func held(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if raceDetector || err != nil {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// heavy is an extension whose instances hold memory and a goroutine until their end.
func heavy(name string) *fake {
	f := compiled(name, extension.HookTool, extension.HookSessionStart, extension.HookToolCall, extension.HookSessionShutdown)
	return f.at(extension.PerSession, extension.PerAgent).builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
		ballast := bytes.Repeat([]byte{1}, 64<<10)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() { <-stop; close(stopped) }()
		neutral := func(context.Context, extension.Call) error { return nil }
		return &extension.Instance{
			Tools: []extension.Tool{tool(name+"_t", "")},
			Hooks: extension.Hooks{SessionStart: neutral, SessionShutdown: neutral, ToolCall: func(context.Context, extension.Call, extension.ToolCallInput) (extension.CallDecision, error) {
				return extension.CallDecision{Reason: string(ballast[:1])}, nil
			}},
			Shutdown: func(context.Context) error { close(stop); <-stopped; return nil },
		}, nil
	})
}

// TestNothingIsLeftOfClosedSessions opens and closes sessions 10,000 times.
func TestNothingIsLeftOfClosedSessions(t *testing.T) {
	w := newWorld(t)
	list := []*fake{heavy("a"), heavy("b")}
	w.mustInstall(list...)
	var sessions []crdt.DocID
	var agents []extension.Agent
	for range 8 {
		sessions = append(sessions, w.session(list...))
		agents = append(agents, w.agent("nova"))
	}
	cycle := func(n int) {
		session, agent := sessions[n%len(sessions)], agents[n%len(agents)]
		if err := w.hub.SessionStart(w.ctx, session); err != nil {
			t.Fatal(err)
		}
		turn := w.turn(session, agent)
		turn.ToolCall(w.ctx, "a_t", []byte(`{}`), nil)
		b, ok := turn.Tool("a_t")
		if !ok {
			t.Fatal("no tool")
		}
		if _, err := b.Tool.Run(w.ctx, b.Call, nil); err != nil {
			t.Fatal(err)
		}
		turn.Release()
		if err := w.hub.SessionShutdown(w.ctx, session); err != nil {
			t.Fatal(err)
		}
		if err := w.hub.SessionShutdown(w.ctx, agent.ID); err != nil { // ends the agent's too
			t.Fatal(err)
		}
	}
	// Single readings are noisy: the highest of the start is held against the lowest of the end.
	const warm, cycles, spread = 3_000, 10_000, 500
	readings := func(from, to int) (list []int64) {
		for n := from; n < to; n++ {
			cycle(n)
			if n >= to-2*spread-1 && (to-1-n)%spread == 0 {
				list = append(list, held(t))
			}
		}
		return list
	}
	before := slices.Max(readings(0, warm))
	goroutines, built := runtime.NumGoroutine(), list[0].built.Load()
	after := slices.Min(readings(warm, warm+cycles))
	if n := list[0].built.Load() - built; n != 2*cycles {
		t.Errorf("%d instances were built; want %d", n, 2*cycles)
	}
	t.Logf("%d kB before, %d kB after %d cycles (%+.1f %%)", before>>10, after>>10, cycles, float64(after-before)/float64(before)*100)
	if after > before+before/20 {
		t.Errorf("memory grew from %d to %d kB", before>>10, after>>10)
	}
	w.settle(goroutines)
	if len(w.hub.docs)+len(w.hub.ending)+len(w.hub.open) != 0 {
		t.Errorf("%d documents, %d endings, %d open sessions are left", len(w.hub.docs), len(w.hub.ending), len(w.hub.open))
	}
}

// settle waits until no more goroutines run than before.
func (w *world) settle(before int) {
	w.t.Helper()
	for range 1_000_000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	w.t.Errorf("%d goroutines; %d were there before", runtime.NumGoroutine(), before)
}
