// Package memory is the built-in extension memory: the tools remember, recall and list_memory_banks,
// the slash command /memory, what is recalled by itself for each turn, and the memory of agents as
// other extensions use it.
//
// What lives here: what a memory is, which one of a key counts, how memories are searched and how
// they are told. What may not: which documents an agent may use and the verbs for banks, which skills
// have too (builtins/bank).
package memory
