package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestEveryVerbHasHelpAndExamples(t *testing.T) {
	parser, err := (&app{}).parser(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{"": true}
	var walk func(n *kong.Node, path string)
	walk = func(n *kong.Node, path string) {
		if path != "" && (n.Help == "" || !strings.HasSuffix(n.Help, ".")) {
			t.Errorf("%s: help %q", path, n.Help)
		}
		if n.Leaf() {
			seen[path] = true
			if !strings.Contains(n.Detail, "chaz-peer "+path) {
				t.Errorf("%s has no example", path)
			}
		}
		for _, c := range n.Children {
			walk(c, strings.TrimSpace(path+" "+c.Name))
		}
	}
	walk(parser.Model.Node, "")
	for path := range examples() {
		if !seen[path] {
			t.Errorf("example of a command that is not there: %s", path)
		}
	}
}

func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	script := newBench(t).do("completion", "bash")
	if script.code != 0 {
		t.Fatal(script.err)
	}
	for line, want := range map[string][]string{
		"chaz-peer ":                          {"run", "session", "--json"},
		"chaz-peer sess":                      {"session"},
		"chaz-peer session sh":                {"show", "share"},
		"chaz-peer --json session share ":     {"--role", "--uses", "--home"},
		"chaz-peer session share hamlet --ro": {"--role"},
		"chaz-peer peers ":                    {"pair", "resume"},
		"chaz-peer ext un":                    {"untrust"},
		"chaz-peer ext trust weather --":      {"--cap", "--yes-sha256", "--mount"},
	} {
		words := strings.Split(line, " ")
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+w+"'")
		}
		cmd := exec.Command(bash, "--norc", "-c", script.out+"\nCOMP_WORDS=("+strings.Join(quoted, " ")+"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _chaz_peer; printf '%s\\n' \"${COMPREPLY[@]}\"")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := strings.Fields(string(out))
		for _, w := range want {
			if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+w+" ") {
				t.Errorf("%q completes to %v, want %s among them", line, got, w)
			}
		}
		if last := words[len(words)-1]; last != "" {
			for _, w := range got {
				if !strings.HasPrefix(w, last) {
					t.Errorf("%q completes to %s", line, w)
				}
			}
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"zsh", "fish"} {
		r := newBench(t).do("completion", shell)
		if r.code != 0 || !strings.Contains(r.out, "share") || strings.Contains(r.out, "Command completion") {
			t.Errorf("%s: exit %d, %q", shell, r.code, r.err)
		}
		golden(t, "completion_"+shell, r.out)
		if path, err := exec.LookPath(shell); err == nil {
			cmd := exec.Command(path, "-n")
			cmd.Stdin = strings.NewReader(r.out)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s refuses the script: %v\n%s", shell, err, out)
			}
		}
	}
}
