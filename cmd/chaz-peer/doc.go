// Command chaz-peer is the face of a peer: flags, the config file, and output for people (tables,
// reasons, remedies) and for scripts (--json).
//
// A command asks the running daemon over its socket; without one it opens the node itself and asks
// that in the same process, through the same API. The exit status is 0 when it worked, 1 on an
// error, 2 on a usage error, 3 when status finds no daemon. An error is one line of cause and one of
// remedy on standard error.
//
// What may not live here: state, and anything that decides what a document holds. Only engine.go and
// the reading of the config file know the node; everything else knows its API.
package main
