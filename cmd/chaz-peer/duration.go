package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// duration is a length of time on the command line: numbers with a unit (ms s m h d w), added up;
// a sign in front. "90m", "7d", "1d12h", "-3d".
type duration time.Duration

// UnmarshalText implements the parsing of a flag. It takes no sign.
func (d *duration) UnmarshalText(b []byte) error {
	v, err := parseDuration(string(b))
	if err == nil && v < 0 {
		err = fmt.Errorf("%q is below zero", b)
	}
	*d = duration(v)
	return err
}

// skew is a duration that may be below zero.
type skew time.Duration

// UnmarshalText implements the parsing of a flag.
func (s *skew) UnmarshalText(b []byte) error {
	v, err := parseDuration(string(b))
	*s = skew(v)
	return err
}

func parseDuration(text string) (time.Duration, error) {
	fault := fmt.Errorf("%q is not a duration: want numbers with units ms, s, m, h, d or w, such as 90m or 7d", clipText(text))
	rest, neg := strings.CutPrefix(text, "-")
	if !neg {
		rest = strings.TrimPrefix(rest, "+")
	}
	if rest == "0" {
		return 0, nil
	}
	if rest == "" {
		return 0, fault
	}
	var sum int64
	for rest != "" {
		end := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if end < 1 {
			return 0, fault
		}
		unit, size := unitOf(rest[end:])
		part, ok := times(rest[:end], int64(size))
		if unit == "" || !ok || part > math.MaxInt64-sum {
			return 0, fault
		}
		sum += part
		rest = rest[end+len(unit):]
	}
	if neg {
		sum = -sum
	}
	return time.Duration(sum), nil
}

// times is a decimal number times size, exact for whole numbers; false if it is no number or too
// large.
func times(number string, size int64) (int64, bool) {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return n * size, size == 0 || n <= math.MaxInt64/size
	}
	f, err := strconv.ParseFloat(number, 64)
	f *= float64(size)
	return int64(f), err == nil && f < 1<<62
}

func unitOf(s string) (string, time.Duration) {
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour}} {
		if strings.HasPrefix(s, u.name) {
			return u.name, u.size
		}
	}
	return "", 0
}

// span is a length of time for a person: two units at most, rounded.
func span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if ms == math.MinInt64 || d/time.Millisecond != time.Duration(ms) {
		return strconv.FormatInt(ms, 10) + "ms"
	}
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	day := 24 * time.Hour
	switch {
	case d.Round(time.Minute) >= day:
		d = d.Round(time.Hour)
		return join(sign, int64(d/day), "d", int64(d%day/time.Hour), "h")
	case d.Round(time.Second) >= time.Hour:
		d = d.Round(time.Minute)
		return join(sign, int64(d/time.Hour), "h", int64(d%time.Hour/time.Minute), "m")
	case d.Round(time.Second/10) >= time.Minute:
		d = d.Round(time.Second)
		return join(sign, int64(d/time.Minute), "m", int64(d%time.Minute/time.Second), "s")
	case d >= time.Second:
		return sign + strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	}
	return fmt.Sprintf("%s%dms", sign, d.Milliseconds())
}

func join(sign string, n int64, unit string, m int64, sub string) string {
	s := fmt.Sprintf("%s%d%s", sign, n, unit)
	if m > 0 {
		s += fmt.Sprintf("%d%s", m, sub)
	}
	return s
}

// roleFlag is a role that can be granted, in any case, also by its first letter.
type roleFlag string

// UnmarshalText implements the parsing of a flag.
func (r *roleFlag) UnmarshalText(b []byte) error {
	s := strings.ToLower(string(b))
	for _, full := range []crdt.Role{crdt.Read, crdt.Write, crdt.Admin} {
		if name := full.String(); s == name[:1] {
			s = name
		}
	}
	role, err := crdt.ParseRole(s)
	if err != nil {
		return err
	}
	*r = roleFlag(role.String())
	return nil
}

func clipText(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// exact is a duration as the config file takes it, in the largest unit that loses nothing.
func exact(ms int64) string {
	for _, u := range []struct {
		name string
		ms   int64
	}{{"d", 86_400_000}, {"h", 3_600_000}, {"m", 60_000}, {"s", 1000}} {
		if ms != 0 && ms%u.ms == 0 {
			return strconv.FormatInt(ms/u.ms, 10) + u.name
		}
	}
	return strconv.FormatInt(ms, 10) + "ms"
}

// exactSize is a number of bytes as the config file takes it.
func exactSize(n int64) string {
	switch {
	case n%(1<<30) == 0:
		return strconv.FormatInt(n>>30, 10) + "GiB"
	case n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "MiB"
	}
	return strconv.FormatInt(n, 10) + "B"
}
