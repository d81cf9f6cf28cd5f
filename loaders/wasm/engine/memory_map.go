//go:build linux || darwin

package engine

import "syscall"

// reserve takes an address range of zeros. Where the system has none left it returns a slice of the
// heap, which does the same and costs more.
func reserve(n int) []byte {
	if n == 0 {
		return nil
	}
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		return make([]byte, n)
	}
	return b
}

func release(b []byte) {
	if len(b) > 0 {
		_ = syscall.Munmap(b) // refuses slices that are not its own, which the collector takes
	}
}
