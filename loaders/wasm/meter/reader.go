package meter

import (
	"fmt"
	"unicode/utf8"
)

// reader walks over bytes of a module. After the first error it stays where it is, answers with zeros and
// keeps the error, so that callers look at it once per loop.
type reader struct {
	b   []byte
	pos int
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.b = r.b[:r.pos]
	}
}

func (r *reader) left() int { return len(r.b) - r.pos }

func (r *reader) byte() byte {
	if r.pos >= len(r.b) {
		r.fail("unexpected end")
		return 0
	}
	b := r.b[r.pos]
	r.pos++
	return b
}

// take answers with the next n bytes, which are not copied.
func (r *reader) take(n uint32) []byte {
	if uint64(n) > uint64(r.left()) {
		r.fail("unexpected end: %d bytes are promised, %d are there", n, r.left())
		return nil
	}
	b := r.b[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// u32 reads an unsigned LEB128 number of 32 bits.
func (r *reader) u32() uint32 {
	// One byte is by far the usual case.
	if r.pos < len(r.b) && r.b[r.pos] < 0x80 {
		b := r.b[r.pos]
		r.pos++
		return uint32(b)
	}
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v)
		}
	}
	r.fail("a number has more than 32 bits")
	return 0
}

// signed reads a signed LEB128 number of that many bits.
func (r *reader) signed(bits int) int64 {
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b >= 0x80 {
			continue
		}
		if rest := bits - shift; rest < 7 {
			// The bits above the number must repeat its sign.
			if top := int8(b<<1) >> rest; top != 0 && top != -1 {
				break
			}
		}
		if shift+7 < 64 {
			v = v << (57 - shift) >> (57 - shift)
		}
		return v
	}
	r.fail("a number has more than %d bits", bits)
	return 0
}

// name reads a vector of bytes that must be UTF-8.
func (r *reader) name() string {
	b := r.take(r.u32())
	if !utf8.Valid(b) {
		r.fail("a name is not UTF-8")
		return ""
	}
	return string(b)
}

// count reads how many entries follow. Nothing is allocated for a number that is over the limit or that
// the bytes left can't hold; an entry takes a byte at least.
func (r *reader) count(limit int, what string) int {
	n := r.u32()
	if uint64(n) > uint64(limit) {
		r.fail("too many %s: %d, the limit is %d", what, n, limit)
		return 0
	}
	if uint64(n) > uint64(r.left()) {
		r.fail("unexpected end: %d %s are promised in %d bytes", n, what, r.left())
		return 0
	}
	return int(n)
}
