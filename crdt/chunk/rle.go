package chunk

// A run-length column is a list of runs: a positive count n and one value to repeat n times, a
// negative count -n and n values, or zero and a count of nulls.

// runReader walks a run-length column value by value. It never expands a run, so a column that
// claims a billion values costs nothing but the steps its caller takes. Nulls are refused: no
// accepted operation has any.
type runReader[T any] struct {
	reader
	value   func(*reader) T
	left    uint64
	literal bool
	current T
}

func newRuns(col []byte) runReader[uint64] {
	return runReader[uint64]{reader: reader{b: col}, value: (*reader).uleb}
}

// done reports whether the column holds no further value.
func (r *runReader[T]) done() bool { return r.left == 0 && len(r.b) == 0 }

// next returns the next value; bad is set when there is none.
func (r *runReader[T]) next() T {
	if r.left == 0 {
		r.start()
	}
	var none T
	if r.bad {
		return none
	}
	r.left--
	if r.literal {
		r.current = r.value(&r.reader)
	}
	return r.current
}

func (r *runReader[T]) start() {
	n := r.sleb()
	switch {
	case n > 0:
		r.left, r.literal = uint64(n), false
		r.current = r.value(&r.reader)
	case n < 0:
		r.left, r.literal = -uint64(n), true
	default:
		r.fail()
	}
	if r.bad {
		r.left = 0
	}
}

// runWriter builds a run-length column in the one form the core writes: repeats as runs, single
// values gathered into literals, nothing at all when every value is null.
type runWriter[T comparable] struct {
	out    []byte
	put    func([]byte, T) []byte
	single []T // values that do not repeat, not yet written
	last   T
	count  int // of last, not yet written
	nulls  int // not yet written; only when count is 0
}

func (w *runWriter[T]) add(v T) {
	if w.count > 0 && w.last == v {
		w.count++
		return
	}
	w.endRun()
	w.last, w.count = v, 1
}

func (w *runWriter[T]) addNull() {
	if w.nulls == 0 {
		w.endRun()
		w.endLiteral()
	}
	w.nulls++
}

func (w *runWriter[T]) endRun() {
	if w.nulls > 0 {
		w.out = appendUleb(append(w.out, 0), uint64(w.nulls))
		w.nulls = 0
	}
	switch {
	case w.count == 1:
		w.single = append(w.single, w.last)
	case w.count > 1:
		w.endLiteral()
		w.out = w.put(appendSleb(w.out, int64(w.count)), w.last)
	}
	w.count = 0
}

func (w *runWriter[T]) endLiteral() {
	if len(w.single) == 0 {
		return
	}
	w.out = appendSleb(w.out, -int64(len(w.single)))
	for _, v := range w.single {
		w.out = w.put(w.out, v)
	}
	w.single = w.single[:0]
}

// bytes ends the column.
func (w *runWriter[T]) bytes() []byte {
	if len(w.out) == 0 && w.count == 0 && len(w.single) == 0 {
		return nil // nothing, or only nulls
	}
	w.endRun()
	w.endLiteral()
	return w.out
}

func putText(b []byte, s string) []byte { return append(appendUleb(b, uint64(len(s))), s...) }
