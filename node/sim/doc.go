// Package sim is the convergence lab: whole peers in one goroutine, on a network, disks and clocks
// that a seed makes up and breaks.
//
// What is simulated is the world only. The peers are made of the state machines of production:
// [docsync.Session] stepped with events, [docsync.RepoHost] over a real [crdt.Repo], the gate of
// crdt/chunk, the fold of extension/activation, real signatures, and in a share of the runs the real
// Automerge core. A run ([Run]) plays a list of steps drawn from its seed, or a [Scenario], checks the
// invariants of the menu ([Invariants]) while it goes on and, after everything has healed, those that
// speak of agreement. Equal options give equal runs, down to the last byte sent: [Result.TraceHash].
//
// A run starts no goroutine and reads no clock and no randomness of the machine. (A Repo gives a local
// change to the core in a goroutine of its own and waits for it before the call returns; nothing of it
// can be seen from outside.)
//
// [RunSeeds] plays many seeds and counts how often each fault and each invariant was met: a lab that
// never cuts a link proves nothing ([Summary.Vacuous]). [Shrink] makes a failure short enough to read.
// [RunT] plays a scenario in a Go test.
//
// What lives here: the world, its faults, its checks, scenarios, what a report is drawn from. What may
// not: flags, files, output, processes, YAML, pictures (cmd/chaz-peer), and any rule of the product.
package sim
