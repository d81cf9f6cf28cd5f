package toolhost

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
)

func TestAllowList(t *testing.T) {
	may := ShellGrants{Allow: []string{"ls", "grep", "git log *", "git status", "echo", "cd", "/opt/tool", "find", "export", "env FOO=1 make"}}
	for _, line := range []string{
		"ls", "ls -la /tmp", "ls | grep x", "ls && grep a b || echo none; ls", "ls & echo x", "(cd sub; ls)", "{ ls; }",
		"FOO=1 BAR=2 ls", "FOO=1", "echo $(ls)", "echo `ls`", `echo "$(grep "$(ls)" x)"`, "git log -p", "git log", "git status",
		"ls $HOME", "ls *.go", "git log $REV", `"l"s`, `l\s`, "'ls' -l", "/opt/tool x", "if ls; then echo a; else echo b; fi",
		"for f in a b; do echo $f; done", "while ls; do echo x; done", "case $x in a) ls;; esac", "ls > out.txt 2>&1", "! ls", "find . -name '*.go'",
		"ls # rm -rf /", "echo 'rm; rm'", "cat() { ls; }; ls", "echo $((1+2))", "export FOO=1", "env FOO=1 make", "ls\ngrep x", "echo <<X\n$(ls)\nX\nls", "",
	} {
		if err := checkShell(line, may); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, line := range []string{
		"lsblk", "l", "LS", "/bin/ls", "./ls", "../ls", "/opt/tool2", "rm", "ls; rm x", "ls\nrm x", "ls & rm x", "ls | rm", "ls && rm", "ls || rm", "(rm)", "{ rm; }",
		"echo $(rm x)", "echo `rm x`", `echo "$(rm x)"`, "echo \"`rm x`\"", "echo $(echo $(rm))", "FOO=1 rm", "FOO=$(rm) ls", "FOO=`rm`", "ls > $(rm)", "ls < `rm`",
		"echo ${X:-$(rm)}", "echo <<X\n$(rm)\nX", "echo <<X\n`rm`\nX", "if rm; then ls; fi", "while rm; do ls; done", "until rm; do ls; done", "for f in $(rm); do ls; done",
		"case $(rm) in a) ls;; esac", "case a in a) rm;; esac", "f() { rm; }", "ls() { rm; }; ls", "! rm", "$X", "$(echo rm)", "`echo rm`", "${X}", "l$X", "ls$X", `"$X"`, "$@",
		"/bin/l?", "l*", "{ls,rm}", "~/ls", "[l]s", "$'rm'", `$"rm"`, "eval ls", "exec ls", "command ls", "builtin ls", "sh -c ls", "bash -c 'ls'", "sh script", "env ls", "env", "xargs ls",
		"ls | xargs ls", "nohup ls", "nice ls", "timeout 5 ls", "time ls", "sudo ls", "busybox ls", ". ./x", "source x", "trap ls EXIT", "alias ls=rm", "find . -exec ls ';'", "find . -ok ls ';'", "find $X",
		"find . *", "setsid ls", "env FOO=1 make x", "env FOO=2 make", "PATH=. ls", "LD_PRELOAD=./x ls", "IFS=x ls", "BASH_ENV=x ls", "GIT_PAGER=rm git log", "PAGER=rm git log",
		"export PATH=.", "export LD_PRELOAD=x", "export $X", "export \"$X\"", "for PATH in .; do ls; done", "echo ${PATH:=.}", "echo $((x))", "echo $((a[$(rm)]))", "echo $((x=1))",
		"git push", "git", "git status -s", "git logs", "git $X", "git lo$X", "git -c alias.log='!rm' log", "ls <(rm)", "echo |& rm", "coproc rm", "function f { rm; }", "((x))", "[[ -n x ]]", "let x=1", "declare x=1",
		"ls 'unclosed", "ls )", "ls ;;", "if", "ls \x00rm", "ls \xff", "echo ${!X}", "echo ${X/a/$(rm)}", "hash -p /bin/rm ls", "shopt -s expand_aliases",
	} {
		if err := checkShell(line, may); !errors.Is(err, extension.ErrGrant) {
			t.Errorf("%q passed: %v", line, err)
		}
	}
}

func TestDenyList(t *testing.T) {
	may := ShellGrants{Deny: []string{"rm", "git push", "curl *"}}
	for _, line := range []string{
		"ls", "git status", "git pull", "git", "rmdir x", "echo rm", "echo 'rm -rf'", "git log push", "sh script.sh", "env FOO=1 make", "timeout 5 make all", "sh -c 'ls; make'", "make $X", "/usr/bin/python3 x.py", "xargs grep x",
	} {
		if err := checkShell(line, may); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, line := range []string{
		"rm", "rm -rf /", "/bin/rm x", "./rm", "ls; rm x", "$(rm)", "echo `rm`", "X=1 rm", "git push", "git push origin main", "/usr/bin/git push", "curl", "curl x", "git $X", "$X", "eval $X", "eval rm x", "eval 'rm x'",
		"env rm x", "nohup rm x", "xargs rm", "sh -c 'rm x'", "sh -c 'ls; rm x'", `sh -c "rm $X"`, "sh -c $X", "timeout 5 rm x", "env git push", "sh -c 'sh -c \"rm x\"'", "find . -exec rm {} ';'", "sudo -u root rm", "command rm", "exec rm", "alias ls=rm",
		"sh -c 'sh -c \"sh -c \\\"sh -c \\\\\\\"ls;rm\\\\\\\"\\\"\"'", "trap 'rm x' EXIT", "r''m", `r\m`, `"rm"`, "$'rm' x", "PATH=/evil ls", "rm() { ls; }; rm",
	} {
		if err := checkShell(line, may); !errors.Is(err, extension.ErrGrant) {
			t.Errorf("%q passed: %v", line, err)
		}
	}
	// Deny comes before allow.
	both := ShellGrants{Allow: []string{"git", "rm"}, Deny: []string{"rm"}}
	if checkShell("rm x", both) == nil || checkShell("git push", both) != nil {
		t.Error("deny does not come before allow")
	}
	if err := checkShell("rm $X", ShellGrants{}); err != nil {
		t.Errorf("without lists: %v", err)
	}
	if err := checkShell("$X", ShellGrants{Allow: []string{"*", "ls"}}); err != nil {
		t.Errorf("with everything allowed: %v", err)
	}
	if checkShell("ls", ShellGrants{Allow: []string{}}) == nil {
		t.Error("an empty allow list allowed something")
	}
	if checkShell("rm x", ShellGrants{Allow: []string{"*"}, Deny: []string{"rm"}}) == nil || checkShell("ls", ShellGrants{Deny: []string{"*"}}) == nil {
		t.Error("a deny list beside * does not count")
	}
}

// stage is a folder with programs that leave a trace: "good" none, "bad" a file.
func stage(t testing.TB) (dir string, ran func() bool) {
	dir = t.TempDir()
	marker := filepath.Join(dir, "marker")
	for name, text := range map[string]string{
		"good": "#!/bin/sh\nexit 0\n", "bad": "#!/bin/sh\n: > " + marker + "\n", "goodbad": "#!/bin/sh\n: > " + marker + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir, func() bool {
		if _, err := os.Stat(marker); err != nil {
			return false
		}
		_ = os.Remove(marker)
		return true
	}
}

// perform runs a line in real shells with nothing but the stage to run.
func perform(dir, line string) {
	for _, sh := range [][]string{{"/bin/sh", "-c", line}, {"/bin/bash", "--posix", "-c", line}, {"/bin/bash", "-c", line}} {
		if _, err := os.Stat(sh[0]); err != nil {
			continue
		}
		cmd := exec.Command("/usr/bin/env", append([]string{"-i", "PATH=" + dir, "X=bad", "/usr/bin/timeout", "5"}, sh...)...)
		cmd.Dir = dir
		_ = cmd.Run()
	}
}

// drawLine nests forms of the grammar, with mentions of the other program wherever a word can be.
func drawLine(t *rapid.T, depth int) string {
	word := rapid.SampledFrom([]string{"bad", "'bad'", "\"bad\"", "$X", "\"$X\"", "${X}", "\\bad", "b*d", "$'bad'", "{bad,good}", "x=bad", "~", "'$(bad)'", "\\$\\(bad\\)", "good;bad", "#bad", "\"\\`bad\\`\""})
	form := rapid.SampledFrom([]string{
		"good", "good W", "echo W", ": W", "x=W L", "x=W", "L; L", "L && L", "L | L", "L &\nL", "(L)", "{ L; }", "! L", "if L; then L; fi", "for i in W W; do L; done", "case W in W) L;; *) L;; esac",
		"echo $(L)", "echo `L`", "echo \"$(L)\"", "echo ${x:-W}", "L > o", "L 2>&1", "while bad; do L; done", "W", "good() { echo W; }; L", "echo <<E W\n$(L)\nE\nL", "echo <<'E'\n$(bad)\nE\nL", "L # W", "good \\\nW", "test W = W", "echo $((1+1))",
	}).Draw(t, "form")
	for strings.Contains(form, "L") {
		inner := "good"
		if depth > 0 {
			inner = drawLine(t, depth-1)
		}
		form = strings.Replace(form, "L", inner, 1)
	}
	for strings.Contains(form, "W") {
		form = strings.Replace(form, "W", word.Draw(t, "word"), 1)
	}
	return form
}

// TestRealShellsRunNothingElse generates command lines from the pieces that tricks are made of and
// runs those that the check lets pass.
func TestRealShellsRunNothingElse(t *testing.T) {
	dir, ran := stage(t)
	may := ShellGrants{Allow: []string{"good", "echo", ":", "test"}}
	perform(dir, "bad")
	if !ran() {
		t.Skip("no shell here runs the stage")
	}
	pieces := rapid.SampledFrom([]string{
		"good", "good", "good", "bad", "echo", ":", " ", " ", " ", "\n", ";", "&", "&&", "|", "||", "(", ")", "{ ", "; }", "$(", "`", "\"", "'", "\\", "$X", "${X}", "$'", "$\"", "X=bad", "X=good ", "<<E\n", "\nE\n", ">o", "<",
		"if ", "then ", "fi", "for i in ", "do ", "done", "case x in x)", ";;", "esac", "!", "#", "f() ", "${X:-", "}", "((", "))", "$((", "[", "]", "{", ",", "~", "*", "?", "test -v ", "a[", "<(", ">(", "&>", "\t", "=", "\\\n", "[[ ", " ]]", "<<<", "function ", "time ", "coproc ",
	})
	passed := 0
	rapid.Check(t, func(t *rapid.T) {
		lines := []string{strings.Join(rapid.SliceOfN(pieces, 1, 10).Draw(t, "pieces"), "")}
		for range 4 {
			lines = append(lines, drawLine(t, 3))
		}
		for _, line := range lines {
			if checkShell(line, may) != nil || !strings.Contains(line, "bad") && !strings.Contains(line, "X") {
				continue
			}
			passed++
			perform(dir, line)
			if ran() {
				t.Fatalf("%q passed and ran the other program", line)
			}
		}
	})
	if passed < 20 {
		t.Errorf("only %d lines that name the other program passed: the test proves little", passed)
	}
	t.Logf("%d lines that name the other program passed", passed)
	// Positive control: of the harmless mentions of it, some pass.
	for _, line := range []string{"echo bad", "good 'bad'", "X=bad good", "good # bad"} {
		if err := checkShell(line, may); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func FuzzShellCheck(f *testing.F) {
	for _, s := range []string{"good; bad", "$(bad)", "`bad`", "good\nbad", "X=bad good", "good() { bad; }; good", "$'bad'", "{good,bad}", "good <<E\n$(bad)\nE", "g\\\nood", "echo ${X:-bad}", "good&bad", "alias good=bad\ngood"} {
		f.Add(s)
	}
	dir, ran := stage(f)
	allow, deny := ShellGrants{Allow: []string{"good", "echo"}}, ShellGrants{Deny: []string{"bad", "goodbad"}}
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 200 || strings.Contains(line, "/") {
			return
		}
		okAllow, okDeny := checkShell(line, allow) == nil, checkShell(line, deny) == nil
		if !okAllow && !okDeny || !strings.Contains(line, "bad") {
			return
		}
		perform(dir, line)
		if ran() {
			t.Fatalf("%q passed (allow %v, deny %v) and ran bad", line, okAllow, okDeny)
		}
	})
}
