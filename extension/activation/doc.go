// Package activation is the log of switched extensions and its fold.
//
// Each session and each agent document holds a row store "extensions". A row is one [Event]: a name
// was switched on (with a reference to the code) or off. The log of a session is comprehensive: a
// name without a row is off. The log of an agent is sparse: a row that switches off is an opt-out,
// and a name without a row is allowed. What counts in a turn is the session's set minus the agent's
// opt-outs ([Effective]).
//
// The fold, per name:
//
//	F1  drop each row that a valid row of that name lists in prev; a dropped row's own list counts
//	F2  of the rest the greatest of (timestamp, deactivated over activated, id as bytes) wins
//
// It is a pure function of the set of rows. Order, grouping and repetition of arrival do not matter,
// no clock is read, and nothing is refused because of a clock. [Fold] is the plain statement of it;
// [Log] gives the same answer at the cost of what changed. A writer ([Log.Next]) picks the stamp and
// prev so that its row wins at once in its own log, whatever that log holds, and beats all it had
// seen wherever both arrive: a stamp above the newest, and no prev; where no later stamp is left,
// the same stamp, and all rows of the name with that stamp that still stand as prev. An upgrade
// ([Log.Upgrade]) keeps the stamp of the row it replaces, so that it never undoes a removal by
// somebody who had seen that row.
//
// Which rows are valid ([Parse]) is part of the format and equal in every version; the reserved names
// ([extension.ReservedName]) too.
//
// What lives here: the event, the fold, the index, what to write at the start of a session. What may
// not: documents, clocks, live instances.
package activation
