package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chaz-peer/chaz-peer/node"
)

// writeExamples puts the example extension into the folder of a script, under three names and with an
// update that asks for more, and a config that lets a peer read repositories there.
func writeExamples(dir string) error {
	err := os.WriteFile(filepath.Join(dir, "git-local.yaml"), []byte("extensions:\n  git_local: ["+dir+"]\n"), 0o600)
	manifest, wasm, built := example()
	if err != nil || !built {
		return err
	}
	for folder, fields := range map[string]map[string]any{
		"standup":   nil,
		"standup-2": {"version": "2.0.0", "capabilities": map[string]any{"session_read": 200, "settings": "read", "session_write": true, "hooks": map[string]any{"tool_call": "modify"}}},
		"rollcall":  {"name": "rollcall", "commands": []any{}},
		"muster":    {"name": "muster", "commands": []any{}, "hooks": []any{}, "capabilities": map[string]any{"session_read": 200, "settings": "read"}},
	} {
		text, err := variant(manifest, wasm, fields)
		if err != nil {
			return err
		}
		at := filepath.Join(dir, folder)
		if err := os.MkdirAll(at, 0o700); err != nil {
			return err
		}
		for name, b := range map[string][]byte{"chaz-extension.json": text, "standup.wasm": wasm} {
			if err := os.WriteFile(filepath.Join(at, name), b, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// cmdGitCommit makes a bare repository with a package in it: git-commit FOLDER REPOSITORY VARIABLE.
func cmdGitCommit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: git-commit FOLDER REPOSITORY VARIABLE")
	}
	files := map[string][]byte{}
	for _, name := range []string{"chaz-extension.json", "standup.wasm"} {
		b, err := os.ReadFile(ts.MkAbs(filepath.Join(args[0], name)))
		ts.Check(err)
		files[name] = b
	}
	sha, err := node.CommitFiles(ts.MkAbs(args[1]), files)
	ts.Check(err)
	ts.Setenv(args[2], sha)
	fmt.Fprintln(ts.Stdout(), sha)
}
