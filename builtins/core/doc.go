// Package core is the built-in extension core: the tools shell, compact, spawn_agent and
// spawn_worker, and the status of MCP servers.
//
// What lives here: how the output of a command is shown, and the declarations of the tools that run
// or change turns. What may not: starting processes and judging command lines; both are behind the
// call's [extension.Host].
package core
