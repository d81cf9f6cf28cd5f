package system

import (
	"math"
	"strconv"
)

// number prints a finite result: a whole number without decimals, others with the fewest digits that
// name the same value.
func number(v float64) string {
	switch size := math.Abs(v); {
	case v == 0:
		return "0" // -0 too
	case v == math.Trunc(v) && size < 1e22:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v == math.Trunc(v):
		// Its digits beyond the 17th say nothing; zeros there are easier to read.
		return strconv.FormatFloat(v, 'f', -1, 64)
	case size < 1e-6:
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
