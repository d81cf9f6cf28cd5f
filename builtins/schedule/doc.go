// Package schedule is the built-in extension schedule: the tools schedule_add, schedule_modify,
// schedule_remove, schedule_list and schedule_once, and the command /schedule.
//
// A schedule belongs to an agent and lies in the agent's document, one key a field: the fields of a
// routine (package routine), the prompt of the turn, and where the turn runs,
// {"kind":"pinned","session_db_id":…} or {"kind":"fresh"}.
//
// What lives here: what a caller may ask for, the record it becomes and how it is shown. What may
// not: when something fires (routine), which agents may be administered (the host's
// [extension.AgentAdmin]) and the turn that a fire gives (agent_schedule).
package schedule
