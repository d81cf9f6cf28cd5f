package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// ownSync runs the core's own sync of a session in memory. Only the package behind the core's door
// may use its binding, so this is a benchmark there, run as a process.
type ownSync struct{ binary, file string }

func (s *session) newOwnSync(ctx context.Context) (*ownSync, error) {
	own := &ownSync{place(s.opt, "own.test"), place(s.opt, "session-%d.automerge", s.size)}
	file, err := s.a.repo.Export(ctx, s.doc)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(own.file, file, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", own.binary, "github.com/chaz-peer/chaz-peer/crdt/automerge")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the core's own sync: %w\n%s", err, out)
	}
	return own, nil
}

// run does one whole sync and returns its nanoseconds and bytes.
func (o *ownSync) run(ctx context.Context) (ns, sent float64, err error) {
	cmd := exec.CommandContext(ctx, o.binary, "-test.run", "^$", "-test.bench", "^BenchmarkOwnSync$", "-test.benchtime", "1x")
	cmd.Env = append(os.Environ(), "CHAZ_BENCH_FILE="+o.file)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("run the core's own sync: %w\n%s", err, out)
	}
	return parseOwnSync(out)
}

// parseOwnSync reads "BenchmarkOwnSync-2  1  128000000 ns/op  4240000 wire-B".
func parseOwnSync(out []byte) (ns, sent float64, err error) {
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) < 6 || !strings.HasPrefix(f[0], "BenchmarkOwnSync") || f[3] != "ns/op" || f[5] != "wire-B" {
			continue
		}
		if ns, err = strconv.ParseFloat(f[2], 64); err == nil {
			sent, err = strconv.ParseFloat(f[4], 64)
		}
		return ns, sent, err
	}
	return 0, 0, fmt.Errorf("read the core's own sync: no figures in %q", out)
}
