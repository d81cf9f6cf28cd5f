// Package skills is the built-in extension skills: texts that tell an agent how to do something, from
// files, from agents' documents and from skill banks. It brings the tools skill_list, skill_search and
// skill_show, the slash command /skills and the catalogue in the system prompt.
//
// What lives here: the form of a skill file, which skill of a name counts, who can follow it, and how
// skills are told. What may not: which documents an agent may use and the verbs for banks, which
// memories have too (builtins/bank).
package skills
