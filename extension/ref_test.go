package extension_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

func TestRefWireForms(t *testing.T) {
	doc := crdt.DocID{1}
	for _, c := range []struct {
		ref           extension.Ref
		text, version string
	}{
		{extension.BuiltinRef("web", "0.1.0"), `{"chaz_version":"0.1.0","kind":"builtin","name":"web"}`, "0.1.0"},
		{extension.EideticaRef("a", doc, "2"), `{"db_id":"` + doc.String() + `","kind":"eidetica","name":"a","version":"2"}`, "2"},
		{extension.IPLDRef("a", "bafy"), `{"cid":"bafy","kind":"ipld","name":"a"}`, "bafy"},
		{extension.GitRef("a", "https://x/y", "ab"), `{"kind":"git","name":"a","repo":"https://x/y","sha":"ab"}`, "ab"},
	} {
		if got := c.ref.String(); got != c.text {
			t.Errorf("text = %s, want %s", got, c.text)
		}
		back, err := extension.ParseRef([]byte(c.text))
		if err != nil || !back.Equal(c.ref) || back.Version() != c.version || back.Name() != c.ref.Name() {
			t.Errorf("ParseRef(%s) = %v, %v", c.text, back, err)
		}
	}
}

func TestRefKindInAnyCase(t *testing.T) {
	a, err := extension.ParseRef([]byte(`{"kind":"BuiltIn","name":"web","chaz_version":"0.1.0"}`))
	if err != nil || !a.Equal(extension.BuiltinRef("web", "0.1.0")) {
		t.Fatalf("got %v, %v", a, err)
	}
	b, err := extension.ParseRef([]byte(`{"kind":"OCI","name":"web"}`))
	if err != nil || b.Kind() != "OCI" || b.Version() != "" {
		t.Fatalf("an unknown kind must stay as it is: %v, %v", b, err)
	}
}

func TestRefKeepsWhatItDoesNotKnow(t *testing.T) {
	const text = `{"big":12345678901234567890,"kind":"git","name":"a","nested":{"x":[1.50,null,"<&>"]},"repo":"r","sha":"s"}`
	r, err := extension.ParseRef([]byte(text))
	if err != nil || r.String() != text {
		t.Fatalf("got %v, %v", r, err)
	}
	plain := extension.GitRef("a", "r", "s")
	if r.Equal(plain) {
		t.Error("equality must count fields that this version does not know")
	}
	if r.Field("repo") != "r" || r.Field("big") != "" || r.Field("none") != "" {
		t.Error("Field must return string fields only")
	}
	var holder struct {
		Ref extension.Ref `json:"ref"`
	}
	if err := json.Unmarshal([]byte(`{"ref":`+text+`}`), &holder); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(holder)
	var again struct {
		Ref extension.Ref `json:"ref"`
	}
	if err != nil || json.Unmarshal(out, &again) != nil || !again.Ref.Equal(r) {
		t.Fatalf("lost in %s", out)
	}
}

func TestRefBadInput(t *testing.T) {
	for _, text := range []string{``, `null`, `[]`, `"x"`, `{}`, `{"kind":""}`, `{"kind":1}`, `{"kind":"git","name":1}`, `{"kind":"git"} x`, `{"kind":"git"`} {
		if r, err := extension.ParseRef([]byte(text)); err == nil {
			t.Errorf("ParseRef(%q) = %v", text, r)
		}
	}
	var none extension.Ref
	if none.Kind() != "" || none.Name() != "" || none.Version() != "" || none.Field("x") != "" || none.Fits("x") || !none.IsZero() {
		t.Error("the zero Ref must be empty")
	}
	if err := json.Unmarshal([]byte(`null`), &none); err != nil || !none.IsZero() {
		t.Error("null is no reference")
	}
}

func TestRefFits(t *testing.T) {
	unnamed, err := extension.ParseRef([]byte(`{"kind":"future"}`))
	if err != nil || !unnamed.Fits("a") || !extension.GitRef("a", "r", "s").Fits("a") || extension.GitRef("a", "r", "s").Fits("b") {
		t.Fatal("a reference fits its own name, or any if it has none")
	}
	empty, err := extension.ParseRef([]byte(`{"kind":"future","name":"","deep":{"name":"a"}}`))
	if err != nil || empty.Fits("a") {
		t.Fatal("an empty name is a name")
	}
}

func TestRefRoundTripProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields := map[string]any{"kind": rapid.StringN(1, 8, -1).Draw(t, "kind")}
		for range rapid.IntRange(0, 4).Draw(t, "extra") {
			fields["x"+rapid.String().Draw(t, "key")] = rapid.String().Draw(t, "value")
		}
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		r, err := extension.ParseRef(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := extension.ParseRef([]byte(r.String()))
		if err != nil || !again.Equal(r) || again.String() != r.String() {
			t.Fatalf("%s became %v, %v", r, again, err)
		}
	})
}

func FuzzParseRef(f *testing.F) {
	f.Add(`{"kind":"ipld","name":"a","cid":"b"}`)
	f.Add(`{"kind":"Git","x":{"y":[1e400]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := extension.ParseRef([]byte(text))
		if err != nil {
			return
		}
		again, err := extension.ParseRef([]byte(r.String()))
		if err != nil || !again.Equal(r) || strings.ContainsRune(r.String(), '\n') {
			t.Fatalf("%q: %v then %v, %v", text, r, again, err)
		}
	})
}
