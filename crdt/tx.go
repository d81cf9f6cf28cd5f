package crdt

import (
	"fmt"
	"slices"
)

// Tx collects the writes of one [Repo.Update]. Reads through the embedded View show the document
// as it was before them. It is valid only inside the function it was passed to.
type Tx struct {
	*View
	self  PeerID
	now   int64
	edits []Edit
	at    map[[2]string]int // (store, key) → index in edits
	bulk  bool
}

// Self is the peer that writes.
func (t *Tx) Self() PeerID { return t.self }

// Now is the local clock as a stamp ([NowMillis]), read once for the whole transaction.
func (t *Tx) Now() int64 { return t.now }

// Bulk allows the writes to fill several changes, committed together. Without it, writes that do
// not fit one change are an error.
func (t *Tx) Bulk() { t.bulk = true }

// Writes reports whether something was written to a store so far.
func (t *Tx) Writes(store string) bool {
	return slices.ContainsFunc(t.edits, func(e Edit) bool { return e.Store == store })
}

// AddRow adds v, as canonical JSON text, to a row store and returns its id. A row that is there
// already is left alone.
func (t *Tx) AddRow(store string, v any) (RowID, error) {
	text, err := Canonical(v)
	if err != nil {
		return RowID{}, fmt.Errorf("add row to %s: %w", store, err)
	}
	return t.PutRow(store, text)
}

// PutRow is AddRow for a text that is canonical already.
func (t *Tx) PutRow(store, text string) (RowID, error) {
	spec, err := t.spec(store, true)
	if err != nil {
		return RowID{}, err
	}
	id := RowIDOf(text)
	if !ValidValue(text) {
		return id, fmt.Errorf("add row to %s: not JSON text", store)
	}
	if len(text) > MaxValue {
		return id, fmt.Errorf("add row to %s: %d bytes are over the limit of %d; put large content elsewhere and store a reference", store, len(text), MaxValue)
	}
	if _, there := t.Row(spec.Name, id); there {
		t.drop(store, id.String())
	} else {
		t.put(Edit{Store: store, Key: id.String(), Value: text})
	}
	return id, nil
}

// DeleteRow deletes a row of a deletable store; one that is not there is no error.
func (t *Tx) DeleteRow(store string, id RowID) error {
	spec, err := t.spec(store, true)
	if err != nil {
		return err
	}
	if !spec.Deletable {
		return fmt.Errorf("delete row of %s: its rows are for ever", store)
	}
	t.put(Edit{Store: store, Key: id.String(), Delete: true})
	return nil
}

// Set sets a field of a record store to v as canonical JSON text. Setting what is there already
// writes nothing.
func (t *Tx) Set(store, key string, v any) error {
	if _, err := t.spec(store, false); err != nil {
		return err
	}
	text, err := Canonical(v)
	if err != nil {
		return fmt.Errorf("set %s/%s: %w", store, clip(key), err)
	}
	switch {
	case key == "" || len(key) > MaxKey:
		return fmt.Errorf("set field of %s: a key has 1 to %d bytes, not %d", store, MaxKey, len(key))
	case store == MetaStore && key == MetaDocKey:
		return fmt.Errorf("set meta/doc: it names the document and never changes")
	case len(text) > MaxValue:
		return fmt.Errorf("set %s/%s: %d bytes are over the limit of %d", store, clip(key), len(text), MaxValue)
	}
	if ops := t.stores[store].records[key]; len(ops) == 1 && ops[0].value == text {
		t.drop(store, key)
		return nil
	}
	t.put(Edit{Store: store, Key: key, Value: text})
	return nil
}

// Delete deletes a field of a record store; one that is not there is no error.
func (t *Tx) Delete(store, key string) error {
	if _, err := t.spec(store, false); err != nil {
		return err
	}
	if store == MetaStore && key == MetaDocKey {
		return fmt.Errorf("delete meta/doc: it names the document and never changes")
	}
	if len(t.stores[store].records[key]) == 0 {
		t.drop(store, key)
		return nil
	}
	t.put(Edit{Store: store, Key: key, Delete: true})
	return nil
}

func (t *Tx) spec(store string, rows bool) (StoreSpec, error) {
	s, ok := t.kind.Store(store)
	switch {
	case !ok:
		return s, fmt.Errorf("write to %s: a %s document has no such store", store, t.kind)
	case s.Rows && !rows:
		return s, fmt.Errorf("write to %s: it holds rows, not records", store)
	case !s.Rows && rows:
		return s, fmt.Errorf("write to %s: it holds records, not rows", store)
	}
	return s, nil
}

// put keeps one edit for a key: the core wants no more in one change.
func (t *Tx) put(e Edit) {
	k := [2]string{e.Store, e.Key}
	if i, ok := t.at[k]; ok {
		t.edits[i] = e
		return
	}
	if t.at == nil {
		t.at = map[[2]string]int{}
	}
	t.at[k] = len(t.edits)
	t.edits = append(t.edits, e)
}

// drop forgets an earlier edit of a key in this transaction.
func (t *Tx) drop(store, key string) {
	i, ok := t.at[[2]string{store, key}]
	if !ok {
		return
	}
	t.edits = slices.Delete(t.edits, i, i+1)
	clear(t.at)
	for j, e := range t.edits {
		t.at[[2]string{e.Store, e.Key}] = j
	}
}

// parts splits the edits into what fits one change each: half the limits, so that headers,
// dependencies and columns always have room.
func (t *Tx) parts() ([][]Edit, error) {
	var out [][]Edit
	start, size := 0, 0
	for i, e := range t.edits {
		n := len(e.Key) + len(e.Value) + 32
		if i > start && (size+n > MaxChange/2 || i-start >= MaxOps/4) {
			out = append(out, t.edits[start:i])
			start, size = i, 0
		}
		size += n
	}
	if start < len(t.edits) {
		out = append(out, t.edits[start:])
	}
	if len(out) > 1 && !t.bulk {
		return nil, fmt.Errorf("write change: %d writes do not fit one change of %d bytes", len(t.edits), MaxChange/2)
	}
	return out, nil
}

func (t *Tx) needs() (Role, string) {
	need, where := Write, ""
	for _, e := range t.edits {
		if s, _ := t.kind.Store(e.Store); s.Needs() > need || where == "" {
			need, where = max(need, s.Needs()), e.Store
		}
	}
	return need, where
}
