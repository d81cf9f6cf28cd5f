package toolhost

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/chaz-peer/chaz-peer/extension"
)

// checkShell judges a command line before it runs: every simple command in pipelines, lists,
// subshells, substitutions and here-documents, first by the deny list and then by the allow list.
// What can't be told from the text, such as a program named by a variable, fails both kinds of list:
// it could be what is denied, and it is not what is allowed. Without lists everything passes.
//
// Redirections are not judged: the lists are about programs. What a program does, and what it
// starts in turn, only a sandbox confines.
func checkShell(line string, may ShellGrants) error {
	c := checker{deny: rules(may.Deny), allow: rules(may.Allow)}
	c.listed = may.Allow != nil && !slices.ContainsFunc(c.allow, func(r rule) bool { return len(r.words) == 0 })
	if !c.listed && len(c.deny) == 0 {
		return nil
	}
	return c.script(line, 0)
}

func rules(entries []string) []rule {
	out := make([]rule, len(entries))
	for i, e := range entries {
		out[i] = mustRule(e)
	}
	return out
}

type checker struct {
	deny, allow []rule
	listed      bool // there is an allow list that does not take everything
}

// maxNesting bounds scripts inside arguments inside scripts.
const maxNesting = 4

func (c checker) script(line string, depth int) error {
	if depth > maxNesting {
		return refuse("commands nested deeper than %d can't be checked", maxNesting)
	}
	if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
		return refuse("the command line is not valid text")
	}
	if strings.ContainsRune(line, '\r') {
		return refuse("a carriage return ends a line for some and not for others")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
	if err != nil {
		return refuse("the command line can't be parsed: %w", err)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if err == nil {
			err = doubtful(line, n)
		}
		if err == nil {
			err = c.node(n, depth)
		}
		return err == nil
	})
	return err
}

// node judges one node of the syntax tree; all others are reached by themselves.
func (c checker) node(n syntax.Node, depth int) error {
	switch n := n.(type) {
	case *syntax.CallExpr:
		if len(n.Args) == 0 {
			return nil
		}
		words := make([]word, len(n.Args))
		for i, w := range n.Args {
			words[i] = static(w)
		}
		return c.command(words, depth)
	case *syntax.Assign:
		return variable(n.Name)
	case *syntax.WordIter:
		return variable(n.Name)
	case *syntax.ParamExp:
		if n.Excl || n.Index != nil || n.Slice != nil || n.Repl != nil {
			return refuse("the expansion of %.40q can't be checked", n.Param.Value)
		}
		if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			return variable(n.Param)
		}
	case *syntax.ArithmExp:
		return arithmetic(n)
	case *syntax.FuncDecl:
		// A later word of this name would mean the function; its body is checked, its name need not be.
		return nil
	case *syntax.DeclClause:
		words := []word{{text: n.Variant.Value, fixed: true}}
		for _, a := range n.Args {
			if a.Name == nil {
				return refuse("what %s sets can't be told from the text", n.Variant.Value)
			}
			words = append(words, word{text: a.Name.Value, fixed: true})
		}
		return c.command(words, depth)
	case *syntax.ArithmCmd, *syntax.TestClause, *syntax.LetClause, *syntax.CoprocClause, *syntax.TimeClause, *syntax.ProcSubst, *syntax.CStyleLoop, *syntax.ExtGlob:
		return refuse("a form that not every sh has can't be checked")
	}
	return nil
}

// command judges a simple command.
func (c checker) command(words []word, depth int) error {
	name := words[0]
	if !name.fixed {
		return refuse("which program runs can't be told from the text")
	}
	if err := c.denied(words); err != nil {
		return err
	}
	if err := setsVariables(words); err != nil {
		return err
	}
	runner := runsOthers(words)
	if runner && len(c.deny) > 0 {
		if err := c.inside(words[1:], depth); err != nil {
			return err
		}
	}
	if !c.listed {
		return nil
	}
	for _, r := range c.allow {
		// An entry that leaves arguments open says nothing about what a runner would run.
		if fits(r, words) && !(runner && r.open) {
			return nil
		}
	}
	if runner {
		return refuse("%.80q runs other programs", name.text)
	}
	return refuse("the program %.80q is not on the allow list with these arguments", name.text)
}

// denied compares with the deny list: by the word as it is written and by the last part of its path.
func (c checker) denied(words []word) error {
	base := slices.Clone(words)
	base[0].text = path.Base(base[0].text)
	for _, r := range c.deny {
		if mayFit(r, words) || mayFit(r, base) {
			return refuse("%.80q is on the deny list (%s)", words[0].text, r)
		}
	}
	return nil
}

// inside looks for denied commands among the arguments of a program that runs others: each may be a
// program with its arguments, or a script.
func (c checker) inside(args []word, depth int) error {
	for i, a := range args {
		if !a.fixed {
			return refuse("what a nested command runs can't be told from the text")
		}
		if err := c.denied(args[i:]); err != nil {
			return err
		}
		texts := []string{a.text}
		if _, value, ok := strings.Cut(a.text, "="); ok {
			texts = append(texts, value) // alias ls=rm, --option=rm
		}
		for _, text := range texts {
			if err := (checker{deny: c.deny}).script(text, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// fits reports whether a command line surely is what a rule allows.
func fits(r rule, words []word) bool {
	if len(words) < len(r.words) || !r.open && len(words) != len(r.words) {
		return false
	}
	for i, w := range r.words {
		if !words[i].fixed || words[i].text != w {
			return false
		}
	}
	return true
}

// mayFit reports whether a command line could begin with what a rule denies. An open word may become
// any number of words, so from there on everything could fit.
func mayFit(r rule, words []word) bool {
	for i, w := range r.words {
		if i >= len(words) {
			return false
		}
		if !words[i].fixed {
			return true
		}
		if words[i].text != w {
			return false
		}
	}
	return true
}

func refuse(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, extension.ErrGrant)...)
}
