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

// ownSync runs the core's own sync of this session in memory, as a benchmark of the package that
// alone may use the core's binding: one line of output is one whole sync.
func (s *session) ownSync(ctx context.Context) (ownSync, error) {
	file, err := s.export(ctx)
	if err != nil {
		return ownSync{}, err
	}
	times := s.opt.bootstraps
	if s.size > 10_000 {
		times = min(times, 3)
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkOwnSync$", "-benchtime", "1x",
		"-count", strconv.Itoa(times), "github.com/chaz-peer/chaz-peer/crdt/automerge")
	cmd.Env = append(os.Environ(), "CHAZ_BENCH_FILE="+file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return ownSync{}, fmt.Errorf("run the core's own sync: %w\n%s", err, out)
	}
	return parseOwnSync(out)
}

// parseOwnSync reads "BenchmarkOwnSync-2  1  128000000 ns/op  4240000 wire-B".
func parseOwnSync(out []byte) (own ownSync, err error) {
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "BenchmarkOwnSync") {
			continue
		}
		for i := 3; i < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i-1], 64)
			if err != nil {
				return own, fmt.Errorf("read the core's own sync: %q: %w", sc.Text(), err)
			}
			switch f[i] {
			case "ns/op":
				own.times = append(own.times, v)
			case "wire-B":
				own.bytes = v
			}
		}
	}
	if len(own.times) == 0 || own.bytes == 0 {
		return own, fmt.Errorf("read the core's own sync: no figures in %q", out)
	}
	return own, nil
}
