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

// apply works out one operation.
func apply(op string, v, w float64) (float64, error) {
	switch op {
	case "+":
		return finite(v + w)
	case "-":
		return finite(v - w)
	case "*":
		return finite(v * w)
	case "^":
		if v == 0 && w < 0 {
			return 0, errZero
		}
		return finite(math.Pow(v, w))
	}
	if w == 0 {
		return 0, errZero
	}
	if op == "%" {
		return finite(math.Mod(v, w))
	}
	return finite(v / w)
}

func finite(v float64) (float64, error) {
	switch {
	case math.IsNaN(v):
		return 0, errUnreal
	case math.IsInf(v, 0):
		return 0, errOverflow
	}
	return v, nil
}
