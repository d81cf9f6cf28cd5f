package meter

import (
	"context"
	"strings"
	"testing"
)

func seeds(f *testing.F) {
	f.Helper()
	f.Add(all().bytes())
	f.Add(numbered().bytes())
	for _, a := range runaways() {
		f.Add(a.bytes())
	}
	for name, wasm := range corpus(f) {
		if len(wasm) < 2_000 {
			f.Add(wasm)
		} else {
			f.Logf("%s is no seed: %d bytes are too many to mutate", name, len(wasm))
		}
	}
}

// FuzzInspect: no input panics, a refusal has words, and what is accepted holds the limits.
func FuzzInspect(f *testing.F) {
	seeds(f)
	l := Limits{
		Bytes: 1 << 20, Functions: 20, Imports: 10, Exports: 10, Types: 10, Globals: 10, Tables: 3, Elements: 2_000_000,
		Data: 10_000, Body: 30_000,
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		info, err := l.Inspect(in)
		if err != nil {
			if info != nil || !strings.HasPrefix(err.Error(), "inspect module: ") {
				t.Fatalf("refused as %v, %v", info, err)
			}
			return
		}
		if len(info.Imports) > l.Imports || len(info.Exports) > l.Exports || info.Functions > l.Functions ||
			info.Code > len(in) || info.Memory != nil && info.Memory.Min > info.Memory.Max {
			t.Fatalf("accepted: %+v", info)
		}
	})
}

// FuzzInstrument: no input panics; what the runtime takes, it takes after the pass too, and what it
// refuses, it still refuses.
func FuzzInstrument(f *testing.F) {
	seeds(f)
	ctx := context.Background()
	rt := newHost(f, interpreter().WithMemoryLimitPages(2_000)).rt
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := Instrument(in, Options{})
		if err != nil {
			return // the runtime alone may be more generous, or take gigabytes for a count that is a lie
		}
		plain, plainErr := rt.CompileModule(ctx, in)
		if plainErr == nil {
			defer func() { _ = plain.Close(ctx) }()
		}
		metered, meteredErr := rt.CompileModule(ctx, out)
		if meteredErr == nil {
			defer func() { _ = metered.Close(ctx) }()
		}
		if plainErr == nil && meteredErr != nil {
			t.Fatalf("compiles by itself, but after the pass: %v", meteredErr)
		}
		if plainErr != nil && meteredErr == nil && !strings.Contains(plainErr.Error(), "custom") {
			t.Fatalf("compiles after the pass, but by itself: %v", plainErr)
		}
	})
}
