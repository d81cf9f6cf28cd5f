// Package extension is the contract between extensions and their host: what an extension says about
// itself before any of its code runs, what its live instances bring, and what they are lent.
//
// A [Declaration] is static: a name, a [Ref] that says where the code comes from and in which
// version, the hook kinds it may use, the capabilities it needs and gives, the scopes it lives at
// and the slash commands it brings. What is switched on is no property of an extension: it is a log
// in each session (extension/activation).
//
// What lives here: vocabulary and its validation. What may not: keeping instances and dispatching to
// them (extension/hub), code of extensions (builtins), documents and clocks.
package extension

// HostVersion is the version of this program, a semantic version. It is shown by the command line
// and recorded in the refs of the built-in extensions.
const HostVersion = "0.1.0"
