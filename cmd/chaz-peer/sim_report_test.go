package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// element is one element of a report with the text right in it.
type element struct {
	name, text string
	attr       map[string]string
}

// elements reads a report, which must be well-formed XML, so that every browser reads it in the same way.
func elements(t testing.TB, page []byte) []element {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(page))
	var all []element
	var open []int
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			e := element{name: tok.Name.Local, attr: map[string]string{}}
			for _, a := range tok.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			open = append(open, len(all))
			all = append(all, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				all[open[len(open)-1]].text += string(tok)
			}
		}
	}
}

// having are the texts of elements with a name and, if it is not empty, a class.
func having(all []element, name, class string) []string {
	var out []string
	for _, e := range all {
		if e.name == name && (class == "" || slices.Contains(strings.Fields(e.attr["class"]), class)) {
			out = append(out, e.text)
		}
	}
	return out
}

func reportOf(t *testing.T, code int, args ...string) (string, []element) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.html")
	if r := lab(t, nil).do(append([]string{"sim", "--report", path}, args...)...); r.code != code || !strings.Contains(r.out, path) {
		t.Fatalf("exit %d, %s%s", r.code, r.out, r.err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	checkAlone(t, string(page))
	all := elements(t, page)
	checkPlaces(t, all)
	return string(page), all
}

// checkAlone: a report needs nothing but itself, and runs nothing.
func checkAlone(t testing.TB, page string) {
	t.Helper()
	for _, bad := range []string{"<script", "<link", "<img", "<iframe", "<object", "@import", "url(", "http://", "https://", "javascript:", " onload="} {
		if strings.Contains(page, bad) {
			t.Errorf("the report has %q", bad)
		}
	}
	for _, need := range []string{"prefers-color-scheme: dark", `content="default-src 'none'; style-src 'unsafe-inline'"`, `name="viewport"`} {
		if !strings.Contains(page, need) {
			t.Errorf("the report has no %q", need)
		}
	}
}

// checkPlaces: everything drawn lies within its picture.
func checkPlaces(t testing.TB, all []element) {
	t.Helper()
	width, height := 0.0, 0.0
	num := func(e element, name string) float64 {
		x, err := strconv.ParseFloat(e.attr[name], 64)
		if err != nil && e.attr[name] != "" {
			t.Errorf("%s %s=%q", e.name, name, e.attr[name])
		}
		return x
	}
	for _, e := range all {
		switch e.name {
		case "svg":
			width, height = num(e, "width"), num(e, "height")
			if width < 100 || height < 50 || width > 1e5 {
				t.Errorf("a picture of %.0f by %.0f", width, height)
			}
		case "rect", "text", "circle", "line":
			x := max(num(e, "x")+num(e, "width"), num(e, "cx")+num(e, "r"), num(e, "x1"), num(e, "x2"))
			y := max(num(e, "y")+num(e, "height"), num(e, "cy")+num(e, "r"), num(e, "y1"), num(e, "y2"))
			if x > width+1 || y > height+1 || num(e, "x") < -0.1 || num(e, "y") < -0.1 || num(e, "width") < 0 {
				t.Errorf("%v is outside of its picture of %.0f by %.0f", e, width, height)
			}
		}
	}
}

func TestReportShowsAStory(t *testing.T) {
	_, all := reportOf(t, exitOK, "--scenario", scenarioFolder+"/opposite-switches.yaml")
	if got := having(all, "text", "peer"); !slices.Equal(got, []string{"laptop", "server"}) {
		t.Errorf("lanes %v", got)
	}
	if got := having(all, "h2", ""); !slices.Equal(got, []string{"opposite switches across a partition"}) {
		t.Errorf("titles %v", got)
	}
	if n := len(having(all, "circle", "event")); n != 7 {
		t.Errorf("%d events", n)
	}
	var tips []string
	for i, e := range all {
		if e.name == "title" && all[i-1].name == "rect" {
			tips = append(tips, e.text)
		}
	}
	for _, want := range []string{"laptop – server: cut from 6 s to 20 s", "laptop believes notes active from 1 s to 8 s"} {
		if !slices.Contains(tips, want) {
			t.Errorf("no bar says %q: %q", want, tips)
		}
	}
	if got := having(all, "strong", ""); !slices.Equal(got, []string{"Held."}) {
		t.Errorf("verdict %v", got)
	}
	if n := len(having(all, "rect", "failed")); n != 0 {
		t.Errorf("%d lanes are marked as failed", n)
	}
}

func TestReportShowsAFailure(t *testing.T) {
	text, err := os.ReadFile(scenarioFolder + "/opposite-switches.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := writeStory(t, strings.Replace(string(text), "active: [maps, notes], scratch", "active: [maps], inactive: [notes], scratch", 1))
	page, all := reportOf(t, exitError, "--scenario", file)
	if got := having(all, "strong", ""); !slices.Equal(got, []string{"Failed."}) {
		t.Errorf("verdict %v", got)
	}
	if n := len(having(all, "line", "failline")); n != 1 || len(having(all, "rect", "failed")) != 2 {
		t.Errorf("%d failures are marked", n)
	}
	for _, want := range []string{"all members: active: maps; not active: notes", "expect 1: notes is active", "chaz-peer sim --replay 0 --scenario &#39;" + file + "&#39;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
}

// Runs from seeds: the first failures, by the shortest way to each; without any the first run as a sample.
func TestReportOfSeeds(t *testing.T) {
	_, all := reportOf(t, exitOK, "--seeds", "3", "--steps", "10", "--core", "never", "--faults", "partition,clock_jump")
	if got := having(all, "h2", ""); !slices.Equal(got, []string{"Seed 1"}) || len(having(all, "text", "peer")) != 3 {
		t.Errorf("titles %v", got)
	}
	path := filepath.Join(t.TempDir(), "out.html")
	play := failingIf(func(uint64) bool { return true })
	if r := lab(t, play).do("sim", "--seeds", "5", "--steps", "10", "--core", "never", "--faults", "none", "--report", path); r.code != exitError {
		t.Fatalf("exit %d, %s", r.code, r.err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all = elements(t, page)
	if got := having(all, "h2", ""); !slices.Equal(got, []string{"Seed 1", "Seed 2", "Seed 3"}) {
		t.Errorf("titles %v", got)
	}
	if n := len(having(all, "line", "failline")); n != 3 {
		t.Errorf("%d failures are marked", n)
	}
}

func TestReportThatCannotBeWritten(t *testing.T) {
	r := lab(t, nil).do("sim", "--seeds", "1", "--steps", "1", "--core", "never", "--report", t.TempDir())
	if r.code != exitError || !strings.Contains(r.err, "write report") {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
}

// hostileText tries to leave its place in a page.
const hostileText = `<script>alert(1)</script>"'>&lt;]]><svg onload=x>` + "\x00\x1b\u202e\n]]>"

func TestReportEscapesHostileText(t *testing.T) {
	at := int64(1_786_000_000_000)
	name := strings.ReplaceAll(hostileText, " ", "")
	r := &sim.Result{
		Seed:    1,
		Failure: &sim.Failure{Invariant: "<b>", Peer: name, Detail: hostileText, At: 900, Repro: hostileText},
		Timeline: &sim.Timeline{
			Start: at, End: at + 1000,
			Links: []sim.LinkSpan{{A: 0, B: 1, State: "cut", Span: sim.Span{From: at + 10, To: at + 500}}},
			Marks: []sim.Mark{{At: at + 5, Kind: hostileText, Text: hostileText}},
		},
	}
	for _, n := range []string{name, "b"} {
		r.Timeline.Peers = append(r.Timeline.Peers, sim.Lane{
			Name: n, Clock: []sim.ClockPoint{{True: at, Own: -1 << 63}, {True: at + 1000, Own: 1<<63 - 1}},
			Down:    []sim.Span{{From: at + 100, To: at + 300}},
			Marks:   []sim.Mark{{At: at + 50, Own: -1 << 63, Kind: "post", Text: hostileText}, {At: at + 60, Kind: hostileText, Text: hostileText}},
			Beliefs: []sim.Belief{{At: at, Active: []string{hostileText}}, {At: at + 700, Active: []string{}}},
		})
	}
	story := &simStory{file: hostileText, Scenario: &sim.Scenario{
		Name: hostileText, About: hostileText, Expect: []sim.Expect{{Active: []string{hostileText}}}, Steps: []sim.Step{{Do: "post", Peer: name, Text: hostileText}},
	}}
	page, err := reportHTML([]simView{{title: hostileText, story: story, result: r, note: hostileText}, {title: "x", result: r}}, sim.NewSummary(), hostileText)
	if err != nil {
		t.Fatal(err)
	}
	all := elements(t, page)
	checkPlaces(t, all)
	if strings.Contains(string(page), "<script") || bytes.ContainsAny(page, "\x00\x1b\u202e") || len(having(all, "script", "")) != 0 {
		t.Error("hostile text got out")
	}
	for _, e := range all {
		for name := range e.attr {
			if strings.HasPrefix(name, "on") {
				t.Errorf("%s has %s", e.name, name)
			}
		}
	}
	if got := having(all, "text", "peer"); len(got) != 4 || !strings.HasPrefix(got[0], "<script>") {
		t.Errorf("lanes %q", got)
	}
}

// Later is always further to the right, and events of one peer do not cover each other.
func TestTimeScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tl := &sim.Timeline{Start: rapid.Int64Range(0, 1e13).Draw(t, "start")}
		tl.End = tl.Start
		for i := range rapid.IntRange(1, 4).Draw(t, "peers") {
			l := sim.Lane{Name: fmt.Sprint(i)}
			at := tl.Start
			for range rapid.IntRange(0, 12).Draw(t, "events") {
				at += rapid.Int64Range(0, rapid.SampledFrom([]int64{3, 300, 30_000, 1e12}).Draw(t, "order")).Draw(t, "gap")
				l.Marks = append(l.Marks, sim.Mark{At: at, Kind: "post", Text: fmt.Sprint(len(l.Marks))})
			}
			tl.End = max(tl.End, at)
			tl.Peers = append(tl.Peers, l)
		}
		events := eventsOf(tl)
		s := newScale(tl, events)
		before := events[:0:0]
		for _, e := range events {
			x := s.place(e.at)
			if x < 0 || x > s.width() {
				t.Fatalf("%d is at %f of %f", e.at, x, s.width())
			}
			for _, b := range before {
				if y := s.place(b.at); b.at < e.at && y >= x || b.at == e.at && y != x {
					t.Fatalf("%d at %f, %d at %f", b.at, y, e.at, x)
				}
				if b.lane == e.lane && b.at < e.at && x-s.place(b.at) < 0.77*eventWide {
					t.Fatalf("two events of a peer %f apart", x-s.place(b.at))
				}
			}
			before = append(before, e)
		}
		for i, k := range s.ticks(70) {
			if i > 0 && k.x < s.ticks(70)[i-1].x+70 {
				t.Fatal("labels of the axis overlap")
			}
		}
	})
}

// Labels of one lane do not run into each other.
func TestLabelsHaveRoom(t *testing.T) {
	lab, err := sim.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	labels := 0
	for seed := uint64(1); seed <= 12; seed++ {
		r, err := lab.Run(t.Context(), sim.Options{Seed: seed, Core: sim.CoreNever, Timeline: true})
		if err != nil {
			t.Fatal(err)
		}
		p := newPicture(&r, nil)
		for lane := range r.Timeline.Peers {
			signs, levels := p.place(lane)
			ends := make([]float64, levels)
			for _, s := range signs {
				if s.level < 0 {
					continue
				}
				for l := range s.level + 1 { // the label, and below it the stem
					if s.x < ends[l] {
						t.Errorf("seed %d: %q runs into what stands before it", seed, s.short)
					}
				}
				ends[s.level] = s.x + textWide(labelOf(s.simEvent))
				labels++
			}
		}
	}
	if labels < 100 {
		t.Errorf("only %d labels", labels)
	}
}

func TestWordsOfTimesAndClocks(t *testing.T) {
	const day = 86_400_000
	for got, want := range map[string]string{
		since(0): "0 s", since(1500): "1.5 s", since(59_999): "59.999 s", since(61_000): "1 min 01 s", since(3_723_000): "1 h 02 min 03 s",
		offsetText(5, 5): "right", offsetText(5, 1005): "1.0s behind", offsetText(365*day+7, 7): "365d ahead", offsetText(72*365*day, 0): "72 years ahead",
		offsetText(-1<<63, 1): "beyond all calendars", offsetText(1<<63-1, -1): "beyond all calendars",
		clockText(1_786_000_000_000): "2026-08-06 07:06:40", clockText(1<<63 - 1): "9223372036854775807",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if hintOf("it believes [a@12 -b]") == "" || hintOf("it believes []") == "" || hintOf("5 entries, want 6") != "" {
		t.Error("hints are wrong")
	}
}
