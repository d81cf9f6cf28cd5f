package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints a completion script, made from the command line itself.
func (c *completionCmd) Run(a *app) error {
	nodes := completionNodes(a.model.Node, "")
	var b strings.Builder
	switch c.Shell {
	case "bash":
		bashCompletion(&b, nodes)
	case "zsh":
		// zsh runs the bash function through its own adaptor.
		b.WriteString("#compdef chaz-peer\nautoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n")
		bashCompletion(&b, nodes)
	case "fish":
		fishCompletion(&b, nodes)
	}
	_, err := fmt.Fprint(a.out, b.String())
	return err
}

// completionNode is one point of the command tree and the words that may follow there.
type completionNode struct {
	path  string // "session share"; empty: the program
	words []completionWord
}

type completionWord struct {
	text, help string
	verb       bool
}

func completionNodes(n *kong.Node, path string) []completionNode {
	here := completionNode{path: path}
	var below []completionNode
	for _, c := range n.Children {
		here.words = append(here.words, completionWord{c.Name, c.Help, true})
		below = append(below, completionNodes(c, strings.TrimSpace(path+" "+c.Name))...)
	}
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			here.words = append(here.words, completionWord{"--" + f.Name, f.Help, false})
		}
	}
	sort.SliceStable(here.words, func(i, j int) bool { return here.words[i].verb && !here.words[j].verb })
	return append([]completionNode{here}, below...)
}

func (n completionNode) list() string {
	texts := make([]string, len(n.words))
	for i, w := range n.words {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

func bashCompletion(b *strings.Builder, nodes []completionNode) {
	b.WriteString("_chaz_peer() {\n  local cur=\"${COMP_WORDS[COMP_CWORD]}\" at=\"\" words=\"\" i\n" +
		"  COMPREPLY=()\n  for ((i = 1; i < COMP_CWORD; i++)); do\n    case \"$at ${COMP_WORDS[i]}\" in\n")
	for _, n := range nodes[1:] {
		fmt.Fprintf(b, "      \" %s\") at=\" %s\" ;;\n", n.path, n.path)
	}
	b.WriteString("    esac\n  done\n  case \"$at\" in\n")
	for _, n := range nodes {
		at := n.path
		if at != "" {
			at = " " + at
		}
		fmt.Fprintf(b, "    %q) words=%q ;;\n", at, n.list())
	}
	b.WriteString("  esac\n  local IFS=$' \\t\\n'\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n" +
		"complete -o default -F _chaz_peer chaz-peer\n")
}

func fishCompletion(b *strings.Builder, nodes []completionNode) {
	b.WriteString("function __chaz_peer_at\n  set -l at ''\n  for w in (commandline -opc)[2..-1]\n    switch \"$at $w\"\n      case ")
	for i, n := range nodes[1:] {
		if i > 0 {
			b.WriteString(" ")
		}
		fmt.Fprintf(b, "' %s'", n.path)
	}
	b.WriteString("\n        set at \"$at $w\"\n    end\n  end\n  test \"$at\" = \"$argv[1]\"\nend\n")
	for _, n := range nodes {
		at := n.path
		if at != "" {
			at = " " + at
		}
		for _, w := range n.words {
			help := strings.ReplaceAll(w.help, "'", "’")
			if w.verb {
				fmt.Fprintf(b, "complete -c chaz-peer -f -n \"__chaz_peer_at '%s'\" -a %s -d '%s'\n", at, w.text, help)
				continue
			}
			fmt.Fprintf(b, "complete -c chaz-peer -n \"__chaz_peer_at '%s'\" -l %s -d '%s'\n", at, strings.TrimPrefix(w.text, "--"), help)
		}
	}
}
