package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// guests are the modules of the rows about sandboxed code, as files.
type guests struct {
	standup string // the example extension, written in Go; its manifest lies beside it
	vowels  string // count_vowels of the Extism SDK, written in Rust
	plugin  string // testdata/guest: a plugin with one tool, written in Go
	work    string // the engine's test guest, which has work to do
}

// findGuests builds what is ours with the Go compiler and finds the rest in the module cache.
func findGuests(ctx context.Context, o *options) (g guests, err error) {
	root, err := tell(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/chaz-peer/chaz-peer")
	if err != nil {
		return g, err
	}
	sdk, err := tell(ctx, root, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk")
	if err != nil {
		return g, err
	}
	example := filepath.Join(root, "docs", "examples", "standup")
	g = guests{place(o, "standup/standup.wasm"), filepath.Join(sdk, "wasm", "count_vowels.wasm"), place(o, "plugin.wasm"), place(o, "work.wasm")}
	for _, b := range []struct{ out, dir, pkg string }{
		{g.standup, example, "."},
		{g.plugin, root, "./docs/bench/testdata/guest"},
		{g.work, root, "./loaders/wasm/engine/testdata/guest"},
	} {
		cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", b.out, b.pkg)
		cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		if text, err := cmd.CombinedOutput(); err != nil {
			return g, fmt.Errorf("build guest %s: %w\n%s", b.pkg, err, text)
		}
	}
	manifest, err := os.ReadFile(filepath.Join(example, "manifest.json"))
	if err != nil {
		return g, err
	}
	return g, os.WriteFile(filepath.Join(filepath.Dir(g.standup), "manifest.json"), manifest, 0o600)
}

// tell runs a command and returns its one line.
func tell(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
