// Package meter reads a WebAssembly module before anything runs it, and rewrites it so that whoever runs
// it keeps control of the time.
//
// [Inspect] parses the outside of a core module strictly: header, sections, counts, imports, exports,
// memory. What a runtime can't run, or what is too large to be compiled, is refused in words.
//
// [Instrument] gives a module a counter of fuel. The counter is a global that the module exports as
// [FuelExport]; code takes from it as it runs, and where it has fallen below zero the module calls the
// function [RefillName] of the module [RefillModule], which it imports. That host function either answers
// with new fuel or ends the call by a panic. Every loop and every recursion comes past such a check, so
// nothing runs for ever, and because the host hands out fuel in small slices it looks at its clock, and
// lets the garbage collector of the process stop the world, many times a second. A guest that spins in
// native code can be interrupted in no other way. [Budget] is the arithmetic of the slices.
//
// The same module with the same input takes the same fuel on every machine: the unit is about one
// instruction of the module, whatever the slices are.
//
// What lives here: bytes of modules in, facts or other bytes out. What may not: a runtime, files, clocks,
// what a guest may import (loaders/wasm/engine).
package meter
