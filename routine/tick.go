package routine

import "time"

// Wall time is what a clock in the zone shows, as the seconds that UTC has when it shows the same.
// A cron expression matches wall seconds; a tick is an instant. The two meet in one rule: an
// instant is a tick when a matching wall second lies above every wall second shown before it and
// not above the one it shows. So a wall time that the zone skips ticks at the first instant after
// the gap, and one that it shows twice ticks at the first.

const (
	// maxShift is more than any zone was ever away from UTC, and than any was ever set back, in
	// seconds.
	maxShift = 48 * 60 * 60
	// maxSearch is how many days are searched for a match: the longest gap is that of 29 February
	// around a year that is no leap year, eight years.
	maxSearch = 9 * 366
	maxYear   = 9999
)

// next is the first tick strictly after now.
func (c *cron) next(now time.Time) (time.Time, bool) {
	wall, ok := c.match(shownUpTo(now.Unix(), c.zone))
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(firstShown(wall, c.zone), 0).UTC(), true
}

// match is the first matching wall second strictly after wall.
func (c *cron) match(wall int64) (int64, bool) {
	t := time.Unix(wall+1, 0).UTC()
	second := t.Hour()*3600 + t.Minute()*60 + t.Second()
	t = t.Add(-time.Duration(second) * time.Second)
	for last := t.AddDate(0, 0, maxSearch); t.Before(last); {
		year, month, day := t.Date()
		if year > maxYear {
			return 0, false
		}
		if !c.month.has(int(month)) {
			second = 0
			t = t.AddDate(0, 1, 1-day)
			continue
		}
		if c.matchesDay(day, t.Weekday()) {
			if s := c.inDay(second); s >= 0 {
				return t.Unix() + int64(s), true
			}
		}
		second = 0
		t = t.AddDate(0, 0, 1)
	}
	return 0, false
}

func (c *cron) matchesDay(day int, weekday time.Weekday) bool {
	inMonth, inWeek := c.day.has(day), c.weekday.has(int(weekday))
	if !c.dayFree && !c.weekdayFree {
		return inMonth || inWeek
	}
	return inMonth && inWeek
}

// inDay is the first matching second of a day that is at least from, or -1.
func (c *cron) inDay(from int) int {
	h, m, s := from/3600, from/60%60, from%60
	for hour := c.hour.next(h); hour >= 0; hour = c.hour.next(hour + 1) {
		if hour > h {
			m, s = 0, 0
		}
		for minute := c.minute.next(m); minute >= 0; minute = c.minute.next(minute + 1) {
			if hour > h || minute > m {
				s = 0
			}
			if second := c.second.next(s); second >= 0 {
				return hour*3600 + minute*60 + second
			}
		}
	}
	return -1
}

// shownUpTo is the latest wall second that the zone has shown at the instant sec or before.
func shownUpTo(sec int64, zone *time.Location) int64 {
	t := time.Unix(sec, 0).In(zone)
	latest := wallOf(t)
	for {
		start, _ := t.ZoneBounds()
		if start.IsZero() || sec-start.Unix() > maxShift {
			return latest
		}
		t = start.Add(-time.Second)
		latest = max(latest, wallOf(t))
	}
}

// firstShown is the first instant at which the zone shows the wall second or a later one.
func firstShown(wall int64, zone *time.Location) int64 {
	t := time.Unix(wall-maxShift, 0).In(zone)
	for {
		_, offset := t.Zone()
		_, end := t.ZoneBounds()
		at := max(wall-int64(offset), t.Unix())
		if end.IsZero() || at < end.Unix() {
			return at
		}
		t = end
	}
}

func wallOf(t time.Time) int64 {
	_, offset := t.Zone()
	return t.Unix() + int64(offset)
}
