package routine

import "time"

// Retries of a one-shot that failed: the first after retryFirst, each further one after twice as
// long, never more than retryMax.
const (
	retryFirst = 30 * time.Second
	retryMax   = 10 * time.Minute
)

// State is what the next fire depends on besides the trigger and the clock.
type State struct {
	Created       time.Time // zero: unknown
	LastCompleted time.Time // zero: never completed
	Failures      int       // in a row
}

// Next is the instant of the next fire, in UTC; false if there is none. It never lies before now.
//
//   - cron: the first tick strictly after now. Missed ticks are skipped.
//   - interval: the last completion (or, before the first fire, the creation) plus the delay. Overdue
//     is now, once. A stamp from the future counts as now, so that a clock that was ahead for a
//     while delays a fire by one delay at most.
//   - one-shot: its instant; in the past is now. After a failure, the last completion plus 30 s that
//     double with each further failure up to 10 min.
func Next(t Trigger, s State, now time.Time) (time.Time, bool) {
	var at time.Time
	switch t.kind {
	case KindCron:
		return t.cron.next(now)
	case KindInterval:
		from := s.LastCompleted
		if from.IsZero() {
			from = s.Created
		}
		if from.IsZero() {
			from = now
		}
		at = earlier(from, now).Add(t.delay)
	case KindOneShot:
		at = t.at
		if s.Failures > 0 {
			if retry := earlier(s.LastCompleted, now).Add(Retry(s.Failures)); retry.After(at) {
				at = retry
			}
		}
	default:
		return time.Time{}, false
	}
	if at.Before(now) {
		at = now
	}
	return at.UTC(), true // UTC drops the monotonic part, which would not see a jump
}

// Retry is the pause before the next try after failures in a row.
func Retry(failures int) time.Duration {
	pause := retryFirst
	for range min(failures-1, 10) {
		pause = min(2*pause, retryMax)
	}
	return pause
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
