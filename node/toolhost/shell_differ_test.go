package toolhost

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
)

// TestReadDifferently has lines that a parser takes for one allowed command and a shell for two.
func TestReadDifferently(t *testing.T) {
	may := ShellGrants{Allow: []string{"echo", "ls"}}
	for _, line := range []string{
		"echo \\\r\nrm", "ls\rrm", "echo a\r\n", "ls # \\\nrm", "echo <<\"E\\\\F\"\nfoo\nE\\F\nrm\nE\\\\F\n", "echo <<'E F'\nx\nE F\n",
		`echo "${x-'}"; rm; echo "'}"`, `echo ${x-"}"; rm; echo "}"}`, `echo "${x#'}"; ls; echo "'}"`, "echo `echo \\`rm\\``", "echo \"`echo \"ls\"`\"",
		`echo $'\'' ; rm ; echo \'`, `echo $"a"`, `x='a[$(rm)]'; echo $[x]`, `echo "$[x]"`,
	} {
		if err := checkShell(line, may); !errors.Is(err, extension.ErrGrant) {
			t.Errorf("%q passed: %v", line, err)
		}
	}
	for _, line := range []string{
		"echo a # it's fine", "echo `ls`", `echo "${x:-none}"`, "echo ${x%.go}", "echo <<'E'\nx\\\nE\nls\n", "echo <<-EOF\n\tx\n\tEOF\n", "echo $ a", "echo \"$(ls)\"", "echo '\\'", "ls \\\n -l",
	} {
		if err := checkShell(line, may); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestShellsRunWhatWasJudged makes lines of everything that has a meaning to a shell and runs those
// that pass an allow list: the program that is not on it must never run.
func TestShellsRunWhatWasJudged(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	for name, script := range map[string]string{"evil": "#!/bin/sh\n>" + ran + "\n", "good": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := func(shell []string, line string) bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, shell[0], append(shell[1:], "-c", line)...)
		cmd.Dir, cmd.Env, cmd.WaitDelay = t.TempDir(), []string{"PATH=" + dir}, time.Second
		_ = cmd.Run() // most of the lines fail
		err := os.Remove(ran)
		return err == nil
	}
	shells := [][]string{{"/bin/sh"}}
	if bash, err := exec.LookPath("bash"); err == nil {
		shells = append(shells, []string{bash, "--posix"})
	}
	may := ShellGrants{Allow: []string{"good", "echo"}}
	for _, sh := range shells { // the control: it does run where nothing is judged
		if !run(sh, "good; evil") {
			t.Fatalf("%s did not run the program", sh)
		}
	}
	pieces := []string{
		"good", "echo", "evil", "evil", " ", " ", "\n", "\n", ";", "&", "|", "(", ")", "{ ", " }", "'", "'", "\"", "\"", "`", "\\", "\\\n", "\\\r\n", "\r", "$", "$(", "${x", "${x-", "${x#", "}",
		"<<E\n", "<<'E'\n", "<<\"E\\\\\"\n", "<<-E\n\t", "\nE\n", "E", "#", " #", "$'", "$((", "))", "$[", "]", "x=", "!", "case a in a) ", ";; esac", "if ", "; then ", "; fi", "\t", "a", ">", "<", "1", "[", "~", "*",
	}
	passed := 0
	rapid.Check(t, func(rt *rapid.T) {
		line := "good " + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 14).Draw(rt, "pieces"), "")
		if checkShell(line, may) != nil {
			return
		}
		if bytes.Contains([]byte(line), []byte("evil")) {
			passed++
		}
		for _, sh := range shells {
			if run(sh, line) {
				rt.Fatalf("%s ran evil: %q", sh, line)
			}
		}
	})
	if passed == 0 {
		t.Log("no line with the program in it passed this time")
	}
}
