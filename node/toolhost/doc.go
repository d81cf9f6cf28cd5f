// Package toolhost is the only door to shell, disk and web: it implements [extension.Host] for one
// tool call, cut to what the call may do.
//
// What a call may do is the meet of four levels ([Intersect]): the operator's policy for the tool,
// the session, the agent, and the agent's limits for that tool. Only the first lives on this machine
// alone; the others come from documents that other peers write too. So the operator's level decides
// what there is to give, with careful defaults where it is silent, and the others can only narrow.
//
// Files are opened through [os.Root], one for each granted folder. Addresses are checked when they
// are dialled and on every redirect. Command lines are parsed as shell grammar before they run; an
// optional bubblewrap sandbox confines what the parser can't see.
//
// What lives here: grants, their intersection, and the doors. What may not: when a person is asked,
// what is written down about a call, and the texts for the model (node/pipeline).
package toolhost
