package control_test

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/node/control"
)

func TestTimeText(t *testing.T) {
	for ms, want := range map[int64]string{
		0:               "1970-01-01T00:00:00.000Z",
		1767639600123:   "2026-01-05T19:00:00.123Z",
		253402300799999: "9999-12-31T23:59:59.999Z",
		253402300800000: "253402300800000",
		-62167219200000: "0000-01-01T00:00:00.000Z",
		-62167219200001: "-62167219200001",
		math.MaxInt64:   "9223372036854775807",
		math.MinInt64:   "-9223372036854775808",
	} {
		if got := control.Time(ms).String(); got != want {
			t.Errorf("%d is %s, want %s", ms, got, want)
		}
	}
	for _, bad := range []string{"", "yesterday", "2026-01-05", "1e3", "9223372036854775808"} {
		var at control.Time
		if err := at.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q reads as %v", bad, at)
		}
	}
}

func TestTimeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := control.Time(rapid.Int64().Draw(t, "ms"))
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out control.Time
		if err := json.Unmarshal(b, &out); err != nil || out != in {
			t.Fatalf("%d → %s → %d, %v", in, b, out, err)
		}
	})
}

func TestListIsNeverNull(t *testing.T) {
	b, err := json.Marshal(control.Document{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"","kind":"","name":"","heads":[],"stored_on":0,"peers":[]}`
	if string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
}
