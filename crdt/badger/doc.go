// Package badger is the disk: a [crdt.Store] on github.com/ipfs/go-ds-badger, and the only package
// that imports it or Badger.
//
// # The directory
//
//	FORMAT   says that the directory is ours and in which format; written first, read first
//	lock     held (flock) while the store is open
//	CLEAN    names and sizes of the log files at the last clean close; absent after a crash
//	db/      Badger: tables (*.sst), MANIFEST, value log (*.vlog)
//	torn-N/  log files as they were found damaged, one folder per repair; ours to write, the
//	         user's to delete
//
// # Keys
//
// go-datastore keys are slash-separated path strings; ours are bytes. So the entries bypass it and
// go to the Badger database that go-ds-badger exports, as one space byte and the key unchanged:
// reversible, byte order kept, nothing to escape. The spaces are listed in keys.go.
//
// Every value of an entry is below Badger's value threshold and so lives in the tables; a longer
// one is split into pieces. The value log is then only the write-ahead log (and holds the records of
// large batches while they are copied): collecting it drops files whose entries are all in tables.
//
// # Appending
//
// A batch of at most 512 KiB and 2,000 keys is one Badger transaction and one sync. A larger one is
// a redo log: it is written under a stage number, becomes valid by one marker key, is copied into
// place and the stage is removed. While it is copied, readers keep the snapshot from before the
// marker and other writers wait, so nobody sees half of it. Open finishes a stage that has its
// marker and removes one that has none.
//
// # When the disk fails
//
// Append refuses, and writes again later, when less than Options.Reserve would stay free: Badger
// needs room to flush its tables. If a write fails all the same, the position in Badger's log is
// no longer what Badger thinks it is. The store then refuses every further write, keeps on
// reading, and has to be opened again; whether the failed batch is there afterwards (whole) or not
// is open until then.
//
// # A damaged log
//
// Open checks the log before Badger sees it unless the last close was clean. At the first damaged
// byte after the last flushed table the log is cut, at the end of a transaction, and everything
// behind is moved aside: the store is then what it was at an earlier moment, without holes.
// [Store.Repaired] says so until [Store.AckRepair]. A damaged table is not repaired: Open fails with
// [crdt.ErrTornStore].
//
// What may not live here: documents, ids, access; anything that knows what a key means.
package badger
