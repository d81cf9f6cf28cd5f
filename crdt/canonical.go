package crdt

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// Canonical returns the canonical JSON text of v: UTF-8, object keys sorted by bytes, no white
// space, no HTML escaping, integers in plain decimal. v may hold anything encoding/json takes;
// numbers decoded as [json.Number] keep their digits.
func Canonical(v any) (string, error) {
	var first bytes.Buffer
	enc := json.NewEncoder(&first)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("write canonical JSON: %w", err)
	}
	compact := bytes.TrimSuffix(first.Bytes(), []byte("\n"))
	if sorted, ok := sortKeys(compact); ok {
		return string(sorted), nil
	}
	return canonicalTwice(compact)
}

// canonicalTwice passes JSON through maps: that sorts keys, keeps one of repeated ones and writes
// every string in the encoder's own way.
func canonicalTwice(first []byte) (string, error) {
	generic, err := decodeJSON(first)
	if err != nil {
		return "", fmt.Errorf("write canonical JSON: %w", err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(generic); err != nil {
		return "", fmt.Errorf("write canonical JSON: %w", err)
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), nil
}

func decodeJSON(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one value")
	}
	return v, nil
}

// RowIDOf is the key under which a row of this text is stored.
func RowIDOf(value string) RowID { return sha256.Sum256([]byte(value)) }

// ValidValue reports whether a text may be stored: valid UTF-8 and one JSON value.
func ValidValue(value string) bool {
	return utf8.ValidString(value) && json.Valid([]byte(value))
}
