package sim

import (
	"slices"
	"testing"
)

func TestTimeline(t *testing.T) {
	s := parseStory(t, `{"name": "x", "peers": [{"name": "anna"}, {"name": "ben", "clock": {"offset": "-1h"}}], "steps": [
		{"do": "wait"},
		{"at": "20s", "do": "partition", "peer": "anna", "with": "ben"},
		{"at": "21s", "do": "on", "peer": "anna", "name": "notes"},
		{"at": "22s", "do": "jump", "peer": "ben", "by": "1h"},
		{"at": "23s", "do": "stop", "peer": "ben", "for": "1s"},
		{"at": "30s", "do": "heal"}]}`)
	lab := newLab(t)
	tl := play(t, lab, Options{Scenario: s, Timeline: true}).Timeline
	if tl == nil || len(tl.Peers) != 2 || tl.Start != epoch {
		t.Fatalf("%+v", tl)
	}
	if len(tl.Links) != 1 || tl.Links[0].State != "cut" || tl.Links[0].From != epoch+20_000 || tl.Links[0].To != epoch+30_000 {
		t.Errorf("links %+v", tl.Links)
	}
	anna, ben := tl.Peers[0], tl.Peers[1]
	if len(ben.Clock) != 3 || ben.Clock[0].Own != ben.Clock[0].True-3_600_000 || ben.Clock[1].Own != ben.Clock[1].True {
		t.Errorf("clock of ben %+v", ben.Clock)
	}
	if len(ben.Down) != 1 || ben.Down[0] != (Span{epoch + 23_000, epoch + 24_000}) {
		t.Errorf("ben was down %+v", ben.Down)
	}
	if !slices.ContainsFunc(anna.Marks, func(m Mark) bool { return m.Kind == "on" && m.Text == "notes" && m.At == epoch+21_000 && m.Step == 2 }) {
		t.Errorf("marks of anna %+v", anna.Marks)
	}
	heard := slices.IndexFunc(ben.Beliefs, func(b Belief) bool { return slices.Equal(b.Active, []string{"notes"}) })
	if heard < 0 || ben.Beliefs[heard].At < epoch+30_000 {
		t.Errorf("ben believed %+v", ben.Beliefs)
	}
	if r := play(t, lab, Options{Scenario: s}); r.Timeline != nil {
		t.Error("a timeline that nobody asked for")
	}
}

// TestTimelineOfFailure: a failing run says where it failed.
func TestTimelineOfFailure(t *testing.T) {
	lab := newLab(t)
	opt := Options{Core: CoreNever, Timeline: true, rules: mutants()["arrival order"]}
	for opt.Seed = 1; opt.Seed < 50; opt.Seed++ {
		r := play(t, lab, opt)
		if r.Failure == nil {
			continue
		}
		marks := slices.Clone(r.Timeline.Marks)
		for _, l := range r.Timeline.Peers {
			marks = append(marks, l.Marks...)
		}
		if !slices.ContainsFunc(marks, func(m Mark) bool { return m.Kind == "failure" }) {
			t.Error("the failure is not in the timeline")
		}
		return
	}
	t.Error("nothing failed")
}
