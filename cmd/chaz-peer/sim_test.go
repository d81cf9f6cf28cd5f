package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// lab is a bench whose runs are played in this process, by play if that is given.
func lab(t *testing.T, play player) *bench {
	t.Helper()
	b := newBench(t)
	if play == nil {
		play = playHere
	}
	b.setup = func(a *app) { a.engine.Play = play }
	return b
}

// failing plays for real and then says that a seed failed at b.
func failing(seed uint64) player { return failingIf(func(n uint64) bool { return n == seed }) }

func failingIf(bad func(seed uint64) bool) player {
	return func(ctx context.Context, r simRequest, tell func(simReply) error) error {
		return playHere(ctx, r, func(x simReply) error {
			if x.Result != nil && bad(x.Result.Seed) {
				opt := r.Options.options()
				opt.Seed = x.Result.Seed
				x.Result.Failure = &sim.Failure{Invariant: sim.I3, Peer: "b", Detail: "it believes something else", At: 1500, Step: 2, Repro: opt.Repro()}
			}
			return tell(x)
		})
	}
}

func TestSimAnswersInJSON(t *testing.T) {
	r := lab(t, failing(4)).do("sim", "--seeds", "6", "--first", "2", "--steps", "12", "--core", "never", "--jobs", "2", "--json")
	if r.code != exitError || r.err != "error: 1 of 6 runs failed\n" {
		t.Fatalf("exit %d, %q", r.code, r.err)
	}
	dec := json.NewDecoder(strings.NewReader(r.out))
	dec.DisallowUnknownFields()
	var got struct {
		Seeds      *int           `json:"seeds"`
		Failed     *int           `json:"failed"`
		Steps      *int           `json:"steps"`
		Seconds    *float64       `json:"seconds"`
		Faults     map[string]int `json:"faults"`
		Invariants map[string]int `json:"invariants"`
		Repro      []string       `json:"repro"`
	}
	if err := dec.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Seeds == nil || *got.Seeds != 6 || *got.Failed != 1 || *got.Steps < 6 || got.Seconds == nil {
		t.Errorf("%s", r.out)
	}
	for _, f := range sim.Faults() {
		if _, ok := got.Faults[string(f)]; !ok {
			t.Errorf("no count of the fault %s", f)
		}
	}
	for _, i := range sim.Invariants() {
		if _, ok := got.Invariants[string(i)]; !ok {
			t.Errorf("no count of the check %s", i)
		}
	}
	if want := []string{"chaz-peer sim --replay 4 --peers 3 --steps 12 --core never"}; !slices.Equal(got.Repro, want) {
		t.Errorf("repro %q, want %q", got.Repro, want)
	}
}

// The command that a failure names is one that this program takes, and plays the same.
func TestSimReplaysWhatItNames(t *testing.T) {
	b := lab(t, failing(4))
	r := b.do("sim", "--seeds", "5", "--steps", "12", "--core", "never", "--faults", "partition,crash")
	if r.code != exitError {
		t.Fatalf("exit %d, %q", r.code, r.err)
	}
	_, line, ok := strings.Cut(r.out, "again:        chaz-peer ")
	if !ok {
		t.Fatalf("no command in\n%s", r.out)
	}
	line, _, _ = strings.Cut(line, "\n")
	again := b.do(append(strings.Fields(line), "--json")...)
	if again.code != exitError || !strings.Contains(again.out, `"seeds":1,"failed":1`) || !strings.Contains(again.out, strings.TrimSpace(line)) {
		t.Errorf("%s: exit %d, %s%s", line, again.code, again.out, again.err)
	}
	for _, args := range []string{"sim --replay 4 --steps 12 --keep 1,3", "sim --replay 4 --steps 12 --keep none --faults none"} {
		if r := lab(t, nil).do(strings.Fields(args)...); r.code != 0 || !strings.Contains(r.out, "Held: seed 4") || !strings.Contains(r.out, "BELIEVES ACTIVE") {
			t.Errorf("%s: exit %d, %s%s", args, r.code, r.out, r.err)
		}
	}
}

// A process that ends in the middle of a run is a failure of that seed, and the others are played.
func TestSimNamesTheSeedOfAnAbort(t *testing.T) {
	var asked []uint64
	play := func(ctx context.Context, r simRequest, tell func(simReply) error) error {
		asked = append(asked, r.First)
		return playHere(ctx, r, func(x simReply) error {
			err := tell(x)
			if x.Start != nil && *x.Start == 3 {
				return &aborted{"signal: aborted: core said no"}
			}
			return err
		})
	}
	r := lab(t, play).do("sim", "--seeds", "5", "--steps", "5", "--jobs", "1", "--core", "never")
	if r.code != exitError || !strings.Contains(r.out, "seed 3: check S1") || !strings.Contains(r.out, "core said no") ||
		!strings.Contains(r.out, "chaz-peer sim --replay 3 --peers 3 --steps 5") || !strings.Contains(r.out, "Failed: 1 of 5 runs") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if !slices.Equal(asked, []uint64{1, 4}) {
		t.Errorf("asked from %v, want a second process from 4 on", asked)
	}
	// One that ends before it began anything would end again: that is an error, not a failed seed.
	dead := func(context.Context, simRequest, func(simReply) error) error { return &aborted{"exit status 1"} }
	if r := lab(t, dead).do("sim", "--seeds", "5"); r.code != exitError || !strings.Contains(r.err, "exit status 1") {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
}

func TestSimUsage(t *testing.T) {
	for args, want := range map[string]string{
		"sim --peers 1": "2 to 26", "sim --peers 27": "2 to 26", "sim --steps=-1": "0 to 1000000", "sim --seeds=-1": "above zero",
		"sim --faults clok_jump": `did you mean "clock_jump"?`, "sim --replay 1 --seeds 2": "--replay", "sim --keep 1": "--keep goes with --replay",
		"sim --replay x": "--replay", "sim --replay 1 --keep x": "no list of step numbers", "sim --core maybe": "share", "sim more": "more",
		"sim --scenario /no/such/file": "no such file", "sim --scenario .": "no .yaml file",
	} {
		b := lab(t, func(context.Context, simRequest, func(simReply) error) error {
			t.Errorf("%s: it plays", args)
			return nil
		})
		if r := b.do(strings.Fields(args)...); r.code != exitUsage || r.out != "" || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit %d, out %q, err %q, want %q", args, r.code, r.out, r.err, want)
		}
	}
}

// Runs that never met a fault or a check prove nothing about it.
func TestSimOfNothingFails(t *testing.T) {
	missing := ""
	play := func(_ context.Context, r simRequest, tell func(simReply) error) error {
		for i := range r.Count {
			res := sim.Result{Seed: r.First + uint64(i), Faults: map[string]int{}, Invariants: map[string]int{}}
			for _, f := range sim.Faults() {
				res.Faults[string(f)] = 1
			}
			for _, i := range sim.Invariants() {
				res.Invariants[string(i)] = 1
			}
			delete(res.Faults, missing)
			delete(res.Invariants, missing)
			if err := tell(simReply{Start: &res.Seed}); err != nil {
				return err
			}
			if err := tell(simReply{Result: &res}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, missing = range []string{"torn_write", "I6"} {
		if r := lab(t, play).do("sim", "--json"); r.code != exitError || !strings.Contains(r.err, "never met: "+missing) || !strings.Contains(r.out, `"seeds":1000,"failed":0`) {
			t.Errorf("without %s: exit %d, %q, %.200s", missing, r.code, r.err, r.out)
		}
		if r := lab(t, play).do("sim", "--seeds", "999"); r.code != 0 || !strings.Contains(r.out, "Never met in so few runs: "+missing) {
			t.Errorf("few without %s: exit %d, %q", missing, r.code, r.err)
		}
	}
	if r := lab(t, play).do("sim", "--faults", "partition", "--seeds", "1000"); r.code != exitError || !strings.Contains(r.err, "never met: I6") {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
	missing = "torn_write"
	if r := lab(t, play).do("sim", "--faults", "partition", "--seeds", "1000"); r.code != 0 {
		t.Errorf("a fault that is not played was missed: exit %d, %q", r.code, r.err)
	}
	missing = ""
	if r := lab(t, play).do("sim"); r.code != 0 || !strings.Contains(r.out, "Held: 1000 runs, 3 peers, 60 steps each.") {
		t.Errorf("the control: exit %d, %q\n%s", r.code, r.err, r.out)
	}
}

func TestSimShowsProgress(t *testing.T) {
	b := lab(t, failing(2))
	b.tty = true
	if r := b.do("sim", "--seeds", "3", "--steps", "3", "--core", "never", "--faults", "none"); !strings.Contains(r.err, "1 failed [") || !strings.Contains(r.err, "runs/s") || !strings.Contains(r.err, "of 3 runs") {
		t.Errorf("%q", r.err)
	}
	b.tty = false
	if r := b.do("sim", "--seeds", "3", "--steps", "3", "--core", "never", "--faults", "none"); strings.Contains(r.err, "runs/s") {
		t.Errorf("without a terminal: %q", r.err)
	}
}

func TestChildTalksLines(t *testing.T) {
	var out, errs bytes.Buffer
	req := `{"options":{"peers":2,"steps":3,"core":"never","faults":[],"keep":null},"first":7,"count":2}`
	if code := playFor(io.MultiReader(strings.NewReader(req), never{t.Context()}), &out, &errs); code != exitOK {
		t.Fatalf("exit %d, %s", code, errs.String())
	}
	var got []string
	dec := json.NewDecoder(&out)
	for {
		var x simReply
		if err := dec.Decode(&x); err != nil {
			break
		}
		if x.Start != nil {
			got = append(got, "start")
		} else if x.Result.Failure == nil {
			got = append(got, "held")
		}
	}
	if !slices.Equal(got, []string{"start", "held", "start", "held"}) {
		t.Errorf("%v", got)
	}
	if code := playFor(strings.NewReader("what?"), &out, &errs); code != exitError {
		t.Errorf("a request that is none: exit %d", code)
	}
}

// never is input that does not end before the test does.
type never struct{ ctx context.Context }

func (n never) Read([]byte) (int, error) { <-n.ctx.Done(); return 0, io.EOF }

// A child ends with its input: whoever asked is gone.
func TestChildDoesNotOutliveItsParent(t *testing.T) {
	in, ask := io.Pipe()
	done := make(chan int, 1)
	go func() { done <- playFor(in, io.Discard, io.Discard) }()
	if err := json.NewEncoder(ask).Encode(simRequest{Options: simOptions{Peers: 3, Steps: 60, Core: sim.CoreNever}, First: 1, Count: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	ask.Close()
	select {
	case code := <-done:
		if code != exitError {
			t.Errorf("exit %d", code)
		}
	case <-time.After(time.Minute):
		t.Fatal("it plays on")
	}
}

func TestParentOfAChild(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh here")
	}
	ctx := t.Context()
	var seeds []uint64
	tell := func(x simReply) error { seeds = append(seeds, *x.Start); return nil }
	killed := `read request; echo '{"start":7}'; echo 'core: unreachable' >&2; kill -9 $$`
	err = playIn(ctx, exec.CommandContext(ctx, sh, "-c", killed), simRequest{}, tell)
	if a := (*aborted)(nil); err == nil || !errors.As(err, &a) || !strings.Contains(a.cause, "core: unreachable") || !slices.Equal(seeds, []uint64{7}) {
		t.Errorf("%v, seeds %v", err, seeds)
	}
	ctx, cancel := context.WithCancel(ctx)
	waits := `read request; echo '{"start":8}'; read more; sleep 600`
	err = playIn(ctx, exec.CommandContext(ctx, sh, "-c", waits), simRequest{}, func(simReply) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

func TestSimStopsWhenAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := lab(t, nil)
	var out, errs bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &errs, env: func(string) string { return "" }, now: time.Now, engine: engine{Play: func(_ context.Context, r simRequest, tell func(simReply) error) error {
		return playHere(ctx, r, func(x simReply) error {
			if x.Result != nil && x.Result.Seed == 3 {
				defer cancel()
			}
			return tell(x)
		})
	}}}
	code := a.run(ctx, []string{"--home", b.home, "sim", "--seeds", "100000", "--steps", "3", "--jobs", "1", "--core", "never"})
	if code != exitError || !strings.Contains(errs.String(), "interrupted") || !strings.Contains(out.String(), "Stopped after ") {
		t.Errorf("exit %d, %q, %q", code, out.String(), errs.String())
	}
}

func TestShards(t *testing.T) {
	count := func(list []simJob) (n int, next uint64, sizes []int) {
		next = list[0].first
		for _, j := range list {
			if j.first != next {
				t.Errorf("a shard begins at %d, want %d", j.first, next)
			}
			n, next, sizes = n+j.count, j.first+uint64(j.count), append(sizes, j.count)
		}
		return n, next, sizes
	}
	for _, tc := range []struct{ seeds, workers, most, shards int }{{1, 8, 1, 1}, {10, 2, 5, 2}, {999, 2, 500, 2}, {1001, 2, 500, 3}, {20_000, 2, 500, 40}} {
		list := shards([]simJob{{first: 5, count: tc.seeds}}, tc.workers)
		n, _, sizes := count(list)
		if n != tc.seeds || len(list) != tc.shards || slices.Max(sizes) != tc.most {
			t.Errorf("%+v: %v", tc, sizes)
		}
	}
}

func TestSimHelp(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	r := newBench(t).do("sim", "--help")
	if r.code != 0 {
		t.Fatalf("exit %d, %s", r.code, r.err)
	}
	golden(t, "help_sim", r.out)
}

// writeStory makes a scenario file.
func writeStory(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "my story.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
