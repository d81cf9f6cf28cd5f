package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// measureLoads compares loading a module from the compile cache with compiling it, in processes of their
// own, so that nothing is warm but the disk.
func measureLoads(ctx context.Context, o *options, g guests, t *table) error {
	for _, m := range []struct{ name, file string }{{"the example extension", g.standup}, {"count_vowels", g.vowels}} {
		var p pairs
		for i := range o.processes {
			dir := place(o, "load-%s-%d", filepath.Base(m.file), i)
			var took [2]float64 // cold, then warm
			for j := range took {
				f, err := figures(ctx, 1, "load", dir, m.file)
				if err != nil {
					return err
				}
				took[j] = f[0]
			}
			p.add(took[1], took[0])
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
		t.add(row{what: "T1 load from the compile cache, a fresh process", against: "compiling it", size: m.name, pairs: p, unit: inTime, aim: 0.15})
	}
	return nil
}

// loadOnce compiles a module in an engine of its own and returns the nanoseconds.
func loadOnce(ctx context.Context, dir, file string) (float64, error) {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	e, err := engine.New(ctx, engine.Config{CacheDir: dir, CacheKey: []byte(cacheKey)})
	if err != nil {
		return 0, err
	}
	t0 := time.Now()
	m, err := e.Compile(ctx, wasm)
	took := time.Since(t0)
	if err != nil {
		return 0, err
	}
	m.Close()
	return float64(took), e.Close(ctx)
}
