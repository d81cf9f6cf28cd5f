package meter

import (
	"context"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

var errFuel = errors.New("no fuel is left")

type (
	budgetKey struct{}
	turnsKey  struct{} // of a channel that hears of refills
)

// host is a runtime that gives instrumented modules fuel from the budget in the context of a call.
type host struct {
	t  testing.TB
	rt wazero.Runtime
}

func newHost(t testing.TB, cfg wazero.RuntimeConfig) *host {
	t.Helper()
	ctx := context.Background()
	h := &host{t, wazero.NewRuntimeWithConfig(ctx, cfg)}
	t.Cleanup(func() { _ = h.rt.Close(ctx) })
	_, err := h.rt.NewHostModuleBuilder(RefillModule).NewFunctionBuilder().
		WithFunc(func(ctx context.Context, left int64) int64 {
			if err := ctx.Err(); err != nil {
				panic(err)
			}
			if turns, ok := ctx.Value(turnsKey{}).(chan struct{}); ok {
				select {
				case turns <- struct{}{}:
				default:
				}
			}
			next, ok := ctx.Value(budgetKey{}).(*Budget).Refill(left)
			if !ok {
				panic(errFuel)
			}
			return next
		}).Export(RefillName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func compiler() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2)
}

func interpreter() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2)
}

func withBudget(b *Budget) context.Context {
	return context.WithValue(context.Background(), budgetKey{}, b)
}

// instance builds an instance; what its start function takes is taken from the budget.
func (h *host) instance(wasm []byte, b *Budget) (api.Module, error) {
	return h.rt.InstantiateWithConfig(withBudget(b), wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
}

func instrumented(t testing.TB, wasm []byte) []byte {
	t.Helper()
	out, err := Instrument(wasm, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// call calls a function of an instrumented instance with a fresh budget and answers with the result and
// the fuel it took.
func call(m api.Module, b *Budget, name string, args ...uint64) (result []uint64, used int64, err error) {
	fuel := m.ExportedGlobal(FuelExport).(api.MutableGlobal)
	fuel.Set(0)
	result, err = m.ExportedFunction(name).Call(withBudget(b), args...)
	return result, b.Used(int64(fuel.Get())), err
}
