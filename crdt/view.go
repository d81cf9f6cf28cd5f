package crdt

import (
	"iter"
	"maps"
	"slices"
)

// View is the state of one document as its owner sees it: the valid part of what is stored, fed
// from decoded operations. It is valid only inside the function it was passed to ([Repo.View],
// [Repo.Update]); values it returns may be kept.
type View struct {
	id     DocID
	kind   Kind
	access *Access
	heads  []ChangeHash // sorted, of the valid part
	vector Vector       // of everything stored
	stores map[string]*storeView
	index  map[string]Index
}

type storeView struct {
	spec    StoreSpec
	rows    map[RowID]rowState
	shared  map[RowID][]rowOp     // of rows that several peers wrote: all their visible operations
	records map[string][]recordOp // visible operations, winner last
}

// rowState is a row as memory keeps it: a large session has very many.
type rowState struct {
	value string
	rowOp // the lowest of its visible operations: who brought it
}

type rowOp struct {
	id   OpID
	seq  uint64
	time int64
}

func (o rowOp) compare(p rowOp) int { return o.id.Compare(p.id) }

type recordOp struct {
	id    OpID
	value string
}

func newView(id DocID, kind Kind, access *Access, specs []IndexSpec) *View {
	v := &View{id: id, kind: kind, access: access, vector: Vector{}, stores: map[string]*storeView{}, index: map[string]Index{}}
	for _, s := range kind.Stores() {
		sv := &storeView{spec: s}
		if s.Rows {
			sv.rows, sv.shared = map[RowID]rowState{}, map[RowID][]rowOp{}
		} else {
			sv.records = map[string][]recordOp{}
		}
		v.stores[s.Name] = sv
	}
	for _, s := range specs {
		if slices.Contains(s.Kinds, kind) {
			v.index[s.Name] = s.New()
		}
	}
	return v
}

// ID is the document's id.
func (v *View) ID() DocID { return v.id }

// Kind is the document's kind.
func (v *View) Kind() Kind { return v.kind }

// Access is the resolved access log.
func (v *View) Access() *Access { return v.access }

// Heads are the sorted heads of the valid part.
func (v *View) Heads() []ChangeHash { return slices.Clone(v.heads) }

// Vector is the vector of everything verified and stored.
func (v *View) Vector() Vector { return v.vector.Clone() }

// Index returns the index registered under name, or nil where this kind has none.
func (v *View) Index(name string) Index { return v.index[name] }

// Row returns a row by id.
func (v *View) Row(store string, id RowID) (Row, bool) {
	s := v.stores[store]
	if s == nil {
		return Row{}, false
	}
	r, ok := s.rows[id]
	if !ok {
		return Row{}, false
	}
	return v.row(id, r), true
}

// RowCount is the number of rows in a store; 0 for a store this kind lacks.
func (v *View) RowCount(store string) int {
	if s := v.stores[store]; s != nil {
		return len(s.rows)
	}
	return 0
}

// Rows visits the rows of a store in no order.
func (v *View) Rows(store string) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		s := v.stores[store]
		if s == nil {
			return
		}
		for id, r := range s.rows {
			if !yield(v.row(id, r)) {
				return
			}
		}
	}
}

// Record returns the JSON text of a field: the value of the winning one of its visible operations.
func (v *View) Record(store, key string) (string, bool) {
	s := v.stores[store]
	if s == nil {
		return "", false
	}
	ops := s.records[key]
	if len(ops) == 0 {
		return "", false
	}
	return ops[len(ops)-1].value, true
}

// RecordAuthor is the signer of the operation that a field shows.
func (v *View) RecordAuthor(store, key string) (PeerID, bool) {
	s := v.stores[store]
	if s == nil || len(s.records[key]) == 0 {
		return PeerID{}, false
	}
	ops := s.records[key]
	info, ok := v.access.Actor(ops[len(ops)-1].id.Actor)
	return info.Key, ok
}

// Records visits the fields of a store in key order.
func (v *View) Records(store string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		s := v.stores[store]
		if s == nil {
			return
		}
		for _, k := range slices.Sorted(maps.Keys(s.records)) {
			ops := s.records[k]
			if !yield(k, ops[len(ops)-1].value) {
				return
			}
		}
	}
}

// apply adds a valid change.
func (v *View) apply(c *Change) {
	for i, op := range c.Ops {
		s := v.stores[op.Store]
		id := OpID{c.StartOp + uint64(i), c.Actor}
		if s.spec.Rows {
			v.applyRow(s, c, op, id)
		} else {
			s.applyRecord(op, id)
		}
	}
	v.heads = slices.DeleteFunc(v.heads, func(h ChangeHash) bool { return slices.Contains(c.Deps, h) })
	at, _ := slices.BinarySearchFunc(v.heads, c.Hash, compareHash)
	v.heads = slices.Insert(v.heads, at, c.Hash)
}

func (v *View) applyRow(s *storeView, c *Change, op Op, id OpID) {
	key, err := ParseRowID(op.Key)
	if err != nil {
		return // the gate lets no such key through; an index must never see one
	}
	had, has := s.applyRow(key, op, rowOp{id, c.Seq, c.Time})
	switch {
	case had && !has:
		v.tellIndexes(func(x Index) { x.Gone(op.Store, key) })
	case !had && has:
		row := v.row(key, s.rows[key])
		v.tellIndexes(func(x Index) { x.Row(op.Store, row) })
	}
}

// row tells all about a row. Its author is looked up: that an actor is somebody's never changes.
func (v *View) row(id RowID, r rowState) Row {
	info, _ := v.access.Actor(r.id.Actor)
	return Row{ID: id, Value: r.value, Author: info.Key, Actor: r.id.Actor, Seq: r.seq, Time: r.time}
}

// applyRow reports whether the row was visible before and is now.
func (s *storeView) applyRow(key RowID, op Op, by rowOp) (had, has bool) {
	r, had := s.rows[key]
	if !had && op.Delete {
		return false, false
	}
	if !had {
		s.rows[key] = rowState{op.Value, by}
		return false, true
	}
	ops := s.shared[key]
	if ops == nil {
		ops = []rowOp{r.rowOp}
	}
	ops = slices.DeleteFunc(ops, func(o rowOp) bool { return slices.Contains(op.Pred, o.id) })
	if !op.Delete {
		at, _ := slices.BinarySearchFunc(ops, by, rowOp.compare)
		ops = slices.Insert(ops, at, by)
	}
	delete(s.shared, key)
	switch len(ops) {
	case 0:
		delete(s.rows, key)
		return true, false
	case 1:
	default:
		s.shared[key] = ops
	}
	s.rows[key] = rowState{r.value, ops[0]}
	return true, true
}

func (v *View) tellIndexes(fn func(Index)) {
	for _, x := range v.index {
		fn(x)
	}
}

func (s *storeView) applyRecord(op Op, id OpID) {
	ops := slices.DeleteFunc(s.records[op.Key], func(r recordOp) bool { return slices.Contains(op.Pred, r.id) })
	if !op.Delete {
		at, _ := slices.BinarySearchFunc(ops, id, func(r recordOp, id OpID) int { return r.id.Compare(id) })
		ops = slices.Insert(ops, at, recordOp{id, op.Value})
	}
	if len(ops) == 0 {
		delete(s.records, op.Key)
		return
	}
	s.records[op.Key] = ops
}
