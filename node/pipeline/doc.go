// Package pipeline is the one way to a tool: every call of every tool, whatever its origin, whoever
// the caller, goes through [Runner.Call].
//
// A call passes these steps, in this order: a ToolCall entry is written; the tool is looked up among
// what the caller's turn has; its arguments are checked against its schema; the rate limit; the
// tool_call hooks, which may deny, ask or change the arguments; a person's approval of the final
// arguments; the doors to the machine, cut to the grants of the call; the execution, with a timeout
// and one more try after a network failure; the leak scan; the tool_result hooks, after a success
// only; the leak scan again; exactly one ToolResult entry, whatever happened; and the wrapping for the
// model.
//
// What lives here: the steps and their texts. What may not: which extensions are active and how
// hooks are dispatched (extension/hub), what grants mean (node/toolhost), how people are asked and how
// entries are stored; these come in through the interfaces [Turn], [Approver] and [Audit].
package pipeline
