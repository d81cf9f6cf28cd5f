// Package routine is when things fire: work that an extension does by the clock, and the engine that
// starts it.
//
// A [Routine] names a [Trigger] (cron, interval or one-shot), the extension that does the work and
// an opaque payload. [Next] is the pure rule of when it fires next, [Settle] the pure rule of what a
// fire leaves behind. The [Engine] holds the routines of this peer in a heap by their next fire,
// sleeps until the first is due, and hands it to the [Dispatcher]. Rows live in a [Store], which is
// read again before every fire, so that edits that arrive by sync count at once; outcomes are
// written back, so that a restart forgets nothing. [Homes] says whether this peer is the one that
// fires a routine that several peers hold.
//
// Time comes from a [Clock] and may lie and jump. After a jump forward everything due fires, once;
// after a jump backward it fires later; after one of more than a day the engine plans anew.
//
// What lives here: triggers, the two rules, the engine and the interfaces it asks for. What may not:
// documents, the network, anything that knows what an extension or a session is.
package routine
