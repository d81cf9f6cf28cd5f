package meter

// Budget hands out the fuel of one call in slices. It is the host's side of a refill: not safe for
// concurrent use, and there is one for each call.
type Budget struct {
	slice int64
	rest  int64 // not handed out
	given int64
}

// NewBudget is one of total units, handed out slice at a time. Both are positive.
func NewBudget(total, slice int64) *Budget { return &Budget{slice: slice, rest: total} }

// Refill answers a counter that fell below zero with the next one, or false when all is used. A fresh
// instance, or one whose counter was set to 0 before the call, gets its first slice this way too.
func (b *Budget) Refill(left int64) (int64, bool) {
	have := b.rest + left // left is a debt: a block or a bulk operation may cost more than the slice
	if have < 0 {
		return left, false
	}
	next := min(b.slice, have)
	b.rest = have - next
	b.given += next - left
	return next, true
}

// Used is the fuel taken so far, where left is the counter now.
func (b *Budget) Used(left int64) int64 { return b.given - left }
