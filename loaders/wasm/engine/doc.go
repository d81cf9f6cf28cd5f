// Package engine runs WebAssembly that nobody here wrote. It is the only door to the runtime (wazero).
//
// An [Engine] compiles modules: each is inspected, given a fuel counter (loaders/wasm/meter), compiled
// once per content, and kept on disk under a seal, so that a file that somebody changed is never run. A
// [Module] that is opened becomes a [Pool] of instances with limits, folders and one [Host].
//
// The guest speaks the kernel interface of Extism: it imports functions of "extism:host/env" (kernel.go)
// and exports functions without parameters that return 0 for success. Bytes go between the two through
// an exchange memory that is not the guest's own (arena.go). Beside that there is WASI preview 1 with
// clocks, random numbers, standard output and the mounted folders, but no sockets, no arguments and no
// environment. Anything else that a module imports is refused before any of it runs, in words.
//
// Time: a guest runs in slices of fuel and the host looks at its clock between them (call.go). Native
// code of a guest cannot be interrupted otherwise, and while it runs the garbage collector of the whole
// process has to wait for it; so slices are short. Host functions look at the same clock. Memory: each
// instance has an address range of its own of the size of its limit (memory.go).
//
// What lives here: running. What may not: who may do what (loaders/wasm has the gate; this package asks
// [Host] and believes it), where bytes come from (loaders), the shapes of the extension interfaces.
package engine
