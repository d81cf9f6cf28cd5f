package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// Documents are this peer's documents; crdt.Repo has both methods.
type Documents interface {
	View(ctx context.Context, id crdt.DocID, fn func(*crdt.View) error) error
	Update(ctx context.Context, id crdt.DocID, fn func(*crdt.Tx) error) error
}

// Agents finds agent documents of this peer.
type Agents interface {
	// RosterEntry resolves an exact display name, an id or a unique prefix of one. HomePeer of the
	// result is the agent-level home, else this peer.
	RosterEntry(ctx context.Context, ref string) (crdt.AttachedAgent, error)
}

// Names are the names that this peer gives its sessions, each unique.
type Names interface {
	SessionName(id crdt.DocID) string // "" if none
	// SetSessionName gives a name, or takes it away with "". A name in use elsewhere is an error.
	SetSessionName(ctx context.Context, id crdt.DocID, name string) error
}

// Peers says what this peer knows of others.
type Peers interface {
	Petname(id crdt.PeerID) string // "" if none
	// ClockOffset is how far the other's clock is ahead of this one, in milliseconds.
	ClockOffset(id crdt.PeerID) (ms int64, known bool)
}

// State is what this peer can do with the code of an extension.
type State string

// The states.
const (
	StateBuiltin     State = "builtin"
	StateTrusted     State = "trusted"
	StatePending     State = "pending"
	StateDenied      State = "denied"
	StateUnavailable State = "unavailable"
	StateInvalid     State = "invalid"
	StateSuspended   State = "suspended"
	StateNeedsReview State = "needs_review"
	StateFailed      State = "failed"
	StateUnknown     State = "unknown"
)

// States judges references to code that is not compiled in.
type States interface {
	// RefState says how a reference under a name stands in a session.
	RefState(ctx context.Context, session crdt.DocID, name string, ref extension.Ref) Standing
}

// Standing is how a reference stands on this peer, for one session.
type Standing struct {
	State  State
	Reason string               // for invalid and failed
	Hooks  []extension.HookKind // the declared kinds; nil where nothing is known of the code yet
	// Remedy is one line that tells a person what helps; "" if nothing does. Of all that are in one
	// state the remedy of one is shown, so it should not depend on the name.
	Remedy string
}

// Sources turns what a person types into references to code.
type Sources interface {
	// Resolve reads a source ("./dir", "file.wasm", "ipld:<cid>", "git:<repo>@<sha>[#path=…|#wasm=…]",
	// "registry:<doc>@<version>") and makes sure that the reference can be shared: code of this
	// machine is packed first. The reference holds the extension's name. note, which may be empty,
	// says what happens next, such as how to trust the code; it may have several lines.
	Resolve(ctx context.Context, c Call, text string) (ref extension.Ref, note string, err error)
}

// Config is what a [Runner] works with; every field but Live and Sources is required.
type Config struct {
	Documents Documents
	// Declarations are the extensions compiled into this peer, in registration order.
	Declarations []extension.Declaration
	Agents       Agents
	Names        Names
	Peers        Peers
	States       States
	Live         Live    // nil: no extension runs
	Sources      Sources // nil: extensions can be added by name only
	Clock        crdt.Clock
	Self         crdt.PeerID
}

// Runner runs slash commands. Its methods are safe for concurrent use.
type Runner struct{ cfg Config }

// New returns a runner.
func New(cfg Config) *Runner { return &Runner{cfg} }

// Agent is the agent that answers in a session: the one asked for, else the session's host, else the
// first attached, else the default. The zero value is nobody.
type Agent struct {
	ID   crdt.DocID
	Name string
	// Hosted: this peer may write to the agent's document.
	Hosted bool
}

// Call is one line typed in a session.
type Call struct {
	Session crdt.DocID
	Agent   Agent
	Line    string
}

// Kind says what came of a line.
type Kind string

// The kinds of result.
const (
	Text       Kind = "text"          // done; Output is the reply
	Usage      Kind = "usage"         // Output says how the command is written
	Error      Kind = "error"         // not done; Output says why
	NotCommand Kind = "not_a_command" // a plain message; no output
)

// Result is what came of a line. Output has no final line end.
type Result struct {
	Kind   Kind
	Output string
}

// OK reports whether a command was carried out.
func (r Result) OK() bool { return r.Kind == Text }

func textf(format string, args ...any) Result { return Result{Text, fmt.Sprintf(format, args...)} }

func errorf(format string, args ...any) Result { return Result{Error, fmt.Sprintf(format, args...)} }

// Run carries out a line. Lines that do not start with "/" or "!chaz " are plain messages.
func (r *Runner) Run(ctx context.Context, c Call) Result {
	line, ok := normalize(c.Line)
	if !ok {
		return Result{Kind: NotCommand}
	}
	if !utf8.ValidString(line) {
		return errorf("the line is not UTF-8 text")
	}
	word, rest := cutWord(line[1:])
	if word == "" {
		return Result{Usage, "usage: /<command> [arguments]; `/help` lists the commands"}
	}
	for _, v := range verbs() {
		for _, name := range v.names {
			if name == word {
				return v.run(r, ctx, c, rest)
			}
		}
	}
	return r.contributed(ctx, c, word, rest)
}

// normalize trims the right end and turns the other sigil into a slash; false for a plain message.
func normalize(line string) (string, bool) {
	line = strings.TrimRightFunc(line, unicode.IsSpace)
	if word, rest := cutWord(line); word == "!chaz" {
		return "/" + strings.TrimPrefix(rest, "/"), true
	}
	return line, strings.HasPrefix(line, "/")
}

// cutWord cuts the first word off; the rest begins with no blank.
func cutWord(s string) (word, rest string) {
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeftFunc(s[i:], unicode.IsSpace)
}

var errNotSession = errors.New("this is not a session document")

func (r *Runner) viewSession(ctx context.Context, id crdt.DocID, fn func(crdt.SessionView, *activation.Log) error) error {
	return r.cfg.Documents.View(ctx, id, func(v *crdt.View) error {
		log, err := sessionLog(v)
		if err != nil {
			return err
		}
		return fn(crdt.SessionView{View: v}, log)
	})
}

func sessionLog(v *crdt.View) (*activation.Log, error) {
	if v.Kind() != crdt.Session {
		return nil, errNotSession
	}
	return logOf(v)
}

func logOf(v *crdt.View) (*activation.Log, error) {
	log, ok := v.Index(activation.IndexName).(*activation.Log)
	if !ok {
		return nil, fmt.Errorf("read the activation log of document %s: there is none", v.ID().Short())
	}
	return log, nil
}
