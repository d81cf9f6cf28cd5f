package automerge

/*
#include "core.h"

// known: 1 the document holds the change, 0 it does not, -1 the core failed.
static int chaz_known(AMdoc *doc, const uint8_t *hash) {
	AMresult *r = AMgetChangeByHash(doc, hash, 32);
	int known = -1;
	if (AMresultStatus(r) == AM_STATUS_OK) {
		AMitem *item = AMresultItem(r);
		known = item != NULL && AMitemValType(item) == AM_VAL_TYPE_CHANGE;
	}
	AMresultFree(r);
	return known;
}
*/
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	_ "github.com/automerge/automerge-go" // links the library that core.h declares

	"github.com/chaz-peer/chaz-peer/crdt"
)

// handle is one document in C memory, owned by result.
type handle struct {
	result *C.AMresult
	doc    *C.AMdoc
}

// loadHandle makes a document of an Automerge file or of chunks that need nothing else.
func loadHandle(raw []byte) (handle, error) {
	if len(raw) == 0 {
		return handle{}, errors.New("no bytes") // the core would make an empty document of them
	}
	r := C.AMload((*C.uint8_t)(unsafe.SliceData(raw)), C.size_t(len(raw)))
	h := handle{result: r}
	if err := resultError(r); err != nil {
		h.free()
		return handle{}, err
	}
	if !C.AMitemToDoc(C.AMresultItem(r), &h.doc) {
		h.free()
		return handle{}, errors.New("the core gave something that is not a document")
	}
	return h, nil
}

// load feeds change chunks. Success means nothing: the core ignores much of what it can't read and
// keeps what lacks a dependency for later. Ask known.
func (h handle) load(raw []byte) error {
	r := C.AMloadIncremental(h.doc, (*C.uint8_t)(unsafe.SliceData(raw)), C.size_t(len(raw)))
	defer C.AMresultFree(r)
	return resultError(r)
}

func (h handle) known(hash crdt.ChangeHash) bool {
	return C.chaz_known(h.doc, (*C.uint8_t)(&hash[0])) == 1
}

func (h handle) heads() ([]crdt.ChangeHash, error) {
	r := C.AMgetHeads(h.doc)
	defer C.AMresultFree(r)
	if err := resultError(r); err != nil {
		return nil, err
	}
	var heads []crdt.ChangeHash
	items := C.AMresultItems(r)
	for {
		item := C.AMitemsNext(&items, 1)
		if item == nil {
			return heads, nil
		}
		var span C.AMbyteSpan
		if !C.AMitemToChangeHash(item, &span) || span.count != C.size_t(len(crdt.ChangeHash{})) {
			return nil, errors.New("the core gave a head that is not a change hash")
		}
		heads = append(heads, crdt.ChangeHash(spanBytes(span)))
	}
}

func (h handle) save() ([]byte, error) {
	r := C.AMsave(h.doc)
	defer C.AMresultFree(r)
	if err := resultError(r); err != nil {
		return nil, err
	}
	var span C.AMbyteSpan
	if !C.AMitemToBytes(C.AMresultItem(r), &span) {
		return nil, errors.New("the core gave something that is not a file")
	}
	return bytes.Clone(spanBytes(span)), nil
}

func (h handle) free() { C.AMresultFree(h.result) }

func resultError(r *C.AMresult) error {
	if C.AMresultStatus(r) == C.AM_STATUS_OK {
		return nil
	}
	return fmt.Errorf("core: %s", spanBytes(C.AMresultError(r)))
}

// spanBytes views C memory; the view ends with the result that owns it.
func spanBytes(s C.AMbyteSpan) []byte {
	if s.count == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(s.src)), int(s.count))
}
