// Package agentschedule is the built-in extension agent_schedule: what happens when a schedule of an
// agent fires.
//
// What lives here: the routine handler. What may not: when something fires (routine), and the tools
// that make schedules (the extension schedule).
package agentschedule
