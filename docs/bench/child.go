package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

// runChild is what a measuring process does: it prints numbers on one line.
func runChild(ctx context.Context, what string, args []string, out io.Writer) error {
	if what == "server" {
		return serveLines(os.Stdin, out)
	}
	part, ok := children()[what]
	if !ok || len(args) != part.args {
		return fmt.Errorf("child %q with %d arguments is unknown", what, len(args))
	}
	numbers, err := part.run(ctx, args)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		fmt.Fprint(out, n, " ")
	}
	return nil
}

type child struct {
	args int
	run  func(ctx context.Context, args []string) ([]float64, error)
}

func children() map[string]child {
	return map[string]child{
		"repo": {3, func(ctx context.Context, a []string) ([]float64, error) { return holding(ctx, "repo", a) }},
		"core": {2, func(ctx context.Context, a []string) ([]float64, error) { return holding(ctx, "core", a) }},
		"load": {2, func(ctx context.Context, a []string) ([]float64, error) {
			took, err := loadOnce(ctx, a[0], a[1])
			return []float64{took}, err
		}},
		"replay": {2, func(ctx context.Context, a []string) ([]float64, error) {
			n, err := strconv.Atoi(a[1])
			if err != nil {
				return nil, err
			}
			took, err := replayOnce(ctx, a[0], n)
			return []float64{took}, err
		}},
		"idle": {2, func(ctx context.Context, a []string) ([]float64, error) {
			each, declared, err := idleOnce(ctx, a[0], a[1])
			return []float64{each, declared}, err
		}},
		"documents": {1, func(ctx context.Context, a []string) ([]float64, error) { return openDocuments(ctx, a[0]) }},
		"cores": {1, func(ctx context.Context, a []string) ([]float64, error) {
			each, err := openCores(ctx, a[0])
			return []float64{each}, err
		}},
		"open": {2, func(ctx context.Context, a []string) ([]float64, error) {
			open, search, err := openOnce(ctx, a[0], a[1])
			return []float64{open, search}, err
		}},
		"build": {2, func(_ context.Context, a []string) ([]float64, error) {
			took, err := buildOnce(a[0], a[1])
			return []float64{took}, err
		}},
		"scan": {1, func(_ context.Context, a []string) ([]float64, error) {
			n, err := strconv.Atoi(a[0])
			if err != nil {
				return nil, err
			}
			took, err := scanOnce(n)
			return []float64{took}, err
		}},
		"cycles": {3, func(ctx context.Context, a []string) ([]float64, error) {
			n, err := strconv.Atoi(a[2])
			if err != nil {
				return nil, err
			}
			first, last, err := cycle(ctx, a[0], a[1], n)
			return []float64{first, last}, err
		}},
	}
}

// figures runs a part of this program as a process of its own and reads the n numbers that it prints.
func figures(ctx context.Context, n int, what string, args ...string) ([]float64, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"-child", what}, args...)...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("measure %s in a process: %w", what, err)
	}
	out := make([]float64, n)
	at := make([]any, n)
	for i := range out {
		at[i] = &out[i]
	}
	if _, err := fmt.Sscan(string(text), at...); err != nil {
		return nil, fmt.Errorf("measure %s in a process: it said %.80q: %w", what, text, err)
	}
	return out, nil
}
