package automerge

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
static int chaz_trim(void) { return malloc_trim(0); }
#else
static int chaz_trim(void) { return 0; }
#endif
*/
import "C"

// Trim gives C memory that closed documents left free back to the system; it takes milliseconds.
// It reports whether any was: only glibc keeps it otherwise, elsewhere this does nothing. Worth
// calling after closing many or large documents. Safe for concurrent use.
func Trim() bool { return C.chaz_trim() != 0 }
