// Package registry loads extensions by name and version from package documents: documents of kind
// package, whose releases map a version to the CID of a package. Such a document syncs like a session and
// has the same roles; what a release means is local to nobody, what may run is (package loaders).
//
// What lives here: the records of releases, publishing and withdrawing them, and the [loaders.Loader] that
// goes from a reference to a CID. What may not: bytes of packages, which the loader of CIDs brings, and
// the network.
package registry
