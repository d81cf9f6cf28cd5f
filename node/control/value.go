package control

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// List is a slice that is never null in JSON.
type List[T any] []T

// MarshalJSON writes [] for a nil list.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// Time is a moment in Unix milliseconds, any int64. Its text form is RFC 3339 in UTC with three
// digits of fraction, and outside the years 0 to 9999 the integer.
type Time int64

// timeLayout is RFC 3339 with exactly three digits.
const timeLayout = "2006-01-02T15:04:05.000Z"

// The milliseconds of the years 0 to 9999.
const (
	minYear0    Time = -62167219200000
	maxYear9999 Time = 253402300799999
)

// String is the text form.
func (t Time) String() string {
	if t < minYear0 || t > maxYear9999 {
		return strconv.FormatInt(int64(t), 10)
	}
	return time.UnixMilli(int64(t)).UTC().Format(timeLayout)
}

// MarshalText writes the text form.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads RFC 3339 with any fraction (cut to milliseconds) and any zone, or an integer.
func (t *Time) UnmarshalText(b []byte) error {
	if ms, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		*t = Time(ms)
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("parse time %.60q: want RFC 3339 or Unix milliseconds", b)
	}
	*t = Time(at.UnixMilli())
	return nil
}
