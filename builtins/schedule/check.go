package schedule

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/routine"
)

const (
	maxID   = 128      // bytes
	maxTask = 16 << 10 // bytes

	minEvery = 30 // seconds
	minAfter = 30 // seconds
	maxAfter = 30 * 24 * 60 * 60
)

// checkID takes the ids that the engine takes and that can be typed in /schedule, in double quotes if
// they have blanks.
func checkID(id string) error {
	bad := func(c rune) bool {
		return c == '/' || c == '"' || c == utf8.RuneError || !unicode.IsGraphic(c)
	}
	if id == "" || len(id) > maxID || strings.TrimSpace(id) != id || strings.ContainsFunc(id, bad) || id[0] == '\'' {
		return refuse("check id %.60q: an id has 1 to %d bytes, no slash, double quote or control character, no blank at its ends and no quote at its start", id, maxID)
	}
	return nil
}

func checkTask(task string) error {
	if strings.TrimSpace(task) == "" {
		return refuse("check task: it is blank; say what is to be done when the schedule fires")
	}
	if len(task) > maxTask {
		return refuse("check task: %d bytes are over the limit of %d; keep long instructions in a file and name it", len(task), maxTask)
	}
	for _, c := range task {
		if unicode.IsControl(c) && c != '\n' && c != '\t' && c != '\r' {
			return refuse("check task: it has the control character %U", c)
		}
	}
	return nil
}

// cronTrigger wants an expression with a tick to come.
func cronTrigger(expr, zone string, now time.Time) (*routine.Trigger, error) {
	t, err := routine.Cron(expr, zone)
	if err != nil {
		return nil, refuse("%v", err)
	}
	if _, ok := routine.Next(t, routine.State{}, now); !ok {
		return nil, refuse("check cron: %s never fires; there is no such date", t)
	}
	return &t, nil
}

func everyTrigger(raw json.RawMessage) (*routine.Trigger, error) {
	secs, ok := whole(raw)
	if !ok || secs < minEvery {
		return nil, refuse("check every_secs: %.40q is not a whole number of at least %d", raw, minEvery)
	}
	if secs > int64(routine.MaxDelay/time.Second) {
		return nil, refuse("check every_secs: %d is over the limit of %d", secs, int64(routine.MaxDelay/time.Second))
	}
	t, err := routine.Every(time.Duration(secs) * time.Second)
	if err != nil {
		return nil, refuse("%v", err)
	}
	return &t, nil
}

func maxFires(raw json.RawMessage) (*int64, error) {
	n, ok := whole(raw)
	if !ok || n < 1 {
		return nil, refuse("check max_fires: %.40q is not a positive whole number; leave it out for no limit", raw)
	}
	return &n, nil
}

func expiry(text string, now time.Time) (*time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UTC().Year() > 9999 {
		return nil, refuse("check expires_at: %.60q is not a time in RFC 3339, such as %s", text, now.AddDate(0, 0, 7).Format(time.RFC3339))
	}
	if at = at.UTC(); !at.After(now) {
		return nil, refuse("check expires_at: %s is not in the future; it is %s now", at.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	return &at, nil
}

// whole reads a JSON number that is an integer; 3.0 is one.
func whole(raw json.RawMessage) (int64, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, n <= 1<<53 && n >= -1<<53
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// given reports whether an optional number was given.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
