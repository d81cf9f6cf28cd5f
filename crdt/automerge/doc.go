// Package automerge is the only door to the Automerge core, the Rust library that automerge-go
// brings along. [Core] implements crdt.Core: it builds documents from change chunks, adds chunks,
// and gives heads and the Automerge file. It never writes a change and never reads a value: changes
// come from crdt/chunk, views are kept from decoded operations.
//
// The binding's Go functions leave every result to finalizers, and the garbage collector does not
// see C memory: 3,000 loads of an 11 KB document grew a process to 11.7 GB. So [Core] calls the
// library's C functions itself (core.h) and frees each result before it returns; a document goes
// when it is closed. The binding's Go functions are used where memory ends with the process: in
// [RunReader], which reads Automerge files that others made.
//
// Crafted bytes abort the whole process inside the core, and recover does not help. Change chunks
// pass the gate of crdt/chunk before they come here; files pass through a [Child].
//
// What may not live here: the rules of which change is valid (crdt/chunk), storage, roles, and any
// type of the binding in an exported signature.
package automerge
