//go:build wasip1

package main

import (
	"encoding/json"
	"errors"

	"github.com/extism/go-pdk"
)

// chaz_host is the one function of the host for extensions: {"op": …} in, {"ok": …} or {"error": …} out.
//
//go:wasmimport extism:host/user chaz_host
func chazHost(uint64) uint64

// ask asks the host for something. What was not granted comes back as an error that says how to ask for it.
func ask[T any](request map[string]any) (T, error) {
	var answer struct {
		OK    T      `json:"ok"`
		Error string `json:"error"`
	}
	text, err := json.Marshal(request)
	if err != nil {
		return answer.OK, err
	}
	in := pdk.AllocateBytes(text)
	defer in.Free()
	out := pdk.FindMemory(chazHost(in.Offset()))
	if err := json.Unmarshal(out.ReadBytes(), &answer); err != nil {
		return answer.OK, err
	}
	if answer.Error != "" {
		return answer.OK, errors.New(answer.Error)
	}
	return answer.OK, nil
}

// entries reads the newest entries of the session.
func entries() ([]entry, error) {
	out, err := ask[struct {
		Entries []entry `json:"entries"`
	}](map[string]any{"op": "session.read", "limit": 200})
	return out.Entries, err
}

// setting reads one of the extension's own settings; where none is made it is the default of the manifest.
func setting[T any](key string) (T, error) {
	return ask[T](map[string]any{"op": "settings.get", "key": key})
}
