// Package control is the local API of a peer: what a command line, a script or another front end
// asks a running daemon, and the client that asks it.
//
// It is HTTP with one shape: POST /v1/<method> with the parameters as one JSON object answers 200
// and the result as one JSON object, or an error status and {"error","remedy","code"} ([Error]).
// Streaming methods answer lines of JSON, flushed one by one: {"event":…} any number of times, then
// one {"result":…} or one error object. A method that takes a file reads it from the request body:
// the parameters are its first line, the file is the rest. Parameters are decoded strictly: an
// unknown field is an error. Results may gain fields.
//
// [Server] listens on a Unix socket (mode 0600) in the home folder and, only if asked to, on a
// loopback TCP address that wants a bearer token. [Client] reaches it with [Dial], or runs the same
// handlers in the same process with [InProcess], so that a command behaves alike with and without a
// daemon. What each method is called and how its parameters and result look is in the endpoints
// ([SessionNew] and the others); the node fills them with [Func] and [StreamFunc].
//
// What may not live here: anything that knows documents, keys or the network. The handlers belong
// to the node; this package carries them.
package control
