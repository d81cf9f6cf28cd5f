package engine

import (
	"errors"
	"testing"
)

// FuzzModule runs whatever compiles: no module brings the process down, outlives its limits, or ends in
// an error that callers do not know.
func FuzzModule(f *testing.F) {
	for _, wasm := range [][]byte{
		spin(), callTree(), startHang(), initHang(), growing(), hog(), recursing(), sum(), speaker('a'), gated(),
		importing(wasiModule, "proc_exit", vals{i32}, nil),
	} {
		f.Add(wasm)
	}
	e := newEngine(f, Config{MaxModule: 1 << 16, CacheDir: f.TempDir()})
	known := []error{ErrDeadline, ErrFuel, ErrMemory, ErrOutput, ErrTrap, ErrExit, ErrNoExport, errNoUser}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := e.Compile(t.Context(), wasm)
		if err != nil {
			if !errors.Is(err, ErrModule) {
				t.Fatal(err)
			}
			return
		}
		defer m.Close()
		limits := Limits{Memory: 4 << 20, Fuel: 100_000, Deadline: 2000, Output: 1 << 10, Vars: 1 << 10, Exchange: 1 << 16}
		p, err := m.Open(t.Context(), Options{Name: "fuzzed", Limits: limits, Host: &testHost{}, User: []string{"wait"}})
		if err != nil {
			if !errors.Is(err, ErrModule) && !errors.Is(err, ErrMemory) {
				t.Fatal(err)
			}
			return
		}
		for i, x := range m.Info().Exports {
			if i == 5 {
				break
			}
			_, err := p.Call(t.Context(), x.Name, []byte("some input"))
			var own *GuestError
			ok := err == nil || errors.As(err, &own)
			for _, k := range known {
				ok = ok || errors.Is(err, k)
			}
			if !ok {
				t.Fatal(err)
			}
			if errors.Is(err, ErrDeadline) {
				t.Fatal("the fuel did not stop it")
			}
		}
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
