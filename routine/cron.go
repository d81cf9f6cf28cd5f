package routine

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Limits of a cron trigger in bytes.
const (
	maxExpr = 512
	maxZone = 64
)

// field is the set of values that one field of a cron expression admits: bit n is value n.
type field uint64

func (f field) has(n int) bool { return f&(1<<n) != 0 }

// next is the smallest value of the set that is at least n, or -1.
func (f field) next(n int) int {
	if n > 63 || f>>n == 0 {
		return -1
	}
	return n + bits.TrailingZeros64(uint64(f>>n))
}

// fieldSpec is the form of one field.
type fieldSpec struct {
	name     string
	min, max int
	names    []string // of min, min+1, …
}

// all is the set of every value.
func (s fieldSpec) all() field { return s.span(s.min, s.max, 1) }

func (s fieldSpec) span(from, to, step int) (f field) {
	for n := from; n <= to; n += step {
		f |= 1 << n
	}
	return f
}

// cronFields are the six fields in order. Sunday is 0 and, in numbers, also 7.
func cronFields() [6]fieldSpec {
	return [6]fieldSpec{
		{name: "second", max: 59},
		{name: "minute", max: 59},
		{name: "hour", max: 23},
		{name: "day of month", min: 1, max: 31},
		{name: "month", min: 1, max: 12, names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
		{name: "day of week", max: 6, names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
	}
}

// cron is a parsed expression.
type cron struct {
	second, minute, hour, day, month, weekday field
	// A day field that leaves out at least one value is restricted. If both are, either may match.
	dayFree, weekdayFree bool
	zone                 *time.Location
}

// parseCron reads an expression of six fields (second minute hour day-of-month month day-of-week)
// or five (without second, which is then 0). A field is a list of `*`, `a`, `a-b`, each with an
// optional `/step`; `a/step` runs to the end of the field. Months and days have names in any case.
func parseCron(expr, zone string) (*cron, error) {
	if len(expr) > maxExpr {
		return nil, fmt.Errorf("parse cron expression: longer than %d bytes", maxExpr)
	}
	parts := strings.FieldsFunc(expr, func(r rune) bool { return r == ' ' || r == '\t' })
	switch len(parts) {
	case 5:
		parts = append([]string{"0"}, parts...)
	case 6:
	default:
		return nil, fmt.Errorf("parse cron expression %q: has %d fields, needs 5 (minute hour day-of-month month day-of-week) or 6 (second first)", expr, len(parts))
	}
	loc, err := parseZone(zone)
	if err != nil {
		return nil, err
	}
	specs := cronFields()
	var sets [6]field
	for i, s := range specs {
		if sets[i], err = s.parse(parts[i]); err != nil {
			return nil, fmt.Errorf("parse cron expression %q: %s: %w", expr, s.name, err)
		}
	}
	return &cron{
		second: sets[0], minute: sets[1], hour: sets[2], day: sets[3], month: sets[4], weekday: sets[5],
		dayFree: sets[3] == specs[3].all(), weekdayFree: sets[5] == specs[5].all(), zone: loc,
	}, nil
}

// parseZone finds an IANA zone; none is UTC. Names that mean another zone on every machine are
// refused: two peers must agree on when a routine fires.
func parseZone(name string) (*time.Location, error) {
	switch {
	case name == "":
		return time.UTC, nil
	case len(name) > maxZone:
		return nil, fmt.Errorf("find time zone: the name is longer than %d bytes", maxZone)
	case strings.EqualFold(name, "local"), strings.EqualFold(name, "localtime"), strings.EqualFold(name, "posixrules"):
		return nil, fmt.Errorf("find time zone %q: the name means another zone on every machine", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("find time zone %q: no such IANA zone on this machine", name)
	}
	return loc, nil
}

func (s fieldSpec) parse(text string) (field, error) {
	var set field
	for _, item := range strings.Split(text, ",") {
		f, err := s.item(item)
		if err != nil {
			return 0, err
		}
		set |= f
	}
	return set, nil
}

// item reads one element of a list.
func (s fieldSpec) item(text string) (field, error) {
	body, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		n, err := number(stepText)
		if err != nil || n < 1 || n > s.max-s.min+1 {
			return 0, fmt.Errorf("step %q is not a number from 1 to %d", stepText, s.max-s.min+1)
		}
		step = n
	}
	if body == "*" {
		return s.span(s.min, s.max, step), nil
	}
	lowText, highText, ranged := strings.Cut(body, "-")
	low, err := s.value(lowText)
	if err != nil {
		return 0, err
	}
	high := low
	if ranged {
		if high, err = s.value(highText); err != nil {
			return 0, err
		}
		if s.name == "day of week" && strings.EqualFold(highText, "SUN") && low > 0 {
			high = 7 // SAT-SUN
		}
		if high < low {
			return 0, fmt.Errorf("range %q runs backward", body)
		}
	} else if stepped {
		high = max(s.max, low)
	}
	set := s.span(low, high, step)
	if s.name == "day of week" && set.has(7) {
		set = set&^(1<<7) | 1
	}
	return set, nil
}

// value reads a number or a name.
func (s fieldSpec) value(text string) (int, error) {
	for i, name := range s.names {
		if strings.EqualFold(text, name) {
			return s.min + i, nil
		}
	}
	high := s.max
	if s.name == "day of week" {
		high = 7
	}
	n, err := number(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a value", text)
	}
	if n < s.min || n > high {
		return 0, fmt.Errorf("%d is not from %d to %d", n, s.min, high)
	}
	return n, nil
}

// number reads one or two decimal digits and nothing else.
func number(text string) (int, error) {
	if len(text) == 0 || len(text) > 2 || strings.Trim(text, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(text)
}
