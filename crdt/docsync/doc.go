// Package docsync brings the documents of two peers together: the protocol /chaz/sync/1 over one
// full-duplex reliable stream for each pair of peers, opened by the peer with the smaller id.
//
// A [Session] is the protocol as a state machine without input or output: [Session.Step] takes the
// time and one [Event] and returns [Action]s. It starts no goroutine, reads no clock, draws no
// random number and never blocks, so a test can put any number of sessions into one goroutine and
// replay what happened. What costs time (reading pages, checking signatures, the disk) is [Work]
// that the session asks its [Host] for; the result comes back as an event. All state ends with the
// connection: after any error the stream is closed and a new session starts over from the version
// vectors, which say exactly what each side has.
//
// Frames are length-prefixed deterministic CBOR arrays, limited before they are read and decoded
// strictly ([ReadFrame], [Encode], [Decode]); docs/wire.md writes them down byte by byte.
//
// [Driver] is the only part that blocks: it moves frames over a connection, runs the work in
// order of document, and feeds the session. [RepoHost] answers the work from a [crdt.Repo].
//
// What may not live here: libp2p, the Automerge core, a disk, any opinion on who should be let in
// (that is [Policy]) or on what a document means.
package docsync
