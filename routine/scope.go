package routine

import (
	"cmp"
	"fmt"
	"strings"
)

// ScopeKind says whose routines they are.
type ScopeKind string

// The scopes. The zero value is Global.
const (
	ScopeGlobal  ScopeKind = ""
	ScopeSession ScopeKind = "session"
	ScopeAgent   ScopeKind = "agent"
)

// Scope is where a routine is stored and rescheduled: this peer (Global), one session, one agent.
// It is comparable.
type Scope struct {
	Kind ScopeKind
	ID   string // of the session or the agent
}

// Global is the scope of this peer.
func Global() Scope { return Scope{} }

// Session is the scope of one session.
func Session(id string) Scope { return Scope{ScopeSession, id} }

// Agent is the scope of one agent.
func Agent(id string) Scope { return Scope{ScopeAgent, id} }

// String is `global`, `session:<id>` or `agent:<id>`.
func (s Scope) String() string {
	if s.Kind == ScopeGlobal {
		return "global"
	}
	return string(s.Kind) + ":" + s.ID
}

// order is the order in which scopes are loaded: Global, sessions, agents.
func (s Scope) order(o Scope) int {
	rank := map[ScopeKind]int{ScopeGlobal: 0, ScopeSession: 1, ScopeAgent: 2}
	return cmp.Or(cmp.Compare(rank[s.Kind], rank[o.Kind]), strings.Compare(s.ID, o.ID))
}

// Key is the name of a routine in the engine: equal ids of two sessions are two routines.
type Key struct {
	Scope Scope
	ID    string
}

// String is `global:<id>`, `session:<session id>:<id>` or `agent:<agent id>:<id>`.
func (k Key) String() string { return k.Scope.String() + ":" + k.ID }

// ParseKey reads what [Key.String] writes. The id of a session or agent has no colon.
func ParseKey(text string) (Key, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch ScopeKind(kind) {
	case "global":
		if rest != "" {
			return Key{Global(), rest}, nil
		}
	case ScopeSession, ScopeAgent:
		if owner, id, _ := strings.Cut(rest, ":"); owner != "" && id != "" {
			return Key{Scope{ScopeKind(kind), owner}, id}, nil
		}
	}
	return Key{}, fmt.Errorf("parse routine name %q: it is global:<id>, session:<session id>:<id> or agent:<agent id>:<id>", text)
}

func (k Key) order(o Key) int {
	return cmp.Or(k.Scope.order(o.Scope), strings.Compare(k.ID, o.ID))
}
