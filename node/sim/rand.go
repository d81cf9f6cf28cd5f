package sim

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Every kind of decision has a stream of its own, so that leaving out a step or a fault class moves as
// little as possible of the rest: that is what shrinking lives on.

func mix(seed uint64, what string, n uint64) uint64 {
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], seed)
	binary.LittleEndian.PutUint64(b[8:], n)
	h.Write(b[:])
	h.Write([]byte(what))
	return h.Sum64()
}

// newStream is the stream of one kind of decision.
func newStream(seed uint64, what string, n int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, mix(seed, what, uint64(n))))
}

// newBytes is the source of a peer's keys, nonces and epochs.
func newBytes(seed uint64, what string, n int) *rand.ChaCha8 {
	var key [32]byte
	for i := range 4 {
		binary.LittleEndian.PutUint64(key[8*i:], mix(seed, what, uint64(n)<<8|uint64(i)))
	}
	return rand.NewChaCha8(key)
}

// between draws a time from [low, high).
func between(r *rand.Rand, low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(r.Int64N(int64(high-low)))
}

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }
