package crdt

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// encoded is what Canonical sees of a value: compact, keys as the type has them.
func encoded(t interface{ Fatal(...any) }, v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// checkCanonical compares the quick way with the plain one.
func checkCanonical(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, v any,
) (quick bool) {
	want, err := canonicalTwice(encoded(t, v))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Canonical(v)
	if err != nil || got != want {
		t.Fatalf("canonical form of %s is %s, want %s (%v)", encoded(t, v), got, want, err)
	}
	_, quick = sortKeys(encoded(t, v))
	return quick
}

func TestCanonicalQuickAndPlain(t *testing.T) {
	type inner struct {
		Z int
		B string `json:"b,omitempty"`
		A []any  `json:"a"`
	}
	for name, c := range map[string]struct {
		v     any
		quick bool
	}{
		"struct":            {inner{Z: 1, B: "x\"\\\n\r\t", A: []any{1.5, nil, true, "é", map[string]int{"ab": 1, "a": 2, "": 3}}}, true},
		"key and longer":    {map[string]any{"a!": 1, "a": inner{}}, true},
		"escaped key":       {map[string]int{"A": 1, "\n": 2}, false},
		"empty":             {map[string]any{"a": []int{}, "b": map[string]int{}}, true},
		"html":              {"<&>", true},
		"number":            {json.Number("1e+21"), true},
		"large":             {int64(1) << 62, true},
		"line separator":    {"\u2028", false},
		"control":           {"\x01", false},
		"escaped letter":    {json.RawMessage(`{"b":"\u0041","a":1}`), false},
		"escaped slash":     {json.RawMessage(`"\/"`), false},
		"repeated key":      {json.RawMessage(`{"a":1,"b":3,"a":2}`), false},
		"repeated in order": {json.RawMessage(`{"a":1,"a":2}`), false},
		"invalid UTF-8":     {json.RawMessage("\"\xff\""), false},
		"invalid in string": {"\xff", false},
		"raw, spaced":       {json.RawMessage("{ \"b\" : [ 1 , { } ],\n\"a\" : -0 }"), true},
	} {
		t.Run(name, func(t *testing.T) {
			if quick := checkCanonical(t, c.v); quick != c.quick {
				t.Errorf("taken the quick way: %v, want %v", quick, c.quick)
			}
		})
	}
}

func TestCanonicalProperty(t *testing.T) {
	quick, plain := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		if checkCanonical(rt, drawJSON(rt, 3)) {
			quick++
		} else {
			plain++
		}
	})
	if quick == 0 || plain == 0 {
		t.Errorf("%d values the quick way, %d the plain way: both must be tried", quick, plain)
	}
}

func drawJSON(rt *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 6).Draw(rt, "kind")
	if depth == 0 {
		kind %= 4
	}
	text := rapid.StringOfN(rapid.SampledFrom([]rune("aabA\"\\\n\u2028<é😀\x01\b")), 0, 4, -1)
	switch kind {
	case 0:
		return rapid.Int64().Draw(rt, "int")
	case 1:
		return rapid.Float64().Draw(rt, "float")
	case 2, 3:
		return text.Draw(rt, "text")
	case 4:
		var list []any
		for range rapid.IntRange(0, 3).Draw(rt, "length") {
			list = append(list, drawJSON(rt, depth-1))
		}
		return list
	case 5:
		return struct {
			Z, A any
			M    any `json:"m"`
		}{drawJSON(rt, depth-1), drawJSON(rt, depth-1), drawJSON(rt, depth-1)}
	}
	m := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(rt, "members") {
		m[text.Draw(rt, "key")] = drawJSON(rt, depth-1)
	}
	return m
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":[1,{"z":0,"a":"\n"}],"a":null}`, `{"a":1,"a":2}`, `"\u2028\/"`, "\"\xff\"", `[-0.0,1E5]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if json.Valid(b) {
			checkCanonical(t, json.RawMessage(b))
		}
		sortKeys(b) // must not fall over what is no JSON
	})
}

func BenchmarkCanonical(b *testing.B) {
	e := Entry{Sender: "user", Content: "a line of what was said, of a usual length\n", Timestamp: 1_700_000_000_000, Type: EntryMessage, N: 7}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Canonical(e); err != nil {
			b.Fatal(err)
		}
	}
}
