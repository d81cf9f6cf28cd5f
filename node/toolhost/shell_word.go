package toolhost

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a command line, as far as the text alone says what it will be.
type word struct {
	text  string
	fixed bool
}

// static evaluates a word without expansions: literals and quotes.
func static(w *syntax.Word) word {
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			s, ok := literal(p.Value, i == 0)
			// bash reads $'…' and $"…" as quotes of its own, other shells don't.
			if !ok || strings.HasSuffix(p.Value, "$") && i+1 < len(w.Parts) {
				return word{}
			}
			b.WriteString(s)
		case *syntax.SglQuoted:
			if p.Dollar {
				return word{}
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return word{}
			}
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok {
					return word{}
				}
				b.WriteString(quoted(lit.Value))
			}
		default:
			return word{}
		}
	}
	return word{text: b.String(), fixed: true}
}

// literal resolves backslashes outside quotes. A word that a shell expands by itself (wildcards,
// braces, a tilde) has no fixed value.
func literal(s string, first bool) (string, bool) {
	if first && strings.HasPrefix(s, "~") {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '*', '?', '[', '{', '}', '!':
			if s != "[" && s != "!" && s != "{" && s != "}" {
				return "", false
			}
			b.WriteByte(c)
		case '~':
			return "", false // after ":" or "=" some shells expand it
		case '\\':
			i++
			if i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// quoted resolves backslashes inside double quotes.
func quoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// variable refuses to set what decides which program or library a name means, or which program
// another one starts.
func variable(name *syntax.Lit) error {
	if name == nil {
		return nil
	}
	n := strings.ToUpper(name.Value)
	switch n {
	case "IFS", "ENV", "BASH_ENV", "PS4", "SHELL", "BROWSER", "VISUAL", "SHELLOPTS", "BASHOPTS":
		return refuse("setting %s changes what a command means", name.Value)
	}
	for _, affix := range []string{"PATH", "PAGER", "EDITOR", "COMMAND", "OPT", "OPTS", "OPTIONS", "LIB", "ASKPASS"} {
		if strings.HasSuffix(n, affix) {
			return refuse("setting %s changes what a command means", name.Value)
		}
	}
	for _, affix := range []string{"LD_", "DYLD_", "GIT_", "BASH_FUNC_"} {
		if strings.HasPrefix(n, affix) {
			return refuse("setting %s changes what a command means", name.Value)
		}
	}
	return nil
}

// arithmetic takes numbers and operators alone: bash evaluates the values of variables as
// expressions again, substitutions included.
func arithmetic(n *syntax.ArithmExp) (err error) {
	syntax.Walk(n.X, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			if s := static(w); !s.fixed || s.text == "" || strings.Trim(s.text, "0123456789") != "" {
				err = refuse("arithmetic with variables can't be checked")
			}
		}
		return err == nil
	})
	return err
}

// setsVariables refuses the builtins that set variables where their names can't be told or matter.
func setsVariables(words []word) error {
	switch words[0].text {
	case "export", "readonly", "local", "read", "getopts", "unset":
	default:
		return nil
	}
	for _, w := range words[1:] {
		if name, _, _ := strings.Cut(w.text, "="); !w.fixed {
			return refuse("what %s sets can't be told from the text", words[0].text)
		} else if err := variable(&syntax.Lit{Value: name}); err != nil {
			return err
		}
	}
	return nil
}

// runsOthers reports whether a program runs what its arguments, its input or a file name, so that
// its own name says nothing. Interpreters of other languages are not among them: who lists python
// means python.
func runsOthers(words []word) bool {
	switch program := path.Base(words[0].text); program {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "busybox", "toybox",
		"eval", "exec", "source", ".", "command", "builtin", "trap", "alias", "hash", "enable", "bind", "complete", "compgen",
		"shopt", "mapfile", "readarray", "coproc", "let", "declare", "typeset", "fc", "time", "env", "xargs", "parallel",
		"nohup", "nice", "ionice", "chrt", "taskset", "timeout", "setsid", "stdbuf", "unbuffer", "script", "watch", "flock",
		"sudo", "doas", "su", "runuser", "pkexec", "chroot", "unshare", "nsenter", "bwrap", "setpriv", "capsh",
		"setarch", "linux32", "linux64", "i386", "x86_64", "strace", "ltrace", "gdb", "ssh", "start-stop-daemon",
		"systemd-run", "at", "batch", "crontab", "screen", "tmux", "expect", "socat", "entr", "ld.so":
		return true
	case "find", "fd", "fdfind":
		return slices.ContainsFunc(words[1:], startsProgram)
	default:
		return strings.HasPrefix(program, "ld-linux")
	}
}

// startsProgram reports whether an argument of find may make it start a program.
func startsProgram(w word) bool {
	if !w.fixed {
		return true
	}
	for _, option := range []string{"-exec", "-ok", "-x", "-X", "--exec"} {
		if strings.HasPrefix(w.text, option) {
			return true
		}
	}
	return false
}
