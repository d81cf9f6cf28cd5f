package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/chaz-peer/chaz-peer/node/control"
	"github.com/chaz-peer/chaz-peer/node/sim"
)

// simJob is one set of options with the seeds to play it with.
type simJob struct {
	order   int
	options simOptions
	story   *simStory // nil: a plan from the seed
	first   uint64
	count   int
}

// shardSize is how many runs one process plays.
const shardSize = 500

// shards cuts jobs into what one process plays, so that every worker has something to do.
func shards(jobs []simJob, workers int) []simJob {
	var out []simJob
	for _, j := range jobs {
		size := min(shardSize, max(1, (j.count+workers-1)/workers))
		for done := 0; done < j.count; done += size {
			one := j
			one.first, one.count = j.first+uint64(done), min(size, j.count-done)
			out = append(out, one)
		}
	}
	return out
}

// played is the result of one run.
type played struct {
	job simJob
	sim.Result
	gone bool // its process ended in the middle of it
}

// tally is what all runs showed.
type tally struct {
	sum    *sim.Summary
	failed []played
	drawn  map[int]played // by job: one with its timeline
}

func newTally() *tally { return &tally{sum: sim.NewSummary(), drawn: map[int]played{}} }

// mostDetail bounds what is kept of a failure: many may fail, and a panic says much.
const mostDetail = 8 << 10

func (t *tally) add(p played) {
	if f := p.Failure; f != nil {
		f.Detail = strings.ToValidUTF8(f.Detail[:min(len(f.Detail), mostDetail)], "")
		f.Repro = p.job.again(f.Repro, p.Seed)
		t.failed = append(t.failed, p)
	}
	t.sum.Add(p.Result)
	if p.Timeline != nil {
		t.drawn[p.job.order] = p
	}
}

// again is the command that plays a failure again: for a scenario with the file that it came from.
func (j simJob) again(repro string, seed uint64) string {
	if j.story == nil {
		return repro
	}
	return fmt.Sprintf("chaz-peer sim --replay %d --scenario %s", seed, shellWord(j.story.file))
}

// play plays all jobs with a few processes at a time and adds up what they show.
func (c *simCmd) play(ctx context.Context, a *app, jobs []simJob, t *tally) error {
	total := 0
	for _, j := range jobs {
		total += j.count
	}
	work := shards(jobs, c.workers())
	for i := range work {
		work[i].options.Timeline = total == 1 || work[i].story != nil && c.Seeds <= 1
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo, results := make(chan simJob, len(work)), make(chan played)
	for _, j := range work {
		todo <- j
	}
	close(todo)
	errs := make(chan error, c.workers())
	var wg sync.WaitGroup
	for range min(c.workers(), len(work)) {
		wg.Go(func() {
			for j := range todo {
				if err := a.engine.Play.shard(ctx, j, results); err != nil {
					errs <- err
					cancel()
					return
				}
			}
		})
	}
	go func() { wg.Wait(); close(results) }()
	bar := a.progress("")
	begin := a.now()
	for p := range results {
		t.add(p)
		rate := float64(t.sum.Seeds) / max(a.now().Sub(begin).Seconds(), 0.001)
		left := int64(float64(total-t.sum.Seeds) / rate * 1000)
		bar.label = fmt.Sprintf("%.0f runs/s, %s left, %d failed", rate, span(left), t.sum.Failed)
		bar.show(control.Progress{Done: int64(t.sum.Seeds), Total: int64(total), Unit: "runs"})
	}
	bar.end()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// shard plays the runs of a job, in another process again when one has ended early.
func (play player) shard(ctx context.Context, j simJob, results chan<- played) error {
	for j.count > 0 {
		started := false
		seed := j.first
		err := play(ctx, simRequest{Options: j.options, First: j.first, Count: j.count}, func(r simReply) error {
			if r.Start != nil {
				seed, started = *r.Start, true
			}
			if r.Result == nil {
				return nil
			}
			started = false
			return send(ctx, results, played{job: j, Result: *r.Result})
		})
		var gone *aborted
		switch {
		case err == nil:
			return nil
		case !started || !errors.As(err, &gone):
			return err
		}
		if err := send(ctx, results, lost(j, seed, gone)); err != nil {
			return err
		}
		j.count -= int(seed-j.first) + 1
		j.first = seed + 1
	}
	return nil
}

func send(ctx context.Context, results chan<- played, p played) error {
	select {
	case results <- p:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lost is the result of a run that took its process down.
func lost(j simJob, seed uint64, gone *aborted) played {
	opt := j.options.options()
	opt.Seed = seed
	return played{job: j, gone: true, Result: sim.Result{Seed: seed, Failure: &sim.Failure{
		Invariant: sim.S1, Step: -1, Detail: gone.Error(), Repro: opt.Repro(),
	}}}
}
