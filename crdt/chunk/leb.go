package chunk

// reader takes strict values from the front of hostile bytes. After the first failure bad is set
// and every further read returns zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.b, r.bad = nil, true }

// uleb reads an unsigned LEB128 number in its shortest form.
func (r *reader) uleb() uint64 {
	var v uint64
	for i := 0; i < 10 && i < len(r.b); i++ {
		c := r.b[i]
		if i == 9 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if c == 0 && i > 0 {
				break
			}
			r.b = r.b[i+1:]
			return v
		}
	}
	r.fail()
	return 0
}

// sleb reads a signed LEB128 number in its shortest form.
func (r *reader) sleb() int64 {
	var v int64
	var before byte
	for i := 0; i < 10 && i < len(r.b); i++ {
		c := r.b[i]
		if i == 9 && c != 0 && c != 0x7f {
			break
		}
		v |= int64(c&0x7f) << (7 * i)
		if c < 0x80 {
			// A last byte that only repeats the sign of the one before it is a longer form.
			if i > 0 && (c == 0 && before&0x40 == 0 || c == 0x7f && before&0x40 != 0) {
				break
			}
			if bits := 7 * (i + 1); bits < 64 && c&0x40 != 0 {
				v |= -1 << bits
			}
			r.b = r.b[i+1:]
			return v
		}
		before = c
	}
	r.fail()
	return 0
}

// take reads n bytes; the result aliases the input.
func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func appendUleb(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendSleb(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
