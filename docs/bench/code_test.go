package main

import (
	"context"
	"errors"
	"io"
	gonet "net"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
	"github.com/chaz-peer/chaz-peer/node/pipeline"
)

// The modules that are written by hand are what they are said to be.
func TestEndlessModules(t *testing.T) {
	e, err := engine.New(t.Context(), engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	for name, module := range endless() {
		limits := engineLimits()
		limits.Deadline = 50
		pool, err := openPool(t.Context(), e, module, limits)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := pool.Call(t.Context(), "run", nil); !errors.Is(err, engine.ErrDeadline) {
			t.Errorf("%s ended: %v", name, err)
		}
	}
}

func TestTinyPluginThroughTheWholePath(t *testing.T) {
	ctx := t.Context()
	b, err := newBed(ctx, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}()
	one, other := tinyPlugin("one"), tinyPlugin("other")
	if slices.Equal(one, other) {
		t.Error("two plugins are the same")
	}
	ref, err := b.pack(ctx, "tiny", one)
	if err != nil {
		t.Fatal(err)
	}
	x, err := b.load(ctx, ref, extension.GuestLimits{})
	if err != nil {
		t.Fatal(err)
	}
	doc, turn, err := b.seat(ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Release()
	for name, audit := range map[string]pipeline.Audit{"held": &heldAudit{}, "written": writtenAudit{b.repo}} {
		c, err := newCaller(audit, doc, turn, "tiny__say")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.call(ctx, []byte(`{}`)); err != nil || got != "said" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if _, err := c.call(ctx, []byte(`[]`)); err == nil {
			t.Errorf("%s: arguments that are no object were taken", name)
		}
	}
}

func TestFramesAreCounted(t *testing.T) {
	c := &crowd{}
	here, there := gonet.Pipe()
	go func() { _, _ = io.Copy(io.Discard, there) }()
	f := &framed{ReadWriteCloser: here, crowd: c}
	wire := []byte("\x00\x00\x00\x02ab\x00\x00\x00\x00\x00\x00\x00\x01c")
	for _, piece := range [][]byte{wire[:3], wire[3:8], wire[8:]} {
		if _, err := f.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if frames, sent := c.frames.Load(), c.sent.Load(); frames != 3 || sent != int64(len(wire)) {
		t.Errorf("%d frames of %d bytes", frames, sent)
	}
}

// A crowd that healed has what a crowd has that was handed everything.
func TestCrowdHeals(t *testing.T) {
	c, err := newCrowd(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	var times, sent, frames pairs
	if err := c.measure(t.Context(), &times, &sent, &frames); err != nil {
		t.Fatal(err)
	}
	if sent.ours[0] < 100 || sent.base[0] < 100 || frames.ours[0] < 6 {
		t.Errorf("%v bytes against %v, %v messages", sent.ours, sent.base, frames.ours)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}

func TestArmsInTurn(t *testing.T) {
	runs := [2]int{}
	arms := []*arm{
		{name: "each", every: 1, run: func() (string, error) { runs[0]++; return "x", nil }},
		{name: "tenth", every: 10, run: func() (string, error) { runs[1]++; return "x", nil }},
	}
	if err := takeTurns(100, "x", arms); err != nil {
		t.Fatal(err)
	}
	if runs != [2]int{120, 30} || len(arms[0].took) != 100 || len(arms[1].took) != 10 {
		t.Errorf("%v runs, %d and %d samples", runs, len(arms[0].took), len(arms[1].took))
	}
	p := arms[0].against(arms[1])
	if len(p.ours) != 10 || p.ours[1] != arms[0].took[10] {
		t.Errorf("%d samples of the same rounds", len(p.ours))
	}
	if err := takeTurns(1, "y", arms); err == nil {
		t.Error("a wrong answer was taken")
	}
}

func TestChildIsUnknown(t *testing.T) {
	for what, args := range map[string][]string{"nobody": nil, "load": {"one"}, "scan": {"x"}} {
		if err := runChild(t.Context(), what, args, io.Discard); err == nil {
			t.Errorf("child %s with %v ran", what, args)
		}
	}
}
