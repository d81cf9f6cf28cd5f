package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// ErrUnknownCommand: no extension here brings the slash command.
var ErrUnknownCommand = errors.New("unknown command")

// InactiveError says that the extension behind a slash command is off on the session.
type InactiveError struct{ Word, Owner string }

func (e *InactiveError) Error() string {
	return fmt.Sprintf("/%s is provided by the '%s' extension, which is not active on this session. Use `/extensions add %s` to enable it.",
		e.Word, e.Owner, e.Owner)
}

// NotLiveError says that the extension behind a slash command is on but can't run here.
type NotLiveError struct {
	Word, Owner string
	State       State
	Reason      string
}

func (e *NotLiveError) Error() string {
	return fmt.Sprintf("/%s: the extension %s is not live on this peer (%s): %s", e.Word, e.Owner, e.State, e.Reason)
}

// CommandInfo is one slash command of an installed extension.
type CommandInfo struct {
	Name  string // without the slash
	Owner string
	Usage string // "" where no instance has told it yet
}

// Commands lists the slash commands of all extensions that are installed for the whole peer or for the
// session, by the registration order of their owners, whether or not they are on. The zero session has
// those of the peer.
func (h *Hub) Commands(session crdt.DocID) []CommandInfo {
	var out []CommandInfo
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.catalogOf(session)
	for _, e := range c.entries {
		for _, w := range e.decl.Commands {
			if owners := c.words[w]; len(owners) > 0 && owners[0] == e {
				out = append(out, CommandInfo{w, e.name(), usage(w, e.global, h.docs[session][e])})
			}
		}
	}
	return out
}

// usage asks the first live instance that has a command for its line of help.
func usage(word string, slots ...*slot) string {
	for _, s := range slots {
		if s == nil || s.live == nil {
			continue
		}
		for _, c := range s.live.ext.Commands {
			if c.Name == word {
				return oneLine(c.Usage)
			}
		}
	}
	return ""
}

// Command runs a slash command. The session's set decides whether it works, not the agent's opt-outs.
// Errors: ErrUnknownCommand, *InactiveError, *NotLiveError, and the command's own.
func (h *Hub) Command(ctx context.Context, session crdt.DocID, agent extension.Agent, word, args string) (string, error) {
	h.mu.Lock()
	known := len(h.catalogOf(session).words[word]) > 0
	h.mu.Unlock()
	if !known {
		return "", fmt.Errorf("/%.64s: %w", word, ErrUnknownCommand)
	}
	t, err := h.newTurn(ctx, TurnKey{Session: session, Agent: agent}, false, nil)
	if err != nil {
		return "", err
	}
	defer t.Release()
	owners := t.cat.words[word]
	if len(owners) == 0 { // it was taken out meanwhile
		return "", fmt.Errorf("/%.64s: %w", word, ErrUnknownCommand)
	}
	x, run := t.command(word, owners)
	if run == nil {
		return "", t.noCommand(word, owners)
	}
	at := t.place("command /" + word)
	at.answers = true
	call := t.call(x.ent)
	out, err := invoke(ctx, h, x, at, h.time.Command, func(ctx context.Context) (string, error) {
		return run(ctx, call, strings.TrimSpace(args))
	})
	if err != nil {
		return "", fmt.Errorf("/%s: %w", word, err)
	}
	return strings.ToValidUTF8(out, "�"), nil
}

// command picks who runs a word: session before agent before global, in each the first registered.
func (t *Turn) command(word string, owners []*entry) (*instance, func(context.Context, extension.Call, string) (string, error)) {
	for at := range scopes {
		for _, m := range t.members {
			x := m.at[at]
			if x == nil || !slices.Contains(owners, m.ent) || m.ent.suspended.Load() {
				continue
			}
			for _, c := range x.ext.Commands {
				if c.Name == word {
					return x, c.Run
				}
			}
		}
	}
	return nil, nil
}

// noCommand says why none of those that bring a word runs it.
func (t *Turn) noCommand(word string, owners []*entry) error {
	for _, m := range t.members {
		if !slices.ContainsFunc(owners, func(e *entry) bool { return e.name() == m.ent.name() }) {
			continue
		}
		e := &NotLiveError{Word: word, Owner: m.ent.name(), State: StateFailed, Reason: m.reason}
		if m.ent.suspended.Load() {
			e.State, e.Reason = StateSuspended, m.ent.lastFault()
		}
		if e.Reason == "" && !slices.Contains(owners, m.ent) {
			e.Reason = "the version of it that this session has on does not bring the command"
		}
		if e.Reason == "" {
			e.Reason = "it offers the command neither to this session nor to this agent"
		}
		return e
	}
	return &InactiveError{word, owners[0].name()}
}
