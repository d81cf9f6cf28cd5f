// Package exchange is the protocol by which one peer asks another for objects by their hashes, over any
// stream. It knows two kinds of object, blocks and git objects, and nothing of what is in them.
//
// The asker writes a [Request]: a document, the root that the document names, and ids. For each id in
// turn the other side writes a [Reply] and, if it has the object and may give it, its bytes. A stream
// takes one request after another and ends when the asker closes it. Both are strict CBOR behind a length
// of 4 bytes, big endian.
//
// The side that answers asks a callback whether this peer may have this root of this document. A peer
// that may not and an object that is not there get the same answer. The side that asks checks every block
// against its id before it gives it on and stops at the first that is wrong; git objects are checked by
// who asked for them. Memory of both sides is bounded by one object at a time.
//
// What may not live here: streams and who is at their other end (node/p2p), what a root is, where objects
// are kept.
package exchange
