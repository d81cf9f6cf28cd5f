// Package hub keeps the live instances of extensions and dispatches to them.
//
// A [Hub] knows the installed extensions in one fixed order: what is compiled in as it was installed,
// then the others by name. The others may be there in several versions, and for one session alone: two
// sessions can run two versions under one name, or one version with different powers. An instance of
// the scope Global is built when an extension is installed, that of an agent or a session at the first
// need. A [Turn] is one look at all this: the effective set is read from the logs once, the instances
// that take part are held until [Turn.Release], and every hook, tool and context text of the turn goes
// through it. Where an extension lives at several scopes, session comes before agent before global.
//
// Code of extensions runs behind one door (invoke.go): a deadline, a caught panic, no lock held. A
// call that outlives its deadline is abandoned and its late result dropped.
//
// What lives here: registration, dispatch, the life of instances. What may not: documents (reached
// through [Documents]), grants, approvals and audit entries of tools (node/pipeline), wall clocks
// other than the one of the [Config]. Deadlines and waits are timers of the runtime.
package hub
