package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
)

// machine runs commands with sh and keeps what it is asked to keep.
type machine struct {
	dir  string
	last extension.ShellCommand
	err  error
}

func (m *machine) Files() extension.Files { return nil }

func (m *machine) Fetch(context.Context, extension.FetchRequest) (extension.FetchResponse, error) {
	return extension.FetchResponse{}, extension.ErrGrant
}

func (m *machine) Shell(ctx context.Context, c extension.ShellCommand) (extension.ShellResult, error) {
	m.last = c
	if m.err != nil {
		return extension.ShellResult{}, m.err
	}
	stdout, stderr := head{max: c.Limit}, head{max: c.Limit}
	cmd := exec.CommandContext(ctx, "sh", "-c", c.Line)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.dir, &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return extension.ShellResult{}, err
	}
	return extension.ShellResult{Stdout: stdout.kept, Stderr: stderr.kept, Cut: stdout.more || stderr.more, Exit: cmd.ProcessState.ExitCode()}, nil
}

// head keeps the beginning of what is written.
type head struct {
	max  int
	kept []byte
	more bool
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.max-len(h.kept))
	h.kept = append(h.kept, p[:n]...)
	h.more = h.more || n < len(p)
	return len(p), nil
}

func tools(t testing.TB) map[string]extension.Tool {
	t.Helper()
	i, err := New().Instantiate(t.Context(), extension.GlobalContext{Peer: &extension.Peer{}})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]extension.Tool{}
	for _, tool := range i.Tools {
		out[tool.Name] = tool
	}
	return out
}

func run(t *testing.T, m extension.Host, args any) (string, error) {
	t.Helper()
	raw, _ := json.Marshal(args)
	return tools(t)["shell"].Run(t.Context(), extension.Call{Lent: extension.Lent{Host: m}}, raw)
}

func TestShell(t *testing.T) {
	m := &machine{dir: t.TempDir()}
	full := strings.Repeat("a", 10_000)
	for line, want := range map[string]string{
		"printf hello":                   "hello",
		"echo hello":                     "hello\n",
		"echo out; echo err >&2":         "out\n[stderr]\nerr\n",
		"printf out; printf err >&2":     "out\n[stderr]\nerr",
		"echo err >&2":                   "[stderr]\nerr\n",
		"echo out; exit 3":               "out\n[exit code: 3]",
		"printf out; exit 3":             "out\n[exit code: 3]",
		"echo o; echo e >&2; false":      "o\n[stderr]\ne\n[exit code: 1]",
		"exit 7":                         "[exit code: 7]",
		"true":                           "[no output]",
		"kill -9 $$":                     "[exit code: -1]",
		`printf 'a\377b'`:                "a\uFFFDb",
		"printf 'äöü'":                   "äöü",
		"printf %10000s | tr ' ' a":      full,
		"printf %10001s | tr ' ' a":      full + "\n[output cut at 10000 bytes]",
		"printf %10001s|tr ' ' a;exit 2": full + "\n[output cut at 10000 bytes]\n[exit code: 2]",
		// The stderr counts too.
		"printf %9995s | tr ' ' a; echo err >&2": strings.Repeat("a", 9995) + "\n[std\n[output cut at 10000 bytes]",
		// Characters are whole at the cut.
		"printf %4000s | sed 's/ /€/g'": strings.Repeat("€", 3333) + "\n[output cut at 10000 bytes]",
	} {
		got, err := run(t, m, map[string]string{"command": line})
		if err != nil || got != want {
			t.Errorf("%s: %.60q… (%d bytes), %v, want %.60q… (%d bytes)", line, got, len(got), err, want, len(want))
		}
	}
}

func TestShellArguments(t *testing.T) {
	m := &machine{dir: t.TempDir()}
	if _, err := run(t, m, map[string]string{"command": " pwd ", "working_dir": "sub"}); err != nil || m.last != (extension.ShellCommand{Line: " pwd ", Dir: "sub", Limit: 10_000}) {
		t.Errorf("%+v, %v", m.last, err)
	}
	m.last = extension.ShellCommand{}
	for _, args := range []any{map[string]string{}, map[string]string{"command": " \n"}, map[string]int{"command": 1}, nil, "x"} {
		if _, err := run(t, m, args); !errors.Is(err, extension.ErrArgument) || m.last.Line != "" {
			t.Errorf("%v: %v", args, err)
		}
	}
	m.err = fmt.Errorf("run command: %w: rm is not allowed", extension.ErrGrant)
	if _, err := run(t, m, map[string]string{"command": "rm -rf /"}); !errors.Is(err, m.err) {
		t.Errorf("not granted: %v", err)
	}
	if _, err := run(t, nil, map[string]string{"command": "ls"}); !errors.Is(err, extension.ErrGrant) {
		t.Errorf("no host: %v", err)
	}
}

// A command that prints 100 MB costs its limit, and what is shown is text.
func TestShellLongOutput(t *testing.T) {
	m := &machine{dir: t.TempDir()}
	for _, line := range []string{"head -c 100000000 /dev/zero", "head -c 100000000 /dev/zero | tr '\\0' '\\377'", "head -c 100000000 /dev/zero >&2"} {
		got, err := run(t, m, map[string]string{"command": line})
		if err != nil || len(got) > maxOutput+100 || !utf8.ValidString(got) || !strings.HasSuffix(got, "[output cut at 10000 bytes]") {
			t.Errorf("%s: %d bytes, %v", line, len(got), err)
		}
	}
}

// result is a host that answers what it was made with.
type result struct {
	*machine
	extension.ShellResult
}

func (r result) Shell(context.Context, extension.ShellCommand) (extension.ShellResult, error) {
	return r.ShellResult, nil
}

func TestShellTimeout(t *testing.T) {
	_, err := run(t, result{ShellResult: extension.ShellResult{Stdout: []byte("so far"), TimedOut: true, Exit: -1}}, map[string]string{"command": "sleep 60"})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "so far") {
		t.Errorf("%v", err)
	}
	_, err = run(t, result{ShellResult: extension.ShellResult{TimedOut: true, Exit: -1}}, map[string]string{"command": "sleep 60"})
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "printed") {
		t.Errorf("%v", err)
	}
}

// A host that keeps more than it was asked to must not get it past the cut.
func TestRenderLargeResult(t *testing.T) {
	big := bytes.Repeat([]byte{0xff, 'a'}, 50<<20)
	got := render(extension.ShellResult{Stdout: big, Stderr: big, Exit: 1})
	if len(got) > maxOutput+100 || !utf8.ValidString(got) || !strings.HasSuffix(got, "\n[output cut at 10000 bytes]\n[exit code: 1]") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestRenderProperty(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 20),
		rapid.Map(rapid.IntRange(9_980, 10_010), func(n int) []byte { return bytes.Repeat([]byte("🙂"), n/4) }),
		rapid.Map(rapid.IntRange(9_980, 10_010), func(n int) []byte { return bytes.Repeat([]byte("a"), n) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		r := extension.ShellResult{Stdout: piece.Draw(t, "stdout"), Stderr: piece.Draw(t, "stderr"), Cut: rapid.Bool().Draw(t, "cut"), Exit: rapid.IntRange(-1, 1).Draw(t, "exit")}
		got := render(r)
		if got == "" || !utf8.ValidString(got) || len(got) > maxOutput+60 {
			t.Fatalf("%d bytes: %.40q", len(got), got)
		}
		if r.Exit != 0 != strings.HasSuffix(got, fmt.Sprintf("[exit code: %d]", r.Exit)) {
			t.Fatal("the exit code")
		}
		if len(r.Stdout)+len(r.Stderr) > maxOutput+10 && !strings.Contains(got, "[output cut at 10000 bytes]") && utf8.Valid(r.Stdout) && utf8.Valid(r.Stderr) {
			t.Fatal("it was cut and does not say so")
		}
		if first := string(r.Stdout[:min(len(r.Stdout), maxOutput-4)]); !r.Cut && utf8.ValidString(first) && !strings.HasPrefix(got, first) && got != placeholder {
			t.Fatalf("it does not begin with the stdout %.40q", first)
		}
	})
}
