// Package pathnormalizer is the built-in extension path_normalizer: a tool_call hook that takes the
// slashes off the end of a file's path, since models like to write them.
//
// What lives here: that one rule. What may not: what a path means and whether it may be used.
package pathnormalizer
