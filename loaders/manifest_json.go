package loaders

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// wire is the text form of a manifest: as the structure, but for what is named by words and links.
type wire struct {
	*plainManifest
	WASM   any      `json:"wasm,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
}

type plainManifest Manifest

// JSON is the canonical text of the whole manifest; [ParseManifest] reads it back, but for a manifest
// that the host made (Synthetic), which names no module.
func (m *Manifest) JSON() []byte {
	w := m.wire()
	switch {
	case m.WASM.CID != "":
		w.WASM = map[string]string{"/": m.WASM.CID}
	case m.WASM.Path != "":
		w.WASM = m.WASM.Path
	}
	return w.text()
}

// Content is the canonical text of what the manifest says, whatever carries it: without where the module
// is (its hash stays) and without the signature. Its SHA-256 is one half of a [Key].
func (m *Manifest) Content() []byte {
	w := m.wire()
	if m.Publisher != nil {
		w.Publisher = &Publisher{Key: m.Publisher.Key}
	}
	return w.text()
}

func (m *Manifest) wire() wire {
	plain := plainManifest(*m)
	w := wire{plainManifest: &plain}
	for _, s := range m.Scopes {
		w.Scopes = append(w.Scopes, scopeWord(s))
	}
	return w
}

func (w wire) text() []byte {
	text, err := crdt.Canonical(w)
	if err != nil {
		// Only a manifest put together by hand can hold what is no JSON; Validate refuses it. No key may
		// come of it that another manifest could have.
		return []byte("not JSON: " + err.Error())
	}
	return []byte(text)
}

// MarshalJSON writes the form of [Manifest.JSON].
func (m *Manifest) MarshalJSON() ([]byte, error) {
	text := m.JSON()
	if !json.Valid(text) {
		return nil, errors.New("write manifest: it holds what is no JSON")
	}
	return text, nil
}

// UnmarshalJSON reads what ParseManifest does, up to the hard limit.
func (m *Manifest) UnmarshalJSON(text []byte) error {
	out, err := ParseManifestUpTo(text, MaxManifestHard)
	if err == nil {
		*m = *out
	}
	return err
}

// plainJSON is the canonical text of a value with each number in its one form: dag-cbor knows integers
// and doubles, and what went through it must have the key of what did not. Nothing stays nothing.
func plainJSON(text json.RawMessage) (json.RawMessage, error) {
	if len(text) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	v, err := plainNumbers(v)
	if err != nil {
		return nil, err
	}
	out, err := crdt.Canonical(v)
	return json.RawMessage(out), err
}

func plainNumbers(v any) (_ any, err error) {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(v.String())
	case map[string]any:
		for k, x := range v {
			if v[k], err = plainNumbers(x); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, x := range v {
			if v[i], err = plainNumbers(x); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func plainNumber(s string) (any, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	if !strings.ContainsAny(s, ".eE") {
		return nil, fmt.Errorf("the number %.40s does not fit 64 bits", s)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("the number %.40s is too large", s)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f), nil
	}
	return f, nil
}

// noLoader refuses to load what a schema refers to: nothing is read or fetched because of one.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %.80q", url)
}

// Bounds of the regular expressions of one schema: a short one can compile to megabytes.
const (
	maxPatterns      = 32
	maxPatternLength = 128
)

// patterns are those of one schema. The library asks for each several times.
type patterns struct {
	done  map[string]*regexp.Regexp
	fault error // the first one; the library's own words for it are long
}

func (p *patterns) compile(s string) (jsonschema.Regexp, error) {
	if re := p.done[s]; re != nil {
		return re, nil
	}
	var re *regexp.Regexp
	err := fmt.Errorf("more than %d patterns, or one of more than %d bytes", maxPatterns, maxPatternLength)
	if len(p.done) < maxPatterns && len(s) <= maxPatternLength {
		re, err = regexp.Compile(s)
	}
	if err != nil {
		p.fault = cmp.Or(p.fault, err)
		return nil, err
	}
	if p.done == nil {
		p.done = map[string]*regexp.Regexp{}
	}
	p.done[s] = re
	return re, nil
}

// checkObjectSchema reports why text is no JSON Schema of an object.
func checkObjectSchema(text json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return errors.New("it must be a JSON object")
	}
	if kind, there := fields["type"]; there && string(kind) != `"object"` {
		return errors.New(`its "type" must be "object"`)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	var p patterns
	c.UseRegexpEngine(p.compile)
	if err := c.AddResource("manifest:schema", doc); err != nil {
		return err
	}
	if _, err := c.Compile("manifest:schema"); p.fault != nil {
		return fmt.Errorf("it is no JSON Schema: %w", p.fault)
	} else if err != nil {
		return fmt.Errorf("it is no JSON Schema: %.200s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}
