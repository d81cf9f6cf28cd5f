package soak

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// The checks find what they are there for.
func TestKept(t *testing.T) {
	entry := func(id, text string) control.Entry { return control.Entry{ID: id, Content: text} }
	for want, v := range map[string]view{
		"":                              {entries: []control.Entry{entry("1", "x"), entry("2", "y"), entry("3", "unacknowledged")}},
		"1 of 2 acknowledged":           {entries: []control.Entry{entry("1", "x")}},
		"2 of 2 acknowledged":           {},
		`"x" stands there twice`:        {entries: []control.Entry{entry("1", "x"), entry("2", "y"), entry("3", "x")}},
		"lost: 2 of b":                  {entries: []control.Entry{entry("1", "x"), entry("4", "z")}},
		"1 of 2 acknowledged entries a": {entries: []control.Entry{entry("2", "y")}},
	} {
		led := newLedger()
		led.acked("1", "a")
		led.acked("2", "b")
		err := kept(v, led)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", v.entries, err, want)
		}
		if led.begin(); kept(v, led) != nil && !strings.Contains(want, "twice") {
			t.Error("what belongs to the session before is missed")
		}
	}
}

func TestSame(t *testing.T) {
	p, q := &daemon{name: "p"}, &daemon{name: "q"}
	make := func(heads, on, text string) view {
		v := view{entries: []control.Entry{{ID: "1", Content: text}}}
		v.show.Heads = control.List[string]{heads}
		v.show.Extensions = control.List[control.ExtensionState]{
			{Name: "memory", Ref: json.RawMessage(`{}`), SessionActive: on == "on"},
			{Name: "other", State: text}, // the rest is each peer's own view
		}
		return v
	}
	a := make("h", "on", "x")
	for want, b := range map[string]view{
		"":                 make("h", "on", "x"),
		"different ones":   make("i", "on", "x"),
		"active sets":      make("h", "off", "x"),
		"different conver": make("h", "on", "y"),
	} {
		err := same(p, q, a, b)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", b, err, want)
		}
	}
}

func TestReport(t *testing.T) {
	r := Report{Faults: map[Fault]int{FaultKill: 2, FaultLoss: 0, FaultFull: 0}}
	if got := r.Vacuous(); !slices.Equal(got, []Fault{FaultFull, FaultLoss}) {
		t.Errorf("without effect: %v", got)
	}
	var back Report
	if err := json.Unmarshal([]byte(r.Line()), &back); err != nil || back.Faults[FaultKill] != 2 || strings.Contains(r.Line(), "\n") {
		t.Errorf("%s: %v", r.Line(), err)
	}
	if got := summed([]time.Duration{3 * time.Second, time.Second, 2 * time.Second}); got != (Times{2000, 3000}) {
		t.Errorf("%+v", got)
	}
	if got := summed(nil); got != (Times{}) {
		t.Errorf("%+v", got)
	}
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"no program": {Dir: t.TempDir()},
		"no folder":  {Exe: "x"},
		"1 peers":    {Exe: "x", Dir: t.TempDir(), Peers: 1},
		"27 peers":   {Exe: "x", Dir: t.TempDir(), Peers: 27},
	} {
		r, err := Run(t.Context(), o)
		if want = strings.TrimSuffix(want, " folder"); err == nil || !strings.Contains(err.Error(), want) || r.OK || r.Failure == "" {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	r, err := Run(t.Context(), Options{Exe: "/nowhere/chaz-peer", Dir: t.TempDir(), Time: time.Second})
	if err == nil || r.OK || r.Rounds != 0 {
		t.Errorf("a program that is not there: %+v, %v", r, err)
	}
}

// Every fault of the menu is dealt once before one comes again.
func TestDeal(t *testing.T) {
	s := &soak{menu: append(processes(), networks()...), rng: newWeather(1).rng}
	count := map[Fault]int{}
	for range 200 {
		hand := s.deal()
		network := true
		for _, x := range hand {
			count[x.fault]++
			lasts := slices.Contains([]Fault{FaultPartition, FaultOneWay, FaultLoss, FaultDuplicate, FaultDelay}, x.fault)
			if lasts && !network {
				t.Fatalf("%s comes behind a fault that is over at once", x.fault)
			}
			network = lasts
		}
	}
	least, most := 1<<30, 0
	for _, x := range s.menu {
		least, most = min(least, count[x.fault]), max(most, count[x.fault])
	}
	if least < 30 || most > least+2 {
		t.Errorf("dealt unevenly: %v", count)
	}
}
