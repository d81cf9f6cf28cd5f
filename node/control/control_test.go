package control_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/chaz-peer/chaz-peer/node/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is a small node in memory: enough methods to see every way a call can go.
func table(following chan<- struct{}) []control.Method {
	return []control.Method{
		control.Func(control.SessionPost, func(_ context.Context, p control.SessionPostParams) (control.Created, error) {
			switch p.Session {
			case "ambiguous":
				return control.Created{}, fmt.Errorf("find session: %w", &control.Error{
					Cause: "two fit", Remedy: "say more",
					Code: control.CodeAmbiguous, Candidates: []string{"a", "b"},
				})
			case "broken":
				return control.Created{}, errors.New("disk full")
			case "panic":
				panic("boom")
			}
			return control.Created{ID: p.Session + ":" + p.Content}, nil
		}),
		control.StreamFunc(control.SessionLog, func(ctx context.Context, p control.SessionLogParams, out *control.Events[control.Entry]) (control.LogEnd, error) {
			if p.Session == "unknown" {
				return control.LogEnd{}, &control.Error{Cause: "no such session", Code: control.CodeNotFound}
			}
			for i := range 3 {
				if err := out.Send(control.Entry{ID: fmt.Sprint(i), Content: "<&>", Timestamp: control.Time(i)}); err != nil {
					return control.LogEnd{}, err
				}
			}
			if p.Session == "breaks" {
				return control.LogEnd{}, &control.Error{Cause: "torn", Code: control.CodeInternal}
			}
			if p.Follow {
				following <- struct{}{}
				<-ctx.Done()
				return control.LogEnd{}, ctx.Err()
			}
			return control.LogEnd{Entries: 3}, nil
		}),
		control.StreamFunc(control.SessionImport, func(_ context.Context, p control.SessionImportParams, out *control.Events[control.Progress]) (control.Imported, error) {
			b, err := io.ReadAll(out.Upload())
			if err != nil {
				return control.Imported{}, err
			}
			if err := out.Send(control.Progress{Done: int64(len(b)), Total: p.Size}); err != nil {
				return control.Imported{}, err
			}
			return control.Imported{ID: p.Name, Entries: int64(bytes.Count(b, []byte("\n")))}, nil
		}),
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// serve runs a server over the table and stops it with the test.
func serve(t *testing.T, cfg control.Config) *control.Server {
	t.Helper()
	cfg.Log = quiet()
	s, err := control.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return s
}

// both runs a test against a daemon's socket and in the same process: the answers must be the same.
func both(t *testing.T, test func(t *testing.T, c *control.Client)) {
	t.Run("socket", func(t *testing.T) {
		home := t.TempDir()
		serve(t, control.Config{Home: home, Methods: table(nil)})
		c, err := control.Dial(home)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		test(t, c)
	})
	t.Run("in process", func(t *testing.T) {
		c, err := control.InProcess(table(nil), quiet())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		test(t, c)
	})
}

func post(c *control.Client, session, content string) (control.Created, error) {
	return control.Call(context.Background(), c, control.SessionPost, control.SessionPostParams{Session: session, Content: content})
}

func TestCall(t *testing.T) {
	both(t, func(t *testing.T, c *control.Client) {
		got, err := post(c, "s", "héllo")
		if err != nil || got.ID != "s:héllo" {
			t.Fatalf("post = %v, %v", got, err)
		}
	})
}

func TestErrorsArriveWhole(t *testing.T) {
	for _, tc := range []struct {
		session string
		code    control.Code
		cause   string
	}{
		{"ambiguous", control.CodeAmbiguous, "find session: two fit"},
		{"broken", control.CodeInternal, "disk full"},
		{"panic", control.CodeInternal, "session.post failed inside the peer"},
	} {
		t.Run(tc.session, func(t *testing.T) {
			both(t, func(t *testing.T, c *control.Client) {
				_, err := post(c, tc.session, "")
				var e *control.Error
				if !errors.As(err, &e) || e.Code != tc.code || e.Cause != tc.cause {
					t.Fatalf("post: %#v", err)
				}
				if tc.code == control.CodeAmbiguous && (e.Remedy != "say more" || len(e.Candidates) != 2) {
					t.Errorf("remedy %q, candidates %v", e.Remedy, e.Candidates)
				}
				if _, err := post(c, "s", "after"); err != nil {
					t.Errorf("the next call failed: %v", err)
				}
			})
		})
	}
}

func TestUnknownMethod(t *testing.T) {
	both(t, func(t *testing.T, c *control.Client) {
		_, err := control.Call(context.Background(), c, control.GetStatus, control.StatusParams{})
		var e *control.Error
		if !errors.As(err, &e) || e.Code != control.CodeNotFound {
			t.Fatalf("status: %v", err)
		}
	})
}

func TestStream(t *testing.T) {
	both(t, func(t *testing.T, c *control.Client) {
		read := func(session string) (ids []string, end control.LogEnd, err error) {
			end, err = control.CallStream(context.Background(), c, control.SessionLog, control.SessionLogParams{Session: session}, nil,
				func(e control.Entry) error { ids = append(ids, e.ID+e.Content); return nil })
			return ids, end, err
		}
		ids, end, err := read("s")
		if err != nil || end.Entries != 3 || strings.Join(ids, ",") != "0<&>,1<&>,2<&>" {
			t.Fatalf("log = %v, %v, %v", ids, end, err)
		}
		var e *control.Error
		if ids, _, err = read("breaks"); len(ids) != 3 || !errors.As(err, &e) || e.Cause != "torn" {
			t.Errorf("a failure after events: %v, %v", ids, err)
		}
		if ids, _, err = read("unknown"); len(ids) != 0 || !errors.As(err, &e) || e.Code != control.CodeNotFound {
			t.Errorf("a failure before events: %v, %v", ids, err)
		}
	})
}

func TestUpload(t *testing.T) {
	both(t, func(t *testing.T, c *control.Client) {
		for _, lines := range []int{0, 1, 200_000} {
			file := strings.Repeat("0123456789\n", lines)
			var last control.Progress
			got, err := control.CallStream(context.Background(), c, control.SessionImport,
				control.SessionImportParams{Name: "n", Format: control.FormatJSONL, Size: int64(len(file))}, strings.NewReader(file),
				func(p control.Progress) error { last = p; return nil })
			if err != nil || got.Entries != int64(lines) || last.Done != int64(len(file)) || last.Total != last.Done {
				t.Errorf("import of %d lines = %v, %v, %v", lines, got, last, err)
			}
		}
	})
}

var errEnough = errors.New("enough")

func TestCallerBreaksOffStream(t *testing.T) {
	both(t, func(t *testing.T, c *control.Client) {
		_, err := control.CallStream(context.Background(), c, control.SessionLog, control.SessionLogParams{Session: "s"}, nil,
			func(control.Entry) error { return errEnough })
		if !errors.Is(err, errEnough) {
			t.Fatalf("log: %v", err)
		}
	})
}

// A follower sees entries before the call ends, and the stop of the daemon ends his call in words.
func TestFollowEndsWithTheDaemon(t *testing.T) {
	home, following := t.TempDir(), make(chan struct{}, 1)
	s, err := control.New(control.Config{Home: home, Methods: table(following), Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	c, err := control.Dial(home)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seen := 0
	go func() { <-following; stop() }()
	_, err = control.CallStream(context.Background(), c, control.SessionLog, control.SessionLogParams{Session: "s", Follow: true}, nil,
		func(control.Entry) error { seen++; return nil })
	var e *control.Error
	if seen != 3 || !errors.As(err, &e) || e.Code != control.CodeUnavailable {
		t.Errorf("follow saw %d entries and ended with %v", seen, err)
	}
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := control.Dial(home); !errors.Is(err, control.ErrNoDaemon) {
		t.Errorf("Dial after the stop: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "*")); len(left) != 0 {
		t.Errorf("files left in the home: %v", left)
	}
}

func TestFollowEndsWithTheCaller(t *testing.T) {
	following := make(chan struct{}, 1)
	c, err := control.InProcess(table(following), quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-following; cancel() }()
	_, err = control.CallStream(ctx, c, control.SessionLog, control.SessionLogParams{Session: "s", Follow: true}, nil,
		func(control.Entry) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("follow: %v", err)
	}
}

func TestSocketIsPrivate(t *testing.T) {
	home := t.TempDir()
	s := serve(t, control.Config{Home: home, Methods: table(nil)})
	info, err := os.Stat(s.Socket())
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Fatalf("socket %s: %v, %v", s.Socket(), info.Mode(), err)
	}
	if filepath.Dir(s.Socket()) != home {
		t.Errorf("socket %s is not in the home", s.Socket())
	}
}

func TestLongHomePath(t *testing.T) {
	home := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	runtime, err := os.MkdirTemp("/tmp", "r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Dial(home); !errors.Is(err, control.ErrNoDaemon) {
		t.Errorf("Dial without a daemon: %v", err)
	}
	s := serve(t, control.Config{Home: home, RuntimeDir: runtime, Methods: table(nil)})
	if !strings.HasPrefix(s.Socket(), runtime) {
		t.Errorf("socket %s is not below %s", s.Socket(), runtime)
	}
	c, err := control.Dial(home)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := post(c, "s", "x"); err != nil {
		t.Error(err)
	}
	// The folder of the socket open to others is refused by both sides.
	if err := os.Chmod(filepath.Dir(s.Socket()), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Dial(home); err == nil || errors.Is(err, control.ErrNoDaemon) {
		t.Errorf("Dial through an open folder: %v", err)
	}
}

func TestSecondDaemonAndStaleSocket(t *testing.T) {
	home := t.TempDir()
	serve(t, control.Config{Home: home, Methods: table(nil)})
	var e *control.Error
	if _, err := control.New(control.Config{Home: home, Log: quiet()}); !errors.As(err, &e) || e.Code != control.CodeConflict {
		t.Fatalf("a second daemon: %v", err)
	}
	if _, err := control.Dial(home); err != nil {
		t.Errorf("the first one no longer answers: %v", err)
	}

	dead := t.TempDir()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dead, "control.sock")})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := control.Dial(dead); !errors.Is(err, control.ErrNoDaemon) {
		t.Errorf("Dial to a dead socket: %v", err)
	}
	serve(t, control.Config{Home: dead, Methods: table(nil)})
	if _, err := control.Dial(dead); err != nil {
		t.Errorf("the dead socket was not replaced: %v", err)
	}
}

func TestRegisterTwice(t *testing.T) {
	twice := append(table(nil), table(nil)...)
	if _, err := control.InProcess(twice, quiet()); err == nil {
		t.Error("a method listed twice is served")
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range control.Names() {
		if seen[n] || n == "" {
			t.Errorf("method %q twice or empty", n)
		}
		seen[n] = true
	}
	if len(seen) != 71 {
		t.Errorf("%d methods, the table in api.go has 71", len(seen))
	}
}
