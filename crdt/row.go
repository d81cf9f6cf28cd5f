package crdt

// Row is one immutable fact of a document.
type Row struct {
	ID    RowID
	Value string // canonical JSON text
	// Author is the signer of the change that brought the row; where several peers wrote the same
	// bytes, of the one with the lowest operation id.
	Author PeerID
	Actor  ActorID
	Seq    uint64
	Time   int64 // seconds since 1970 by the author's clock
}

// Index is a view of one document that its owner keeps up to date from decoded operations, at the
// cost of what changed. Calls come under the document's write lock, reads under at least its read
// lock ([Repo.View]).
type Index interface {
	// Row tells that a row became visible in store.
	Row(store string, r Row)
	// Gone tells that a row of a deletable store is no longer visible.
	Gone(store string, id RowID)
}

// IndexSpec registers an index with a [Repo]: every document of one of Kinds gets one.
type IndexSpec struct {
	Name  string
	Kinds []Kind
	New   func() Index
}
