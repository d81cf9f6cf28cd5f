package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/extension"
)

type runFunc = func(context.Context, extension.Call, json.RawMessage) (string, error)

func TestErrorsOfTools(t *testing.T) {
	for name, c := range map[string]struct {
		run    runFunc
		status Status
		part   string
	}{
		"fails": {func(context.Context, extension.Call, json.RawMessage) (string, error) { return "", errTest }, StatusError, "Error: it broke"},
		"argument": {func(context.Context, extension.Call, json.RawMessage) (string, error) {
			return "", fmt.Errorf("no such day: %w", extension.ErrArgument)
		}, StatusInvalid, "invalid arguments: no such day"},
		"grant": {func(context.Context, extension.Call, json.RawMessage) (string, error) {
			return "", fmt.Errorf("read /etc: %w", extension.ErrGrant)
		}, StatusError, "read /etc: not granted"},
		"panics":          {func(context.Context, extension.Call, json.RawMessage) (string, error) { panic("boom") }, StatusError, "the tool work panicked: boom"},
		"panics with nil": {func(context.Context, extension.Call, json.RawMessage) (string, error) { panic(nil) }, StatusError, "panicked"},
		"ends its routine": {func(context.Context, extension.Call, json.RawMessage) (string, error) {
			runtime.Goexit()
			return "", nil
		}, StatusError, "without an answer"},
		"its own deadline": {func(context.Context, extension.Call, json.RawMessage) (string, error) {
			return "", context.DeadlineExceeded
		}, StatusError, "deadline"},
		"no doors": {func(ctx context.Context, c extension.Call, _ json.RawMessage) (string, error) {
			_, err := c.Lent.Host.Shell(ctx, extension.ShellCommand{Line: "ls"})
			return "", err
		}, StatusError, "no doors"},
		"secret in an error": {func(context.Context, extension.Call, json.RawMessage) (string, error) {
			return "", errors.New("token ghp_" + strings.Repeat("a", 36))
		}, StatusError, "token [REDACTED:github_token]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{}, extension.Tool{Run: c.run})
			r.want(t, r.call(t), c.status, c.part)
		})
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, late := make(chan struct{}), make(chan string, 1)
		r := newRig(t, Config{}, extension.Tool{Policy: extension.Policy{Timeout: 30 * tick}, Run: func(_ context.Context, c extension.Call, _ json.RawMessage) (string, error) {
			<-release // ignores its context
			_, err := c.Lent.Host.Fetch(context.Background(), extension.FetchRequest{})
			late <- fmt.Sprint(err)
			return "too late", nil
		}})
		doors := &doors{}
		r.cfg.HostFor = func(context.Context, HostRequest) (extension.Host, error) { return doors, nil }
		start := time.Now()
		r.want(t, r.call(t), StatusTimeout, "did not finish within 30 s")
		if took := time.Since(start); took != 30*tick {
			t.Errorf("took %s", took)
		}
		close(release)
		if err := <-late; !strings.Contains(err, "the call is over") || doors.calls != 0 {
			t.Errorf("an abandoned tool used the host: %s, %d", err, doors.calls)
		}
		synctest.Wait()
		if len(r.audit.results) != 1 {
			t.Errorf("a late answer was written: %+v", r.audit.results)
		}
		// Positive control: just in time.
		r.turn.tools[0].Tool.Run = func(context.Context, extension.Call, json.RawMessage) (string, error) {
			time.Sleep(30*tick - 1)
			return "in time", nil
		}
		r.want(t, r.call(t), StatusOK, "in time")
	})
}

func TestCancelledCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		for name, hang := range map[string]func(r *rig){
			"the tool": func(r *rig) {
				r.turn.tools[0].Tool.Run = func(context.Context, extension.Call, json.RawMessage) (string, error) { <-release; return "", nil }
			},
			"the hooks": func(r *rig) {
				r.turn.onCall = func(context.Context, string, json.RawMessage, func(json.RawMessage) error) CallOutcome {
					<-release
					return CallOutcome{}
				}
			},
			"the hooks of the result": func(r *rig) {
				r.turn.onResult = func(context.Context, string, string) ResultOutcome { <-release; return ResultOutcome{} }
			},
		} {
			r := newRig(t, Config{}, extension.Tool{})
			hang(r)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(tick, cancel)
			start := time.Now()
			r.want(t, r.Call(ctx, r.req), StatusError, "was cancelled")
			if took := time.Since(start); took != tick {
				t.Errorf("%s held a cancelled call for %s", name, took)
			}
		}
	})
}

func TestOneRetryAfterANetworkFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Duration
		start := time.Now()
		answers := []error{fmt.Errorf("reset: %w", extension.ErrNetwork), nil}
		r := newRig(t, Config{}, extension.Tool{Policy: extension.Policy{Timeout: 10 * tick, RateLimit: ptr(100)}, Run: func(_ context.Context, _ extension.Call, args json.RawMessage) (string, error) {
			starts = append(starts, time.Since(start))
			if string(args) != `{"n":1}` {
				t.Errorf("try %d got %s", len(starts), args)
			}
			args[2] = 'X' // a tool may spoil its copy
			err := answers[0]
			answers = answers[1:]
			return "got it", err
		}})
		r.want(t, r.call(t), StatusOK, "got it")
		if fmt.Sprint(starts) != "[0s 500ms]" {
			t.Errorf("tries at %v", starts)
		}
		// A second failure is final; another kind of failure is not tried again.
		answers = []error{fmt.Errorf("reset: %w", extension.ErrNetwork), fmt.Errorf("again: %w", extension.ErrNetwork), nil}
		r.want(t, r.call(t), StatusError, "again: network failure")
		answers = []error{errTest, nil}
		r.want(t, r.call(t), StatusError, "it broke")
		// The second try has what is left of the time.
		r.turn.tools[0].Tool.Run = func(ctx context.Context, _ extension.Call, _ json.RawMessage) (string, error) {
			time.Sleep(8 * tick)
			return "", fmt.Errorf("reset: %w", extension.ErrNetwork)
		}
		start = time.Now()
		r.want(t, r.call(t), StatusTimeout, "within 10 s")
		if took := time.Since(start); took != 10*tick {
			t.Errorf("both tries took %s", took)
		}
		time.Sleep(10 * tick) // lets the abandoned try end
	})
}

func TestHugeAndInvalidOutput(t *testing.T) {
	var text string
	r := newRig(t, Config{MaxOutput: 1000}, extension.Tool{Run: func(context.Context, extension.Call, json.RawMessage) (string, error) { return text, nil }})
	text = strings.Repeat("é", 50<<20) // 100 MB
	out := r.call(t)
	r.want(t, out, StatusOK, "… (cut at 1000 bytes)")
	if len(out.Plain) > 1100 || !utf8.ValidString(out.Plain) || strings.Contains(out.Plain, "\uFFFD") {
		t.Errorf("%d bytes, %.60q", len(out.Plain), out.Plain)
	}
	text = strings.Repeat("\xff", 100_000)
	out = r.call(t)
	r.want(t, out, StatusOK, "\uFFFD\uFFFD")
	if len(out.Plain) > 1100 || !utf8.ValidString(out.Plain) {
		t.Errorf("%d bytes", len(out.Plain))
	}
	text = strings.Repeat("y", 1000)
	r.want(t, r.call(t), StatusOK, text)
	if out := r.call(t); strings.Contains(out.Plain, "cut at") {
		t.Error("what just fits was cut")
	}
	// A warning that a hook adds to a full text is not cut away.
	text = strings.Repeat("y", 5000)
	r.turn.onResult = func(_ context.Context, _, text string) ResultOutcome { return ResultOutcome{Text: text + "\nWARNING"} }
	r.want(t, r.call(t), StatusOK, "(cut at 1000 bytes)\nWARNING")
	r.turn.onResult = func(_ context.Context, _, text string) ResultOutcome {
		return ResultOutcome{Text: strings.Repeat("z", 100<<20)}
	}
	if out := r.call(t); len(out.Plain) > 1000+hookRoom+100 {
		t.Errorf("a hook made it %d bytes", len(out.Plain))
	}
}

func TestPreviewIsCutBetweenCharacters(t *testing.T) {
	r := newRig(t, Config{}, extension.Tool{Run: func(context.Context, extension.Call, json.RawMessage) (string, error) {
		return strings.Repeat("é", 501), nil
	}})
	r.call(t)
	if got := r.audit.results[0].Preview; got != strings.Repeat("é", 500)+"…" {
		t.Errorf("%d bytes: %.20q", len(got), got)
	}
	if got := Preview(strings.Repeat("é", 500), 500); strings.HasSuffix(got, "…") {
		t.Error("what just fits was marked as cut")
	}
}

// doors is a Host that counts.
type doors struct {
	calls int
	hang  bool
}

func (d *doors) Shell(ctx context.Context, c extension.ShellCommand) (extension.ShellResult, error) {
	d.calls++
	if d.hang {
		<-ctx.Done()
		return extension.ShellResult{TimedOut: true}, context.Cause(ctx)
	}
	return extension.ShellResult{Stdout: []byte(c.Line)}, nil
}

func (d *doors) Fetch(context.Context, extension.FetchRequest) (extension.FetchResponse, error) {
	d.calls++
	return extension.FetchResponse{}, nil
}
func (d *doors) Files() extension.Files { return d }
func (d *doors) ReadFile(context.Context, string, int64) ([]byte, bool, error) {
	d.calls++
	return []byte("x"), true, nil
}
func (d *doors) WriteFile(context.Context, string, []byte) error { d.calls++; return nil }
func (d *doors) Stat(context.Context, string) (fs.FileInfo, error) {
	d.calls++
	return nil, fs.ErrNotExist
}

func TestHostIsLentForOneCall(t *testing.T) {
	d := &doors{}
	var kept extension.Host
	r := newRig(t, Config{HostFor: func(_ context.Context, h HostRequest) (extension.Host, error) {
		if h.Tool != "work" || h.Owner != "ext" || h.Approved || h.Agent.Name != "nova" {
			t.Errorf("asked for %+v", h)
		}
		return d, nil
	}}, extension.Tool{})
	use := func(ctx context.Context, h extension.Host) (errs []error) {
		_, err := h.Shell(ctx, extension.ShellCommand{Line: "x"})
		errs = append(errs, err)
		_, err = h.Fetch(ctx, extension.FetchRequest{})
		errs = append(errs, err)
		_, _, err = h.Files().ReadFile(ctx, "x", 1)
		errs = append(errs, err, h.Files().WriteFile(ctx, "x", nil))
		_, err = h.Files().Stat(ctx, "x")
		return append(errs, err)
	}
	r.turn.tools[0].Tool.Run = func(ctx context.Context, c extension.Call, _ json.RawMessage) (string, error) {
		kept = c.Lent.Host
		return fmt.Sprint(use(ctx, kept)), nil
	}
	r.want(t, r.call(t), StatusOK, "[<nil> <nil> <nil> <nil> file does not exist]")
	if d.calls != 5 {
		t.Errorf("%d doors were used", d.calls)
	}
	for _, err := range use(t.Context(), kept) {
		if !errors.Is(err, errOver) || !errors.Is(err, extension.ErrGrant) {
			t.Errorf("a kept host: %v", err)
		}
	}
	if d.calls != 5 {
		t.Error("a kept host still works")
	}
	r.cfg.HostFor = func(context.Context, HostRequest) (extension.Host, error) { return nil, errTest }
	r.want(t, r.call(t), StatusError, "open the doors of the machine: it broke")
	r.cfg.HostFor = func(context.Context, HostRequest) (extension.Host, error) { panic("grants") }
	r.want(t, r.call(t), StatusError, "panicked: grants")
}

func TestDoorsEndWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		r := newRig(t, Config{HostFor: func(context.Context, HostRequest) (extension.Host, error) { return &doors{hang: true}, nil }}, extension.Tool{
			Policy: extension.Policy{Timeout: tick},
			Run: func(_ context.Context, c extension.Call, _ json.RawMessage) (string, error) {
				_, err := c.Lent.Host.Shell(context.Background(), extension.ShellCommand{})
				ended <- err
				return "", err
			},
		})
		r.want(t, r.call(t), StatusTimeout, "within 1 s")
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a command outlived its call: %v", err)
		}
	})
}
