// Package crdt is what is true, and when: documents that many peers write and nobody corrupts.
//
// A document is an Automerge document of one [Kind]. Its root maps ("stores") are all created in a
// genesis change that every peer computes from the document id, so no two peers ever create one
// container twice. A store holds either rows (immutable facts under the hash of their bytes) or
// records (mutable fields, last writer wins). Every value is JSON text in an Automerge string.
//
// Beside the document lives its access log: signed objects ([Object]) that say who may read, write
// or administer it. It is kept and synced before the content and never inside it. A pure resolver
// ([Resolve]) turns the log into an [Access].
//
// One [Repo.Update] is one change is one signature. Changes of one actor form a sequence without
// gaps, each listing the one before it, so a version vector says exactly what a peer has and a
// signature at sequence number n proves everything below it.
//
// What lives here: ids, keys, roles and grants, signed changes, the clock, the [Store] contract and
// its in-memory implementation, the [Repo] and the typed views of sessions and agents. What may not: the
// network, the Automerge binding (crdt/automerge), the change codec (crdt/chunk), a disk
// (crdt/badger), and anything that knows what an extension is.
package crdt
