package chunk

import (
	"strings"
	"unsafe"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// table holds the cells of one store. Rows that can't be deleted are judged by their hash alone and
// are not remembered.
type table struct {
	spec    crdt.StoreSpec
	order   int // place in the kind's list
	records map[string]cell
	rows    map[crdt.RowID]cell
	text    int // bytes of the keys in records
}

func newTable(spec crdt.StoreSpec, order int) *table {
	t := &table{spec: spec, order: order}
	switch {
	case !spec.Rows:
		t.records = make(map[string]cell)
	case spec.Deletable:
		t.rows = make(map[crdt.RowID]cell)
	}
	return t
}

func (t *table) remembers() bool { return t.records != nil || t.rows != nil }

func (t *table) get(key string) (cell, bool) {
	if t.records != nil {
		k, ok := t.records[key]
		return k, ok
	}
	id, err := crdt.ParseRowID(key)
	if err != nil {
		return cell{}, false // only row ids were ever put
	}
	k, ok := t.rows[id]
	return k, ok
}

func (t *table) put(key string, k cell) {
	if t.records != nil {
		if _, known := t.records[key]; !known {
			key = strings.Clone(key) // it may be a part of a large text
			t.text += len(key)
		}
		t.records[key] = k
		return
	}
	if id, err := crdt.ParseRowID(key); err == nil {
		t.rows[id] = k
	}
}

func (t *table) size() int {
	const slack = 2 // maps are between half full and full
	perCell := int(unsafe.Sizeof(cell{}))
	return t.text + slack*(len(t.records)*(perCell+16)+len(t.rows)*(perCell+32))
}
