package extension_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
)

// kinds are the powers that narrow keeps; the last keeps all.
const kinds = 9

// narrow keeps powers of one kind, so that one set is often within another.
func narrow(c extension.GuestCaps, kind int) extension.GuestCaps {
	switch kind {
	case 0:
		return extension.GuestCaps{Net: c.Net}
	case 1:
		return extension.GuestCaps{FS: c.FS}
	case 2:
		return extension.GuestCaps{Secrets: c.Secrets, Caps: c.Caps}
	case 3:
		return extension.GuestCaps{Settings: c.Settings, Memory: c.Memory}
	case 4:
		return extension.GuestCaps{SessionRead: c.SessionRead, KV: c.KV}
	case 5:
		return extension.GuestCaps{SessionWrite: c.SessionWrite, Messenger: c.Messenger}
	case 6:
		return extension.GuestCaps{LLM: c.LLM}
	case 7:
		return extension.GuestCaps{Hooks: c.Hooks}
	}
	return c
}

// anyCaps draws valid powers from small alphabets, so that sets overlap.
func anyCaps() *rapid.Generator[extension.GuestCaps] {
	return rapid.Custom(func(t *rapid.T) extension.GuestCaps {
		some := func(label string, from ...string) []string {
			var out []string
			for _, s := range from {
				if rapid.IntRange(0, 2).Draw(t, label+" "+s) == 0 {
					out = append(out, s)
				}
			}
			return out
		}
		access := rapid.SampledFrom([]extension.GuestAccess{"", extension.GuestRead, extension.GuestWrite})
		c := extension.GuestCaps{
			Net:          some("net", "a.org", "a.org:443", "a.org:80", "x.a.org", "*.a.org", "*.x.a.org", "*.a.org:8443", "y.x.a.org:8443", "127.0.0.1:9", "[::1]:80", "[::1]"),
			Secrets:      some("secrets", "KEY", "key", "a.b-c_d"),
			Settings:     access.Draw(t, "settings"),
			SessionRead:  rapid.SampledFrom([]int{-1, 0, 1, 20, 1000}).Draw(t, "session_read"),
			SessionWrite: rapid.Bool().Draw(t, "session_write"),
			KV:           rapid.SampledFrom([]int64{0, 1, 1000, 1024, 65536, 1 << 20, 3 << 19, 1 << 30}).Draw(t, "kv"),
			Memory:       access.Draw(t, "memory"),
			Messenger:    rapid.Bool().Draw(t, "messenger"),
			Caps:         some("caps", "a/b", "acme/translate"),
		}
		for _, id := range some("fs", "notes", "code") {
			c.FS = append(c.FS, extension.GuestMount{ID: id, Path: "/" + id, Write: rapid.Bool().Draw(t, "write")})
		}
		if rapid.Bool().Draw(t, "llm") {
			c.LLM = &extension.GuestLLM{CallsPerDay: rapid.IntRange(1, 3).Draw(t, "calls"), TokensPerDay: rapid.Int64Range(1, 3).Draw(t, "tokens")}
		}
		for _, k := range some("hooks", "tool_call", "tool_result", "before_agent_start") {
			if c.Hooks == nil {
				c.Hooks = map[extension.HookKind]extension.GuestHook{}
			}
			c.Hooks[extension.HookKind(k)] = rapid.SampledFrom([]extension.GuestHook{extension.GuestObserve, extension.GuestModify}).Draw(t, "reach")
		}
		return c
	})
}

func text(t interface{ Fatal(...any) }, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func equalCaps(t interface{ Fatal(...any) }, a, b extension.GuestCaps) bool {
	return text(t, a.Normal()) == text(t, b.Normal())
}

func TestGuestCapsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyCaps().Draw(t, "a"), anyCaps().Draw(t, "b"), anyCaps().Draw(t, "c")
		if err := a.Validate(); err != nil {
			t.Fatalf("the generator makes faulty powers: %v", err)
		}
		for kind := range kinds {
			checkLaws(t, narrow(a, kind), narrow(b, kind), narrow(c, kind))
		}
	})
}

func checkLaws(t *rapid.T, a, b, c extension.GuestCaps) {
	both := a.Intersect(b)
	for what, holds := range map[string]bool{
		"a ⊆ a":                         a.Subset(a),
		"none ⊆ a":                      extension.GuestCaps{}.Subset(a),
		"a∩b ⊆ a":                       both.Subset(a),
		"a∩b ⊆ b":                       both.Subset(b),
		"a∩b = b∩a":                     equalCaps(t, both, b.Intersect(a)),
		"a∩a = a":                       equalCaps(t, a.Intersect(a), a),
		"(a∩b)∩c = a∩(b∩c)":             equalCaps(t, both.Intersect(c), a.Intersect(b.Intersect(c))),
		"a ⊆ a∪b":                       a.Subset(a.Union(b)),
		"b ⊆ a∪b":                       b.Subset(a.Union(b)),
		"a ⊆ b ⇔ a∩b = a":               a.Subset(b) == equalCaps(t, both, a),
		"c ⊆ a and c ⊆ b ⇒ c ⊆ a∩b":     !(c.Subset(a) && c.Subset(b)) || c.Subset(both),
		"a ⊆ b and b ⊆ a ⇒ equal":       !(a.Subset(b) && b.Subset(a)) || equalCaps(t, a, b),
		"equal words ⇔ equal powers":    slices.Equal(a.Words(), b.Words()) == equalCaps(t, a, b),
		"none ⇔ no words":               a.IsZero() == (len(a.Words()) == 0),
		"the intersection is valid":     both.Validate() == nil,
		"the normal form is a fixpoint": text(t, a.Normal()) == text(t, a.Normal().Normal()),
		"a clone is equal":              equalCaps(t, a.Clone(), a),
		"a∩none = none":                 a.Intersect(extension.GuestCaps{}).IsZero(),
	} {
		if !holds {
			t.Fatalf("%s does not hold for a=%s b=%s c=%s", what, text(t, a), text(t, b), text(t, c))
		}
	}
}

// What is typed, printed and written as JSON is one and the same.
func TestGuestCapsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyCaps().Draw(t, "a")
		var typed extension.GuestCaps
		for _, f := range a.Flags() {
			one, err := extension.ParseGuestCap(f)
			if err != nil {
				t.Fatal(err)
			}
			typed = typed.Union(one)
		}
		var read extension.GuestCaps
		if err := json.Unmarshal([]byte(text(t, a)), &read); err != nil {
			t.Fatal(err)
		}
		if !equalCaps(t, a, typed) || !equalCaps(t, a, read) {
			t.Fatalf("%s: typed %s, read %s", text(t, a), text(t, typed), text(t, read))
		}
	})
}

// Diff names exactly what tells two sets of powers apart.
func TestGuestCapsDiff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyCaps().Draw(t, "a"), anyCaps().Draw(t, "b")
		added, removed := b.Diff(a)
		then := slices.DeleteFunc(slices.Clone(a.Words()), func(s string) bool { return slices.Contains(removed, s) })
		now := slices.Sorted(slices.Values(append(then, added...)))
		if !slices.Equal(now, slices.Sorted(slices.Values(b.Words()))) {
			t.Fatalf("from %s to %s: added %q removed %q", text(t, a), text(t, b), added, removed)
		}
	})
}

func TestAllowsHost(t *testing.T) {
	c := extension.GuestCaps{Net: []string{"api.example.com", "*.a.b", "local.example.com:8443", "10.0.0.1", "[::1]:8080"}}
	for _, x := range []struct {
		host string
		port int
		want bool
	}{
		{"api.example.com", 443, true},
		{"API.Example.COM", 80, true},
		{"api.example.com", 8443, false},
		{"api.example.com.evil.org", 443, false},
		{"xapi.example.com", 443, false},
		{"x.a.b", 443, true},
		{"y.x.a.b", 80, true},
		{"a.b", 443, false},
		{"xa.b", 443, false},
		{"*.a.b", 443, false},
		{".a.b", 443, false},
		{"x.a.b", 0, false},
		{"x.a.b", 65536 + 443, false},
		{"local.example.com", 8443, true},
		{"local.example.com", 443, false},
		{"10.0.0.1", 443, true},
		{"10.0.0.10", 443, false},
		{"::1", 8080, true},
		{"[0:0::1]", 8080, true},
		{"::1", 443, false},
		{"", 443, false},
	} {
		if got := c.AllowsHost(x.host, x.port); got != x.want {
			t.Errorf("AllowsHost(%q, %d) = %v", x.host, x.port, got)
		}
	}
}

func TestGuestCapsStrict(t *testing.T) {
	good := `{"net":["api.example.com"],"llm":{"calls_per_day":1,"tokens_per_day":2},"fs":[{"id":"a","path":"/a"}],"hooks":{"tool_call":"observe"}}`
	var c extension.GuestCaps
	if err := json.Unmarshal([]byte(good), &c); err != nil || len(c.Net) != 1 || c.LLM.TokensPerDay != 2 || c.FS[0].ID != "a" {
		t.Fatal(err, c)
	}
	for _, bad := range []string{
		`{"nett":["x.org"]}`, `{"Net":["x.org"]}`, `{"net":["x.org"],"net":[]}`, `{"net":null}`, `[]`, `null`, `"net"`,
		`{"llm":{"calls_per_day":1,"tokens_per_day":2,"money":3}}`, `{"llm":{"calls_per_day":1,"calls_per_day":2,"tokens_per_day":2}}`,
		`{"fs":[{"id":"a","path":"/a","Write":true}]}`, `{"hooks":{"tool_call":"observe","tool_call":"modify"}}`,
		`{"hooks":{"tool_cal":"observe"}}`, `{"session_read":"all"}`, `{"kv":1.5}`, `{"net":["x.org"]} {}`,
	} {
		var c extension.GuestCaps
		if err := json.Unmarshal([]byte(bad), &c); err == nil {
			t.Errorf("%s was read as %+v", bad, c)
		}
	}
	var l extension.GuestLimits
	if err := json.Unmarshal([]byte(`{"memory_bytes":65536}`), &l); err != nil || l.MemoryBytes != 65536 {
		t.Error(err, l)
	}
	if err := json.Unmarshal([]byte(`{"memory":65536}`), &l); err == nil {
		t.Error("an unknown limit was read")
	}
}

func TestGuestCapsValidate(t *testing.T) {
	for _, x := range []struct {
		caps, want string
	}{
		{`{"net":["*"]}`, "first label"},
		{`{"net":["*.com"]}`, "two labels"},
		{`{"net":["a.*.org"]}`, "first label"},
		{`{"net":["API.org"]}`, "lower case"},
		{`{"net":["a.org:0"]}`, "port"},
		{`{"net":["a.org:0443"]}`, "port"},
		{`{"net":["a.org:70000"]}`, "port"},
		{`{"net":["https://a.org"]}`, "port"},
		{`{"net":["a.org/x"]}`, "host name"},
		{`{"net":["user@a.org"]}`, "host name"},
		{`{"net":["a..org"]}`, "host name"},
		{`{"net":["-a.org"]}`, "host name"},
		{`{"net":["ä.org"]}`, "host name"},
		{`{"net":["1.2.3"]}`, "looks like an address"},
		{`{"net":["*.0.0.1"]}`, "looks like an address"},
		{`{"net":["::1"]}`, "port"},
		{`{"net":["[::0001]"]}`, "short form"},
		{`{"net":["[::ffff:1.2.3.4]"]}`, "short form"},
		{`{"net":["[::1"]}`, ""},
		{`{"net":[""]}`, "host name"},
		{`{"net":["a.org","a.org"]}`, "twice"},
		{`{"fs":[{"id":"A","path":"/a"}]}`, "id"},
		{`{"fs":[{"id":"a","path":"a"}]}`, "absolute"},
		{`{"fs":[{"id":"a","path":"/a/../b"}]}`, "absolute"},
		{`{"fs":[{"id":"a","path":"/"}]}`, "absolute"},
		{`{"fs":[{"id":"a","path":"/a"},{"id":"a","path":"/b"}]}`, "twice"},
		{`{"fs":[{"id":"a","path":"/a"},{"id":"b","path":"/a"}]}`, "twice"},
		{`{"secrets":["a b"]}`, "secrets"},
		{`{"settings":"all"}`, "settings"},
		{`{"memory":"all"}`, "memory"},
		{`{"session_read":-2}`, "session_read"},
		{`{"kv":-1}`, "kv"},
		{`{"kv":1073741825}`, "kv"},
		{`{"llm":{"calls_per_day":0,"tokens_per_day":1}}`, "calls_per_day"},
		{`{"llm":{"calls_per_day":1,"tokens_per_day":0}}`, "tokens_per_day"},
		{`{"hooks":{"agent_end":"observe"}}`, "agent_end"},
		{`{"hooks":{"tool_call":"all"}}`, "neither observe nor modify"},
		{`{"caps":["translate"]}`, "acme/translate"},
		{`{"caps":["a/b/c"]}`, "acme/translate"},
	} {
		var c extension.GuestCaps
		if err := json.Unmarshal([]byte(x.caps), &c); err != nil {
			t.Errorf("%s: %v", x.caps, err)
			continue
		}
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: got %v, want %q", x.caps, err, x.want)
		}
	}
	if err := (extension.GuestLimits{MemoryBytes: 1}).Validate(); err == nil {
		t.Error("a memory of one byte is fine")
	}
	if err := (extension.GuestLimits{MemoryBytes: 1 << 26, FuelPerCall: 1, DeadlineMS: 1, OutputBytes: 1}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestGuestWords(t *testing.T) {
	c := extension.GuestCaps{
		Net: []string{"*.example.org", "localhost:8080"}, SessionRead: 1, KV: 1536, LLM: &extension.GuestLLM{CallsPerDay: 1, TokensPerDay: 20000},
		Hooks: map[extension.HookKind]extension.GuestHook{extension.HookToolCall: extension.GuestModify},
		FS:    []extension.GuestMount{{ID: "notes", Path: "/n", Write: true}}, Secrets: []string{"API_KEY"},
	}
	want := []string{
		"Can send data to every host whose name ends in .example.org and read what it answers.",
		"Can send data to localhost (this machine or your own network) on port 8080 and read what it answers.",
		`Can read, change and delete the files in the folder of yours that you bind as "notes" (it sees them below /n).`,
		"Receives your secret API_KEY in plain text.",
		"Can read the newest 1 message of the conversation.",
		"Sees every tool call before it runs, and can change or stop it.",
		"Can ask the model up to 1 time a day and spend up to 20,000 tokens on it.",
		"Can keep up to 1,536 bytes of its own data on this machine.",
	}
	if got := c.Words(); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestGuestLimitsWithin(t *testing.T) {
	l := extension.GuestLimits{MemoryBytes: 10, DeadlineMS: 5}
	got := l.Within(extension.GuestLimits{MemoryBytes: 3, DeadlineMS: 9, OutputBytes: 7})
	if want := (extension.GuestLimits{MemoryBytes: 3, DeadlineMS: 5, OutputBytes: 7}); got != want {
		t.Errorf("got %+v", got)
	}
}

func TestVisibleText(t *testing.T) {
	for in, want := range map[string]string{
		"plain – ünïcode 漢字":              "plain – ünïcode 漢字",
		"a\r\nb\tc":                       "a\nb c",
		"\x1b[31mred":                     "[31mred",
		"safe\u202egnp.exe":               "safegnp.exe",
		"zero\u200bwidth\u2060\ufeff":     "zerowidth",
		"tag\U000e0041\U000e0042":         "tag",
		"bad\xff\xfeutf":                  "badutf",
		"nbsp\u00a0\u2003x\u2028y\u0085z": "nbsp  xyz",
		strings.Repeat("ä", 12):           strings.Repeat("ä", 10) + "…",
		"  \n ":                           "",
	} {
		limit := 40
		if strings.HasPrefix(in, "ä") {
			limit = 10
		}
		if got := extension.VisibleText(in, limit); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

func FuzzParseGuestCap(f *testing.F) {
	for _, s := range []string{
		"net=api.example.com", "net=*.a.b:8443,[::1]:80", "fs=notes:/notes:rw", "secrets=A,B", "settings=write", "session_read=20",
		"session_read=all", "session_write", "kv=64KiB", "llm=10/20000", "hooks.tool_call=modify", "memory=read", "messenger", "caps=acme/translate",
	} {
		if _, err := extension.ParseGuestCap(s); err != nil {
			f.Fatalf("%s: %v", s, err)
		}
		f.Add(s)
	}
	for _, s := range []string{"", "=", "net", "net=", "net=,", "session_write=1", "kv=-1", "kv=9999999999GiB", "llm=1", "fs=a:/b:x", "hooks.tool=modify", "session_read=-1", "host=a.org"} {
		if c, err := extension.ParseGuestCap(s); err == nil {
			f.Fatalf("%q was read as %+v", s, c)
		}
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := extension.ParseGuestCap(s)
		if err != nil {
			return
		}
		if c.IsZero() || c.Validate() != nil {
			t.Fatalf("%q gives %+v (%v)", s, c, c.Validate())
		}
		var again extension.GuestCaps
		for _, f := range c.Flags() {
			one, err := extension.ParseGuestCap(f)
			if err != nil {
				t.Fatalf("%q prints %q: %v", s, f, err)
			}
			again = again.Union(one)
		}
		if !equalCaps(t, c, again) {
			t.Fatalf("%q: %+v is printed as %q", s, c, c.Flags())
		}
	})
}
