package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// words splits arguments at blanks; a word in '…' or "…" may hold them. It is false for a quote that
// does not end, or does not end its word.
func words(args string) (list []string, ok bool) {
	for args = strings.TrimLeftFunc(args, unicode.IsSpace); args != ""; args = strings.TrimLeftFunc(args, unicode.IsSpace) {
		if quote := args[0]; quote == '\'' || quote == '"' {
			word, rest, closed := strings.Cut(args[1:], string(quote))
			if !closed || word == "" || strings.TrimLeftFunc(rest, unicode.IsSpace) == rest && rest != "" {
				return nil, false
			}
			list, args = append(list, word), rest
			continue
		}
		word, rest := cutWord(args)
		list, args = append(list, word), rest
	}
	return list, true
}

// isSource tells where code is from an extension's name, which has none of these characters.
func isSource(text string) bool {
	return strings.ContainsAny(text, ":/") || strings.HasSuffix(text, ".wasm") || strings.HasPrefix(text, ".")
}

// maxSource is how much of a source is shown in a reply, in characters.
const maxSource = 120

// addSource is /extensions add with code by reference, for the session.
func (r *Runner) addSource(ctx context.Context, c Call, text string, agent bool) Result {
	if agent {
		return errorf("code is added to a session, an agent only opts out of names: leave out `agent`")
	}
	fail := func(err error) Result { return errorf("add %s: %v", clean(text, maxSource), err) }
	if r.cfg.Sources == nil {
		return fail(errors.New("this peer can't load extensions by reference"))
	}
	// Before the source is read or fetched.
	if err := r.viewSession(ctx, c.Session, func(crdt.SessionView, *activation.Log) error { return nil }); err != nil {
		return fail(err)
	}
	ref, note, err := r.cfg.Sources.Resolve(ctx, c, text)
	if err != nil {
		return fail(err)
	}
	name := ref.Name()
	if err := r.checkSource(name, ref); err != nil {
		return fail(err)
	}
	var reply Result
	err = r.cfg.Documents.Update(ctx, c.Session, func(tx *crdt.Tx) error {
		log, err := sessionLog(tx.View)
		if err != nil {
			return err
		}
		reply, err = r.switchTo(tx, log, c, name, ref)
		return err
	})
	if err != nil {
		return fail(err)
	}
	if note = cleanText(note); note != "" {
		reply.Output += "\n" + note
	}
	return reply
}

// checkSource refuses what must not stand in a log.
func (r *Runner) checkSource(name string, ref extension.Ref) error {
	if ref.Kind() == extension.Builtin {
		return errors.New("it is no code by reference: give the name alone")
	}
	if err := extension.CheckName(name, ref); err != nil {
		return err
	}
	if _, ours := r.declared(name); ours {
		return fmt.Errorf("an extension named %s is compiled into this peer", name)
	}
	return nil
}

// switchTo makes one version of an extension the session's, whatever was on before.
func (r *Runner) switchTo(tx *crdt.Tx, log *activation.Log, c Call, name string, ref extension.Ref) (Result, error) {
	last, _ := log.Latest(name)
	reply := textf("Activated %s [%s] on this session, with effect from the next agent turn on every peer that trusts this code.", name, version(ref))
	switch {
	case !log.Active(name):
	case last.Ref.Equal(ref):
		reply = textf("%s [%s] is already active on this session.", name, version(ref))
		if r.resume(c.Session, name) {
			reply = textf("%s was suspended on this peer after failures; it may run again.", name)
		}
		return reply, nil
	default:
		reply = textf("Replaced %s [%s] by [%s] on this session, with effect from the next agent turn on every peer that trusts this code.", name, version(last.Ref), version(ref))
	}
	r.resume(c.Session, name)
	return reply, write(tx, log, activation.Activated, name, ref)
}
