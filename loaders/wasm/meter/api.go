package meter

// Version names the rewriting. It belongs to the key of a cache of compiled modules: it changes whenever
// Instrument answers with other bytes for the same module.
const Version = "fuel-1"

// The names under which an instrumented module meets its host. A module that has one of them before is
// refused by Instrument.
const (
	// FuelExport is a mutable global i64: what is left of the slice. It is 0 in a new instance, so the
	// first thing that runs, be it the start function, asks for fuel. A host sets it to 0 before each
	// call, so that no call has what another left; host functions may take from it for their own work.
	FuelExport = "chaz:fuel"
	// RefillModule and RefillName are the imported function, i64 -> i64: it gets the counter, which is
	// below zero, and answers with the counter to go on with. It ends the call by a panic.
	RefillModule = "chaz:meter"
	RefillName   = "refill"
)

// Options are those of one rewriting.
type Options struct {
	// Limits are those of the module; the zero value is DefaultLimits.
	Limits Limits
}

// Limits bound a module before it is compiled. All are counts but Bytes, Data and Body, which are bytes, and
// Work.
type Limits struct {
	Bytes     int64 // the whole module
	Functions int   // that it defines
	Imports   int
	Exports   int
	Types     int
	Globals   int
	Tables    int
	Elements  int   // entries of one table, declared or grown
	Data      int64 // data and element segments together
	Body      int64 // the code of one function
	// Work bounds what the functions make the compiler do, by a measure of Instrument: the square of the
	// branches of a function, and the square of its locals by its loops. A thousand million is about ten
	// seconds or more; ordinary modules stay below fifty million.
	Work int64
}

// DefaultLimits are the hard ones: nothing that is larger is run on any peer.
func DefaultLimits() Limits {
	return Limits{
		Bytes: 64 << 20, Functions: 40_000, Imports: 1_000, Exports: 1_000, Types: 40_000, Globals: 10_000,
		Tables: 16, Elements: 1 << 20, Data: 64 << 20, Body: 4 << 20, Work: 200_000_000,
	}
}

// Inspect reads a module under DefaultLimits.
func Inspect(wasm []byte) (*Info, error) { return DefaultLimits().Inspect(wasm) }
