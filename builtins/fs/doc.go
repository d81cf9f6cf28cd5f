// Package fs is the built-in extension fs: the tools read_file, write_file and edit_file.
//
// What lives here: how much of a file is shown, what an edit means, and the words about it. What may
// not: opening files and deciding which may be opened; both are behind the call's [extension.Host].
package fs
