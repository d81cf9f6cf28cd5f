package toolhost

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// doubtful refuses what the parser and some sh read differently: there a text that was judged as
// data could run as a program. line is the whole text that n was parsed from.
func doubtful(line string, n syntax.Node) error {
	switch n := n.(type) {
	case *syntax.Comment:
		if strings.Contains(n.Text, `\`) {
			return refuse("a backslash in a comment can't be checked") // before a line end: is that still comment?
		}
	case *syntax.Word:
		return dollarQuote(line, n)
	case *syntax.CmdSubst:
		if n.Backquotes && strings.ContainsAny(source(line, n), `\"'#<`) {
			return refuse("backticks with quotes, comments or redirections in them can't be checked: use $( )")
		}
	case *syntax.ParamExp:
		// Whether quotes count there depends on the shell, on the operator and on quotes around.
		if n.Exp != nil && n.Exp.Word != nil && strings.ContainsAny(source(line, n.Exp.Word), "\\\"'`{}#<") {
			return refuse("an expansion with quotes in it can't be checked")
		}
	case *syntax.Redirect:
		if n.Hdoc == nil && n.Op != syntax.Hdoc && n.Op != syntax.DashHdoc {
			return nil
		}
		if end := static(n.Word); !end.fixed || strings.Trim(end.text, nameBytes) != "" {
			return refuse("the end mark of a here-document must be a plain name")
		}
	}
	return nil
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// dollarQuote refuses $'…', $"…" and $[…]: quotes and arithmetic of bash, plain text elsewhere.
func dollarQuote(line string, w *syntax.Word) error {
	if strings.Contains(source(line, w), "$[") {
		return refuse("a dollar sign before a bracket can't be checked")
	}
	for i, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.HasSuffix(lit.Value, "$") && i+1 < len(w.Parts) {
			return refuse("a dollar sign before a quote can't be checked")
		}
	}
	return nil
}

// source is the text of a node.
func source(line string, n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(line) || from > to {
		return line
	}
	return line[from:to]
}
