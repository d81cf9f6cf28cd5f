// Package git loads extensions by commit: {kind: git, name, repo, sha}.
//
// A commit's full hash names the code; where the objects come from does not matter, because each is
// hashed again and linked to that commit: commit, trees on the way, the manifest, the module. These few
// objects are the proof. It is kept on disk, read again at every load, and given to peers that ask, so
// that a host that is gone, or that a peer never wants to contact, is not needed.
//
// There is no checkout and no git program: hooks, filters, submodules, LFS and links have nothing that
// would run or follow them. Hosts are contacted over HTTP by a client of our own, which knows no
// credentials, no proxy and no private addresses, and only with leave ([loaders.From]).
//
// What lives here: reading repo and sha, the transport and its limits, packs, trees, the store of proofs,
// and the rule that a commit must be on a branch or tag. What may not: trust, and what a manifest means
// (loaders). It is the only door to go-git.
package git
