// What this package calls of Automerge's C interface, declared once more: the binding's own header
// can't be included from another package, and its Go functions leave every result to finalizers.
// The linker takes the functions from the library that the binding brings.
//
// abi_test.go compiles this file together with the binding's header, so a declaration that no
// longer agrees with it is a failing test, and a function that is gone is a failing build.

#ifndef CHAZ_CORE_H
#define CHAZ_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef AUTOMERGE_C_H // the guard of the binding's header
typedef struct AMactorId AMactorId;
typedef struct AMdoc AMdoc;
typedef struct AMitem AMitem;
typedef struct AMresult AMresult;
typedef struct AMbyteSpan { const uint8_t *src; size_t count; } AMbyteSpan;
typedef struct AMitems { uint8_t detail[24]; } AMitems;
typedef uint8_t AMstatus;
typedef uint32_t AMvalType;
enum { AM_STATUS_OK = 0, AM_VAL_TYPE_CHANGE = 1 << 4 };
#endif

_Static_assert(sizeof(void *) == 8, "64-bit platforms only");
_Static_assert(sizeof(AMbyteSpan) == 16, "size of AMbyteSpan");
_Static_assert(offsetof(AMbyteSpan, src) == 0, "offset of AMbyteSpan.src");
_Static_assert(offsetof(AMbyteSpan, count) == 8, "offset of AMbyteSpan.count");
_Static_assert(sizeof(AMitems) == 24, "size of AMitems");
_Static_assert(sizeof(AMstatus) == 1, "size of AMstatus");
_Static_assert(sizeof(AMvalType) == 4, "size of AMvalType");
_Static_assert(AM_STATUS_OK == 0, "AM_STATUS_OK");
_Static_assert(AM_VAL_TYPE_CHANGE == 16, "AM_VAL_TYPE_CHANGE");

AMresult *AMcreate(const AMactorId *actor);
AMresult *AMload(const uint8_t *src, size_t count);
AMresult *AMloadIncremental(AMdoc *doc, const uint8_t *src, size_t count);
AMresult *AMgetHeads(AMdoc *doc);
AMresult *AMgetChangeByHash(AMdoc *doc, const uint8_t *src, size_t count);
AMresult *AMsave(AMdoc *doc);
AMstatus AMresultStatus(const AMresult *result);
AMbyteSpan AMresultError(const AMresult *result);
AMitem *AMresultItem(AMresult *result);
AMitems AMresultItems(AMresult *result);
void AMresultFree(AMresult *result);
AMitem *AMitemsNext(AMitems *items, ptrdiff_t n);
AMvalType AMitemValType(const AMitem *item);
bool AMitemToBytes(const AMitem *item, AMbyteSpan *value);
bool AMitemToChangeHash(const AMitem *item, AMbyteSpan *value);
bool AMitemToDoc(AMitem *item, const AMdoc **value);

#endif
