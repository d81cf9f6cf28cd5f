package engine

import "fmt"

// The part of the kernel that moves bytes. An offset that is not in the exchange memory ends the call:
// the guest has lost count, and what it would do next is anybody's guess.

func (in *instance) wild(at uint64) {
	in.abort(fmt.Errorf("%w: offset %d is not in the exchange memory", ErrTrap, at))
}

func (in *instance) exchangeFull() {
	in.abort(fmt.Errorf("%w: exchange memory limit %s", ErrMemory, bytesText(in.pool.opt.Limits.Exchange)))
}

// put makes a block of bytes that the guest asked for.
func (in *instance) put(b []byte) uint64 {
	in.work(len(b))
	at, ok := in.arena.put(b)
	if !ok {
		in.exchangeFull()
	}
	return at
}

// view is the block at an offset. It is good until the next block is made.
func (in *instance) view(at uint64) []byte {
	b, ok := in.arena.block(at)
	if !ok {
		in.wild(at)
	}
	in.work(len(b))
	return b
}

// block copies the block at an offset, for whoever keeps it.
func (in *instance) block(at uint64) []byte { return append([]byte(nil), in.view(at)...) }

func kernelAlloc(in *instance, s []uint64) {
	in.work(int(min(s[0], 1<<20)))
	at, ok := in.arena.alloc(s[0])
	if !ok {
		in.exchangeFull()
	}
	s[0] = at
}

func kernelLoadU8(in *instance, s []uint64) {
	b, ok := in.arena.bytes(s[0], 1)
	if !ok {
		in.wild(s[0])
	}
	s[0] = uint64(b[0])
}

func kernelLoadU64(in *instance, s []uint64) {
	v, ok := in.arena.loadU64(s[0])
	if !ok {
		in.wild(s[0])
	}
	s[0] = v
}

func kernelStoreU8(in *instance, s []uint64) {
	b, ok := in.arena.bytes(s[0], 1)
	if !ok {
		in.wild(s[0])
	}
	b[0] = byte(s[1])
}

func kernelStoreU64(in *instance, s []uint64) {
	if !in.arena.storeU64(s[0], s[1]) {
		in.wild(s[0])
	}
}

func kernelInputU8(in *instance, s []uint64) {
	if s[0] >= in.inputLen {
		in.wild(s[0])
	}
	s[0] += in.inputAt
	kernelLoadU8(in, s)
}

func kernelInputU64(in *instance, s []uint64) {
	if s[0] >= in.inputLen || in.inputLen-s[0] < 8 {
		in.wild(s[0])
	}
	s[0] += in.inputAt
	kernelLoadU64(in, s)
}

func kernelOutputSet(in *instance, s []uint64) {
	at, n := s[0], s[1]
	if n > uint64(in.pool.opt.Limits.Output) {
		in.abort(fmt.Errorf("%w: the limit is %s", ErrOutput, bytesText(in.pool.opt.Limits.Output)))
	}
	if _, ok := in.arena.bytes(at, n); !ok && n > 0 {
		in.wild(at)
	}
	in.outputAt, in.outputLen = at, n
}

func kernelErrorSet(in *instance, s []uint64) {
	if _, ok := in.arena.block(s[0]); !ok {
		in.wild(s[0])
	}
	in.errorAt = s[0]
}

// bytesText is a size in the largest unit that divides it.
func bytesText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
