package hub

import (
	"context"
	"log/slog"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Documents are the documents of this peer; *crdt.Repo is one. Session and agent documents carry the
// index of extension/activation.
type Documents interface {
	View(ctx context.Context, id crdt.DocID, fn func(*crdt.View) error) error
	Update(ctx context.Context, id crdt.DocID, fn func(*crdt.Tx) error) error
	Changes() *crdt.Feed
}

// Config is what a [Hub] is made of. Documents and Clock are required.
type Config struct {
	// Peer are the handles lent to instances. Without them extensions are registered and none is
	// instantiated.
	Peer *extension.Peer
	// PeerFor cuts the handles to what one extension was granted; nil lends Peer to all. It is asked
	// once for each installed extension.
	PeerFor   func(extension.Declaration) *extension.Peer
	Documents Documents
	// Clock says when an instance was used last and when a failed one is tried again. It may jump.
	Clock   crdt.Clock
	Timings Timings
	Log     *slog.Logger // nil is silence
	// Audit is told of every failure of an extension; nil is nobody. It must not block.
	Audit func(AuditEvent)
}

// Timings are the deadlines and waits; zero fields take the defaults.
type Timings struct {
	Instantiate time.Duration // of one instance: 10 s
	Hook        time.Duration // of one hook, context text, status or capability call: 10 s
	Command     time.Duration // of one slash command: 60 s
	Shutdown    time.Duration // of one instance: 10 s
	Stop        time.Duration // how long Close waits for turns in progress: 10 s
	Idle        time.Duration // an agent's or session's instance ends after: 30 min
	RetryMin    time.Duration // first wait before a failed instance is built again: 5 s
	RetryMax    time.Duration // longest such wait: 5 min
}

func (t Timings) fill() Timings {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&t.Instantiate, 10*time.Second)
	set(&t.Hook, 10*time.Second)
	set(&t.Command, time.Minute)
	set(&t.Shutdown, 10*time.Second)
	set(&t.Stop, 10*time.Second)
	set(&t.Idle, 30*time.Minute)
	set(&t.RetryMin, 5*time.Second)
	set(&t.RetryMax, 5*time.Minute)
	return t
}

// AuditEvent is one failure of an extension, or a decision of it that was not followed.
type AuditEvent struct {
	Extension string
	Point     string // a hook kind, or instantiate, shutdown, command, tool, routine, …
	Session   crdt.DocID
	Agent     crdt.DocID
	Outcome   Outcome
	Detail    string // one line
}

// Outcome is how a call of an extension went wrong.
type Outcome string

// The outcomes.
const (
	OutcomeError     Outcome = "error"     // it returned an error
	OutcomeNonsense  Outcome = "nonsense"  // it returned what means nothing
	OutcomePanic     Outcome = "panic"     // it panicked
	OutcomeDeadline  Outcome = "deadline"  // it did not answer in time
	OutcomeCrash     Outcome = "crash"     // its sandbox ended it
	OutcomeIgnored   Outcome = "ignored"   // it may not decide this
	OutcomeSuspended Outcome = "suspended" // it failed too often in a row
)
