// Package ipld holds content by hash: the block store of this machine, packages of extensions by CID,
// long rows that were moved out of a document, and what brings them in and out.
//
// A CID names one of four things, and its codec alone says which:
//
//	dag-cbor, dag-json   a manifest node that links its module
//	raw                  one module of at most 2 MiB
//	dag-pb, a file       one module
//	dag-pb, a directory  manifest.json (or manifest.dag-json) and the module that it names
//
// So what `ipfs add`, `ipfs add -r`, `ipfs dag put` and `ipfs block put` make loads as it is. Every hash
// on the way from the root to the last byte is checked against a short list of allowed functions, every
// block is hashed again whenever it is read, and every walk counts blocks, depth and bytes and stops at
// the first limit.
//
// The parts:
//
//	cid.go, hash.go        which CIDs are let in, and the check of a block against one
//	store*.go              the block store, a folder of files
//	node*.go, unixfs.go    strict decoding of the three codecs that have links
//	walk*.go, package.go   from a root to its blocks, its manifest, its module
//	loader.go, fetch.go    the [loaders.Loader] of references by CID
//	pack*.go, build.go     from files to blocks
//	car*.go                one package as one file
//	content.go             bytes of any kind, for long rows
//	keep.go                what no root reaches
//
// Ids of blocks are CID texts. What may not live here: trust, running code, connections to peers (they
// come through [Peers]; the frames between two of them are in ipld/exchange), documents.
package ipld
