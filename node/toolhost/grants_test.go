package toolhost

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"
)

const work = "/work"

func yes() *bool { b := true; return &b }
func no() *bool  { return new(bool) }

func list[T any](t *rapid.T, label string, one *rapid.Generator[T]) []T {
	switch rapid.IntRange(0, 3).Draw(t, label) {
	case 0:
		return nil
	case 1:
		return []T{}
	}
	return rapid.SliceOfN(one, 1, 4).Draw(t, label)
}

func drawGrants(t *rapid.T, label string) Grants {
	cmd := rapid.SampledFrom([]string{"git", "git *", "git log", "git log *", "git log -p", "git status", "ls", "*", "/bin/ls", "rm -rf *"})
	dir := rapid.SampledFrom([]string{".", "a", "a/b", "ab", "../x", "/", "/work/a/", "/data", "/data/a", "/database"})
	end := rapid.Custom(func(t *rapid.T) Endpoint {
		return Endpoint{
			Host:       rapid.SampledFrom([]string{"*", "x.org", "*.x.org", "*.a.x.org", "a.x.org", "ax.org", "X.org:443", "8.8.8.8", "*:80"}).Draw(t, "host"),
			PathPrefix: rapid.SampledFrom([]string{"", "/", "/v1", "/v1/", "/v1/a", "/v10"}).Draw(t, "prefix"),
			Methods:    list(t, "methods", rapid.SampledFrom([]string{"GET", "post", "PUT"})),
		}
	})
	return Grants{
		Shell:   ShellGrants{Allow: list(t, label+"allow", cmd), Deny: list(t, label+"deny", cmd)},
		Network: NetworkGrants{Endpoints: list(t, label+"ends", end), AllowPrivate: rapid.SampledFrom([]*bool{nil, yes(), no()}).Draw(t, "private")},
		FS:      FileGrants{AllowRead: list(t, label+"read", dir), AllowWrite: list(t, label+"write", dir)},
	}
}

// answers is what grants allow, measured from outside: one bit for each probe.
func answers(e Effective) []bool {
	var out []bool
	for _, line := range []string{"git", "git log", "git log -p", "git log -p x", "git status", "git push", "ls", "ls -l", "/bin/ls", "rm -rf x", "rm x", "make"} {
		out = append(out, checkShell(line, e.Shell) == nil)
	}
	for _, method := range []string{"GET", "POST", "DELETE"} {
		for _, u := range []string{"https://x.org/", "https://a.x.org/v1/a", "http://b.a.x.org/v1", "https://ax.org/v10", "http://x.org:443/v1/ab", "http://8.8.8.8/", "https://x.org/v1/../x"} {
			parsed, err := url.Parse(u)
			out = append(out, err == nil && e.Network.permits(method, parsed))
		}
	}
	for _, p := range []string{"/work", "/work/a", "/work/a/b/c", "/work/ab", "/x", "/data", "/data/a/f", "/database", "/etc"} {
		in := func(granted []string) bool {
			return slices.ContainsFunc(granted, func(g string) bool { return below(g, p) })
		}
		out = append(out, in(e.FS.AllowRead), in(e.FS.AllowWrite))
	}
	return append(out, *e.Network.AllowPrivate, !e.AskShell)
}

func intersect(t *rapid.T, levels ...Grants) Effective {
	e, err := Intersect(work, levels[0], levels[1], levels[2], levels[3])
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestIntersectOnlyNarrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var none Grants
		a, b, c, d := drawGrants(t, "a"), drawGrants(t, "b"), drawGrants(t, "c"), drawGrants(t, "d")
		all := intersect(t, a, b, c, d)
		got := answers(all)
		alone := answers(intersect(t, a, none, none, none))
		for _, narrower := range []Grants{b, c, d} {
			// Each level, as if the operator allowed everything.
			open := Grants{Shell: ShellGrants{Allow: []string{"*"}}, Network: NetworkGrants{AllowPrivate: yes()}, FS: FileGrants{[]string{"/"}, []string{"/"}}}
			limit := answers(intersect(t, open, narrower, none, none))
			for i, ok := range got {
				if ok && !(limit[i] && alone[i]) {
					t.Fatalf("probe %d is allowed by all levels together and not by one of them: %+v", i, all)
				}
			}
		}
		// The meet in effect is exactly "allowed by every level".
		want := answers(intersect(t, a, b, none, none))
		other := answers(intersect(t, a, c, none, none))
		third := answers(intersect(t, a, d, none, none))
		for i := range got {
			if got[i] != (want[i] && other[i] && third[i]) {
				t.Fatalf("probe %d: %v, but level by level %v %v %v", i, got[i], want[i], other[i], third[i])
			}
		}
	})
}

func TestIntersectLevelsCommute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c, d := drawGrants(t, "a"), drawGrants(t, "b"), drawGrants(t, "c"), drawGrants(t, "d")
		one := intersect(t, a, b, c, d)
		for _, other := range []Effective{intersect(t, a, c, b, d), intersect(t, a, d, c, b), intersect(t, a, b, d, c)} {
			if !slices.Equal(answers(one), answers(other)) {
				t.Fatalf("order of the narrower levels matters: %+v and %+v", one, other)
			}
		}
		x, y := a.normal(work), b.normal(work)
		if !reflect.DeepEqual(x.narrow(y), y.narrow(x)) {
			t.Fatalf("meet does not commute: %+v and %+v", x.narrow(y), y.narrow(x))
		}
	})
}

func TestIntersectIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawGrants(t, "a").normal(work)
		if got := a.narrow(a); !reflect.DeepEqual(got, a) {
			t.Fatalf("%+v met with itself is %+v", a, got)
		}
		if again := a.normal(work); !reflect.DeepEqual(again, a) {
			t.Fatalf("normal form of a normal form: %+v", again)
		}
	})
}

func TestDefaultsWhereTheOperatorIsSilent(t *testing.T) {
	var none Grants
	wide := Grants{Shell: ShellGrants{Allow: []string{"git"}}, Network: NetworkGrants{AllowPrivate: yes()}, FS: FileGrants{[]string{"/"}, []string{"/etc"}}}
	e, err := Intersect(work, none, wide, none, none)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(e.FS.AllowRead, []string{"/work"}) || len(e.FS.AllowWrite) != 0 {
		t.Errorf("a session widened the work folder to %v, %v", e.FS.AllowRead, e.FS.AllowWrite)
	}
	if !e.AskShell || *e.Network.AllowPrivate {
		t.Error("a session lifted the operator's defaults")
	}
	// Positive control: the operator himself may.
	e, err = Intersect(work, wide, none, none, none)
	if err != nil || e.AskShell || !*e.Network.AllowPrivate || e.FS.AllowRead[0] != "/" {
		t.Errorf("the operator's grants: %+v, %v", e, err)
	}
}

func TestGrantsInJSONAndYAML(t *testing.T) {
	const text = `{"shell":{"allow":["git log *"],"deny":[]},"network":{"endpoints":[{"host":"*.x.org","path_prefix":"/v1","methods":["GET"]}],"allow_private":false},"fs":{"allow_read":["."],"allow_write":[]}}`
	var g Grants
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(g); err != nil || string(b) != text {
		t.Errorf("JSON round trip: %s, %v", b, err)
	}
	if b, err := json.Marshal(Grants{}); err != nil || string(b) != "{}" {
		t.Errorf("silent grants: %s, %v", b, err)
	}
	y, err := yaml.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	var back Grants
	if err := yaml.UnmarshalWithOptions(y, &back, yaml.Strict()); err != nil || !reflect.DeepEqual(g, back) {
		t.Errorf("YAML round trip: %v\n%s%+v", err, y, back)
	}
	if back.FS.AllowWrite == nil || back.Shell.Deny == nil {
		t.Error("an empty list became none at all")
	}
}

func TestMalformedGrantsAreRefused(t *testing.T) {
	for name, g := range map[string]Grants{
		"empty command":    {Shell: ShellGrants{Deny: []string{" "}}},
		"star inside":      {Shell: ShellGrants{Allow: []string{"git * push"}}},
		"empty path":       {FS: FileGrants{AllowRead: []string{""}}},
		"zero byte":        {FS: FileGrants{AllowWrite: []string{"a\x00"}}},
		"empty host":       {Network: NetworkGrants{Endpoints: []Endpoint{{}}}},
		"host with scheme": {Network: NetworkGrants{Endpoints: []Endpoint{{Host: "https://x.org"}}}},
		"star in a name":   {Network: NetworkGrants{Endpoints: []Endpoint{{Host: "a.*.org"}}}},
		"star of address":  {Network: NetworkGrants{Endpoints: []Endpoint{{Host: "*.1.2.3.4"}}}},
		"query in prefix":  {Network: NetworkGrants{Endpoints: []Endpoint{{Host: "x.org", PathPrefix: "/a?b"}}}},
		"method":           {Network: NetworkGrants{Endpoints: []Endpoint{{Host: "x.org", Methods: []string{"GET /"}}}}},
		"port":             {Network: NetworkGrants{Endpoints: []Endpoint{{Host: "x.org:99999"}}}},
	} {
		for level := range 4 {
			var l [4]Grants
			l[level] = g
			if _, err := Intersect(work, l[0], l[1], l[2], l[3]); err == nil {
				t.Errorf("%s was accepted at level %d", name, level)
			}
		}
	}
	if _, err := Intersect("work", Grants{}, Grants{}, Grants{}, Grants{}); err == nil {
		t.Error("a relative work folder was accepted")
	}
	if _, err := Intersect(work, Grants{}, Grants{}, Grants{}, Grants{}); err != nil {
		t.Error(err)
	}
}

func FuzzGrants(f *testing.F) {
	f.Add(`{"shell":{"allow":["git"]}}`, `{"network":{"endpoints":[{"host":"*.x.org:80","methods":[]}]}}`)
	f.Add(`{"fs":{"allow_read":["../..","/"]}}`, `{"fs":{"allow_read":["."]}}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		var x, y Grants
		if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
			return
		}
		e, err := Intersect(work, x, y, y, x)
		if err != nil {
			return
		}
		// What comes out is valid, canonical, and no wider than each input.
		again, err := Intersect(work, e.Grants, e.Grants, e.Grants, e.Grants)
		if err != nil {
			t.Fatalf("the result is refused: %v", err)
		}
		again.AskShell = e.AskShell
		if !reflect.DeepEqual(again.Grants, e.Grants) {
			t.Fatalf("not idempotent: %+v and %+v", e.Grants, again.Grants)
		}
		for _, in := range []Grants{x, y} {
			one, err := Intersect(work, x, in, Grants{}, Grants{})
			if err != nil {
				t.Fatal(err)
			}
			wide, narrow := answers(one), answers(e)
			for i := range narrow {
				if narrow[i] && !wide[i] {
					t.Fatalf("probe %d got wider", i)
				}
			}
		}
	})
}
