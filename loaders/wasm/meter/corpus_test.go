package meter

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// corpus is the modules of other people's compilers: those that come with the Go SDK of Extism.
func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk").Output()
	if err != nil {
		t.Fatalf("find the modules of go-sdk: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "wasm", "*.wasm"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d modules of go-sdk, %v", len(files), err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = b
	}
	return out
}

type logKey struct{}

// stubs gives a module all functions that it imports; they note that they were called and answer 0.
func (h *host) stubs(c wazero.CompiledModule) error {
	builders := map[string]wazero.HostModuleBuilder{}
	for _, def := range c.ImportedFunctions() {
		module, name, _ := def.Import()
		if module == RefillModule {
			continue
		}
		b, ok := builders[module]
		if !ok {
			b = h.rt.NewHostModuleBuilder(module)
			builders[module] = b
		}
		params, results := def.ParamTypes(), len(def.ResultTypes())
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, s []uint64) {
			log := ctx.Value(logKey{}).(*bytes.Buffer)
			fmt.Fprintf(log, "%s.%s%x\n", module, name, s[:len(params)])
			if log.Len() > 1<<20 {
				panic(errors.New("called the host too often"))
			}
			clear(s[:results])
		}), params, def.ResultTypes()).Export(name)
	}
	for _, b := range builders {
		if _, err := b.Instantiate(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// outcome is all that can be seen of one call of a function without parameters in a fresh instance.
type outcome struct {
	results []uint64
	err     string
	calls   string
	memory  [32]byte
}

func (h *host) outcome(c wazero.CompiledModule, name string) (o outcome, err error) {
	log := &bytes.Buffer{}
	ctx := context.WithValue(withBudget(NewBudget(3_000_000, 100_000)), logKey{}, log)
	m, err := h.rt.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return o, err
	}
	defer func() { _ = m.Close(ctx) }()
	o.results, err = m.ExportedFunction(name).Call(ctx)
	if err != nil {
		o.err, _, _ = strings.Cut(err.Error(), "\n")
	}
	o.calls = log.String()
	if mem := m.Memory(); mem != nil {
		all, _ := mem.Read(0, mem.Size())
		o.memory = sha256.Sum256(all)
	}
	return o, err
}

// The compiler takes the modules of the corpus after the pass; the interpreter, which validates as much,
// gets all of them below.
func TestCorpusCompiles(t *testing.T) {
	for name, wasm := range corpus(t) {
		out := instrumented(t, wasm)
		if len(out) > 350_000 {
			t.Logf("%s is left out: %d bytes take seconds to compile under the race detector", name, len(out))
			continue
		}
		if _, err := newHost(t, compiler()).rt.CompileModule(context.Background(), out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The functions of the corpus do after the pass what they did before: same results, same traps, same
// calls of the host, same memory.
func TestCorpus(t *testing.T) {
	compared, endless := 0, 0
	for name, wasm := range corpus(t) {
		info, err := Inspect(wasm)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		out := instrumented(t, wasm)
		plain, metered := newHost(t, interpreter()), newHost(t, interpreter())
		cp, err := plain.rt.CompileModule(context.Background(), wasm)
		if err != nil {
			t.Errorf("%s does not compile by itself: %v", name, err)
			continue
		}
		cm, err := metered.rt.CompileModule(context.Background(), out)
		if err == nil {
			err = errors.Join(plain.stubs(cp), metered.stubs(cm))
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, e := range info.Exports {
			if e.Func == nil || len(e.Func.Params) > 0 {
				continue
			}
			got, err := metered.outcome(cm, e.Name)
			if errors.Is(err, errFuel) {
				endless++ // it waits for a host that does more
				continue
			}
			want, _ := plain.outcome(cp, e.Name)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s: got %+v, want %+v", name, e.Name, got, want)
			}
			compared++
		}
	}
	t.Logf("compared %d functions, %d did not end", compared, endless)
	if compared < 50 {
		t.Errorf("only %d functions were compared", compared)
	}
}
