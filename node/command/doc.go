// Package command is the slash commands: one grammar and one set of replies for every front end (the
// command line, the local API, a terminal view, a bridge).
//
// A [Runner] takes a line typed in a session and returns a [Result]. It reads and writes documents
// through the closures that crdt.Repo offers and knows the rest of the peer by small interfaces that
// it declares itself ([Agents], [Names], [Peers], [States], [Live]). Replies are made for people;
// where a text comes from another peer, control characters are taken out of it and it is cut.
//
// What lives here: the grammar and the commands that every front end shares. What may not: verbs of
// one front end, network, live extensions.
package command
