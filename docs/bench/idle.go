package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

const idleInstances = 100

// measureIdle compares what a waiting instance takes with the memory that its module declares, and what a
// process holds after many instances have come and gone with what it held before.
func measureIdle(ctx context.Context, o *options, g guests, t *table) error {
	progress("idle instances")
	for _, m := range []struct{ name, path string }{{"the example extension", filepath.Dir(g.standup)}, {"Go plugin", g.plugin}} {
		var p pairs
		for range memorySamples {
			f, err := figures(ctx, 2, "idle", place(o, "idle"), m.path)
			if err != nil {
				return err
			}
			p.add(f[0], f[1])
		}
		t.add(row{what: "T7 resident memory of one more idle instance, of 100", against: "the memory its module declares", size: m.name, pairs: p, unit: inBytes, aim: 1.5})
	}
	for _, m := range []struct {
		name, file, export string
		cycles             int
	}{{"count_vowels", g.vowels, "count_vowels", o.cycles}, {"Go plugin", g.plugin, "describe", o.cycles}} {
		f, err := figures(ctx, 2, "cycles", m.file, m.export, strconv.Itoa(m.cycles))
		if err != nil {
			return err
		}
		var p pairs
		p.add(f[1], f[0])
		t.add(row{what: fmt.Sprintf("T7 resident memory after %d instances came and went", m.cycles), against: "after the first 100 of them", size: m.name, pairs: p, unit: inBytes, aim: 1.05})
	}
	return nil
}

// idleOnce holds instances of an extension (a module, or a folder with its manifest), as many sessions
// would, and says what one takes.
func idleOnce(ctx context.Context, dir, path string) (each, declared float64, err error) {
	b, err := newBed(ctx, dir, nil)
	if err != nil {
		return 0, 0, err
	}
	packed, err := b.blocks.Pack(ctx, path, ipld.PackOptions{})
	if err != nil {
		return 0, 0, err
	}
	name := "plugin" // of a module without a manifest
	if packed.Manifest != nil {
		name = packed.Manifest.Name
	}
	ref := extension.IPLDRef(name, packed.Root)
	x, err := b.load(ctx, ref, extension.GuestLimits{})
	if err != nil {
		return 0, 0, err
	}
	held := []*extension.Instance{}
	more := func(n int) (resident, error) {
		for range n {
			i, err := x.Instantiate(ctx, extension.SessionContext{Peer: new(extension.Peer)})
			if err != nil {
				return resident{}, err
			}
			held = append(held, i)
		}
		return settled()
	}
	before, err1 := more(1)
	after, err2 := more(idleInstances)
	p, err3 := b.blocks.Load(ctx, ref)
	if err := errors.Join(err1, err2, err3); err != nil {
		return 0, 0, err
	}
	info, err := meter.Inspect(p.WASM)
	if err != nil {
		return 0, 0, err
	}
	for _, i := range held {
		err = errors.Join(err, i.Shutdown(ctx))
	}
	return (after.now - before.now) / idleInstances, float64(info.Memory.Min) * 65536, errors.Join(err, b.close(), os.RemoveAll(dir))
}

// settled is the resident memory of this process after a collection.
func settled() (resident, error) {
	debug.FreeOSMemory()
	return residentOf(os.Getpid())
}

// cycle makes, calls and ends instances of a module, one after the other, and says what the process held
// after the first hundred and at the end.
func cycle(ctx context.Context, file, export string, n int) (before, after float64, err error) {
	module, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	e, err := engine.New(ctx, engine.Config{})
	if err != nil {
		return 0, 0, err
	}
	m, err := e.Compile(ctx, module)
	if err != nil {
		return 0, 0, err
	}
	var first resident
	for i := range n {
		if i == min(100, n/2) {
			if first, err = settled(); err != nil {
				return 0, 0, err
			}
		}
		p, err := m.Open(ctx, engine.Options{Name: "bench", Limits: engineLimits(), Host: noHost{}})
		if err == nil {
			_, err = p.Call(ctx, export, []byte("hello"))
		}
		if err == nil {
			err = p.Close(ctx)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	last, err := settled()
	runtime.KeepAlive(m)
	return first.now, last.now, err
}
