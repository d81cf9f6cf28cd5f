// Package bank is what memories and skills share of banks: documents full of rows that several agents
// use. An agent's document records which banks it was granted; a session may attach banks for all its
// agents to read.
//
// What lives here: where an agent's rows come from ([Kind.Sources]), the verbs of /memory and /skills
// that are the same for both, a cache of what was computed from a document, and how text from
// elsewhere is made fit to print. What may not: what a row means.
package bank
