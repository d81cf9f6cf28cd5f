package crdt

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// keySorter rewrites compact JSON, as encoding/json has just written it, with sorted object keys. It
// gives up (bad) on whatever a second pass through encoding/json might write in another way: unusual
// escapes, invalid UTF-8 and repeated keys, which only a [json.RawMessage] can bring.
type keySorter struct {
	src     []byte
	pos     int
	out     []byte
	members []memberSpan // a stack: those of the object at hand on top
	bad     bool
}

// memberSpan is where a member of an object stands in out, and its key.
type memberSpan struct{ start, keyEnd, end int }

// sortKeys returns the canonical form of compact JSON, or false where it is not plain to see.
func sortKeys(src []byte) ([]byte, bool) {
	k := keySorter{src: src, out: make([]byte, 0, len(src))}
	k.value()
	return k.out, !k.bad && k.pos == len(src)
}

func (k *keySorter) value() {
	if k.bad || k.pos == len(k.src) {
		k.bad = true
		return
	}
	switch k.src[k.pos] {
	case '{':
		k.object()
	case '[':
		k.take(1)
		for k.peek() != ']' && !k.bad {
			k.value()
			k.comma(']')
		}
		k.take(1)
	case '"':
		k.text()
	default:
		n := bytes.IndexAny(k.src[k.pos:], ",]}")
		if n < 0 {
			n = len(k.src) - k.pos
		}
		k.take(n)
	}
}

func (k *keySorter) object() {
	k.take(1)
	base, bottom, sorted := len(k.out), len(k.members), true
	for k.peek() != '}' && !k.bad {
		m := memberSpan{start: len(k.out)}
		k.text()
		if bytes.IndexByte(k.out[m.start:], '\\') >= 0 {
			k.bad = true // escaped keys have another order than what they stand for
		}
		m.keyEnd = len(k.out)
		k.take(1) // the colon
		k.value()
		m.end = len(k.out)
		if k.bad {
			return
		}
		if n := len(k.members); n > bottom && k.compare(k.members[n-1], m) >= 0 {
			sorted = false
		}
		k.members = append(k.members, m)
		k.comma('}')
	}
	if !sorted {
		k.reorder(base, k.members[bottom:])
	}
	k.members = k.members[:bottom]
	k.take(1)
}

func (k *keySorter) compare(a, b memberSpan) int {
	// Without the quotes: the closing one would stand in the way of a longer key.
	return bytes.Compare(k.out[a.start+1:a.keyEnd-1], k.out[b.start+1:b.keyEnd-1])
}

// reorder sorts the members of an object that begins at base in out.
func (k *keySorter) reorder(base int, members []memberSpan) {
	slices.SortFunc(members, k.compare)
	again := make([]byte, 0, len(k.out)-base)
	for i, m := range members {
		if i > 0 {
			again = append(again, ',')
			if k.compare(members[i-1], m) == 0 {
				k.bad = true
			}
		}
		again = append(again, k.out[m.start:m.end]...)
	}
	copy(k.out[base:], again)
}

// text copies a string if its form is the only one that encoding/json gives it.
func (k *keySorter) text() {
	if k.peek() != '"' {
		k.bad = true
		return
	}
	for i := k.pos + 1; i < len(k.src); {
		switch c := k.src[i]; {
		case c == '"':
			k.take(i + 1 - k.pos)
			return
		case c == '\\':
			if i+1 == len(k.src) || !bytes.ContainsRune([]byte(`"\nrt`), rune(k.src[i+1])) {
				k.bad = true
				return
			}
			i += 2
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(k.src[i:])
			if r == utf8.RuneError && n == 1 || r == '\u2028' || r == '\u2029' {
				k.bad = true
				return
			}
			i += n
		}
	}
	k.bad = true
}

func (k *keySorter) peek() byte {
	if k.pos < len(k.src) {
		return k.src[k.pos]
	}
	k.bad = true
	return 0
}

func (k *keySorter) take(n int) {
	if k.bad || k.pos+n > len(k.src) {
		k.bad = true
		return
	}
	k.out = append(k.out, k.src[k.pos:k.pos+n]...)
	k.pos += n
}

// comma copies the comma between two elements; end closes the list.
func (k *keySorter) comma(end byte) {
	switch c := k.peek(); {
	case c == ',':
		k.take(1)
	case c != end:
		k.bad = true
	}
}
