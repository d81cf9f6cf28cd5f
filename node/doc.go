// Package node assembles a peer and lives its life: the home folder, the store and the documents in
// it, the network and the sync sessions over it, the local API and what its methods do.
//
// [Open] takes the home; [Node.Methods] is the API as a table, which works without a network; and
// [Node.Run] goes online and serves it until its context ends. The start and stop orders are in
// run.go, the table in wire.go.
//
// What lives here: decisions that need several rooms at once (who may join, what a new session
// starts with, what status says). What may not: a document format, a protocol, flags or output.
package node
