// Package system is the built-in extension system: the tools get_time, calculate and describe_tool.
//
// What lives here: the three tools and the arithmetic of calculate. What may not: which tools a turn
// has; that comes with the call.
package system
