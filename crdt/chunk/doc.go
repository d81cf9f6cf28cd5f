// Package chunk reads, judges and writes Automerge change chunks in pure Go, so that no byte of a
// stranger reaches the document core unseen and a view can be kept up to date from what a change
// does instead of from the whole document.
//
// Three layers, each usable by the next only:
//
//   - the wire form: LEB128 numbers, run-length columns, the chunk's frame (leb.go, rle.go, body.go,
//     columns.go);
//   - the accepted subset: what a [crdt.Change] can say (decode.go, encode.go, genesis.go);
//   - gate v1: what a change may say on top of the changes it depends on (graph.go, clock.go,
//     cell.go, table.go, rules.go, gate.go), and the writer of changes that pass it (next.go).
//
// Gate v1 is part of the format: for equal bytes every peer reaches the same verdict, whatever the
// order in which concurrent changes arrived. A rule may be added only as a new version of the gate.
//
// The chunk layout follows the Automerge binary format
// (https://automerge.org/automerge-binary-format-spec/) as the pinned core writes it.
//
// What may not live here: signatures, roles, storage, and the core itself; only tests compare with
// it.
package chunk
