// Package loaders turns a reference in an activation log into verified code that a person on this peer
// has agreed to, or into a state that says why not.
//
// A [Loader] knows one kind of reference: how to find its bytes here, how to fetch them, how to verify
// them. The [Set] holds the loaders, the decisions of this peer (trust) and its policy, and answers one
// question for each load, also of bytes that were loaded before: may this content run in this session,
// and with which powers. A synced activation is a request, never consent.
//
// What lives here: the package manifest and its parser, content keys, trust decisions, policy, words for
// people. What may not: bytes on disk or on the network (loaders/ipld, loaders/git, loaders/registry),
// running code (loaders/wasm).
package loaders
