package extension

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxJSONDepth bounds how deep objects and lists stand in one another.
const maxJSONDepth = 64

// CheckJSON reports whether text is exactly one JSON value in UTF-8 whose objects, at every depth, have
// no key twice. Of two equal keys one reader takes the first and another the last: who shows a text to a
// person and who acts on it must not differ.
func CheckJSON(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("read JSON: it is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if !json.Valid(text) {
		var v any
		if err := dec.Decode(&v); err != nil {
			return fmt.Errorf("read JSON: %w", err)
		}
		return errors.New("read JSON: there is more behind the value")
	}
	if err := checkTree(dec, 0); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	return nil
}

// checkTree walks one value of a text that is known to be valid.
func checkTree(dec *json.Decoder, depth int) error {
	if depth > maxJSONDepth {
		return fmt.Errorf("it is more than %d levels deep", maxJSONDepth)
	}
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	open, composite := tok.(json.Delim)
	if !composite {
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			if seen[name] {
				return fmt.Errorf("the key %.40q stands twice in one object", name)
			}
			seen[name] = true
		}
		if err := checkTree(dec, depth+1); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// StrictObject reads one JSON object into fields: each member into the pointer under its key. A key that
// is not among them (letter for letter), a key that stands twice at any depth, null, and anything behind
// the object are errors.
func StrictObject(text []byte, fields map[string]any) error {
	if err := CheckJSON(text); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return errors.New("read JSON: want an object")
	}
	// In the order of the text, so that one text always gives one error.
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return fmt.Errorf("read JSON: %w", err)
		}
		key, _ := tok.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return fmt.Errorf("read JSON: %w", err)
		}
		into, known := fields[key]
		switch {
		case !known:
			return fmt.Errorf("unknown key %.40q", key)
		case string(value) == "null":
			return fmt.Errorf("%s is null; leave it out instead", key)
		}
		if err := json.Unmarshal(value, into); err != nil {
			return fmt.Errorf("%s: %w", key, plainFault(err))
		}
	}
	return nil
}

// plainFault takes the names of Go types out of an error of encoding/json.
func plainFault(err error) error {
	var fault *json.UnmarshalTypeError
	if errors.As(err, &fault) {
		return fmt.Errorf("a %s does not fit here", fault.Value)
	}
	return err
}

// UnmarshalJSON refuses keys that this version does not know.
func (c *GuestCaps) UnmarshalJSON(text []byte) error {
	var out GuestCaps
	err := StrictObject(text, map[string]any{
		"net": &out.Net, "fs": &out.FS, "secrets": &out.Secrets, "settings": &out.Settings,
		"session_read": &out.SessionRead, "session_write": &out.SessionWrite, "kv": &out.KV,
		"llm": &out.LLM, "hooks": &out.Hooks, "memory": &out.Memory, "messenger": &out.Messenger,
		"caps": &out.Caps,
	})
	if err == nil {
		*c = out
	}
	return err
}

// UnmarshalJSON refuses keys that this version does not know.
func (m *GuestMount) UnmarshalJSON(text []byte) error {
	var out GuestMount
	err := StrictObject(text, map[string]any{"id": &out.ID, "path": &out.Path, "write": &out.Write})
	if err == nil {
		*m = out
	}
	return err
}

// UnmarshalJSON refuses keys that this version does not know.
func (l *GuestLLM) UnmarshalJSON(text []byte) error {
	var out GuestLLM
	err := StrictObject(text, map[string]any{"calls_per_day": &out.CallsPerDay, "tokens_per_day": &out.TokensPerDay})
	if err == nil {
		*l = out
	}
	return err
}

// UnmarshalJSON refuses keys that this version does not know.
func (l *GuestLimits) UnmarshalJSON(text []byte) error {
	var out GuestLimits
	err := StrictObject(text, map[string]any{
		"memory_bytes": &out.MemoryBytes, "fuel_per_call": &out.FuelPerCall,
		"deadline_ms": &out.DeadlineMS, "output_bytes": &out.OutputBytes,
	})
	if err == nil {
		*l = out
	}
	return err
}
