// Package securitywarnings is the built-in extension security_warnings: a tool_result hook that looks
// for texts that try to give a model instructions, and warns about them in the log. It changes
// nothing.
//
// What lives here: the patterns. What may not: looking for secrets, which is the pipeline's and can't
// be switched off.
package securitywarnings
