package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// measureReplay times how long a fresh process takes until a session with N trusted extensions, all
// different, is ready: from the open node to its list of tools.
func measureReplay(ctx context.Context, o *options, g guests, t *table) error {
	plugin, err := os.ReadFile(g.plugin)
	if err != nil {
		return err
	}
	large := func(name string) []byte { return labelled(plugin, name) }
	var at64, warm, warmLarge pairs
	homes := map[string]string{}
	for _, h := range []struct {
		name string
		n    int
		make func(string) []byte
	}{{"tiny8", 8, tinyPlugin}, {"tiny64", 64, tinyPlugin}, {"large8", 8, large}} {
		progress("a session with %d extensions (%s)", h.n, h.name)
		homes[h.name] = place(o, "replay-%s", h.name)
		if err := fillHome(ctx, homes[h.name], h.n, h.make); err != nil {
			return fmt.Errorf("prepare %s: %w", h.name, err)
		}
	}
	for range o.replays {
		eight, err1 := ready(ctx, homes["tiny8"], 8, false)
		many, err2 := ready(ctx, homes["tiny64"], 64, false)
		first, err3 := ready(ctx, homes["tiny8"], 8, true)
		big, err4 := ready(ctx, homes["large8"], 8, false)
		bigFirst, err5 := ready(ctx, homes["large8"], 8, true)
		if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
			return err
		}
		at64.add(many/8, eight)
		warm.add(eight, first)
		warmLarge.add(big, bigFirst)
	}
	t.add(row{what: "T6 a session with 64 extensions is ready, compile cache warm: an eighth of it", against: "one with 8", size: "under 1 kB each", pairs: at64, unit: inTime, aim: 1.25})
	t.add(row{what: "T6 a session with 8 extensions is ready, compile cache warm", against: "the same with an empty compile cache", size: "Go plugins, 3 MB each", pairs: warmLarge, unit: inTime, aim: 0.2})
	t.add(row{what: "T6 a session with 8 extensions is ready, compile cache warm", against: "the same with an empty compile cache", size: "under 1 kB each", pairs: warm, unit: inTime})
	return nil
}

// labelled is the plugin with another description of its tool, of the same length: other code, as large.
func labelled(module []byte, name string) []byte {
	const told = "Counts the vowels of a text."
	return bytes.ReplaceAll(module, []byte(told), fmt.Appendf(nil, "%-*s", len(told), "Counts vowels ("+name+")."))
}

const replaySession = "replay"

// fillHome makes a home whose session has n extensions on, each trusted, and each compiled once.
func fillHome(ctx context.Context, home string, n int, module func(name string) []byte) error {
	return withNode(ctx, home, func(c *control.Client) error {
		if _, err := control.Call(ctx, c, control.SessionNew, control.SessionNewParams{Name: replaySession}); err != nil {
			return err
		}
		for i := range n {
			name := fmt.Sprintf("ext-%02d", i)
			file := filepath.Join(home, name+".wasm")
			if err := os.WriteFile(file, module(name), 0o600); err != nil {
				return err
			}
			packed, err := control.Call(ctx, c, control.ExtPack, control.ExtPackParams{Path: file})
			if err != nil {
				return err
			}
			done, err := control.Call(ctx, c, control.RunCmd, control.CmdParams{Session: replaySession, Line: "/extensions add " + file})
			if err != nil || !done.OK {
				return fmt.Errorf("add %s: %s: %w", name, done.Output, err)
			}
			trust := control.ExtTrustParams{Ref: name, Session: replaySession, Everywhere: true, NoCaps: true, SHA256: packed.WASMSHA256}
			if _, err := control.CallStream(ctx, c, control.ExtTrust, trust, nil, func(control.Progress) error { return nil }); err != nil {
				return err
			}
		}
		return toolsReady(ctx, c, n)
	})
}

// withNode opens a node that is offline.
func withNode(ctx context.Context, home string, fn func(*control.Client) error) error {
	n, err := node.Open(ctx, node.Config{Home: home, Name: "bench"})
	if err != nil {
		return err
	}
	c, err := control.InProcess(n.Methods(), nil)
	if err == nil {
		err = fn(c)
	}
	return errors.Join(err, n.Close())
}

// toolsReady lists the tools of the session and counts those of its extensions.
func toolsReady(ctx context.Context, c *control.Client, n int) error {
	list, err := control.Call(ctx, c, control.ToolList, control.ToolListParams{Session: replaySession})
	if err != nil {
		return err
	}
	got := 0
	for _, tool := range list {
		if strings.HasPrefix(tool.Name, "ext-") {
			got++
		}
	}
	if got != n {
		return fmt.Errorf("%d extensions are ready instead of %d", got, n)
	}
	return nil
}

// ready asks a fresh process how long the session takes.
func ready(ctx context.Context, home string, n int, cold bool) (float64, error) {
	if cold {
		if err := os.RemoveAll(filepath.Join(home, "cache")); err != nil {
			return 0, err
		}
	}
	f, err := figures(ctx, 1, "replay", home, fmt.Sprint(n))
	if err != nil {
		return 0, err
	}
	return f[0], nil
}

// replayOnce is what that process does.
func replayOnce(ctx context.Context, home string, n int) (took float64, err error) {
	err = withNode(ctx, home, func(c *control.Client) error {
		t0 := time.Now()
		err := toolsReady(ctx, c, n)
		took = float64(time.Since(t0))
		return err
	})
	return took, err
}
