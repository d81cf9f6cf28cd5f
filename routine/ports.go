package routine

import (
	"context"
	"encoding/json"
	"time"
)

// Clock is where the engine's time comes from. Now is the wall clock: it may lie and jump. After
// measures a pause, which no jump changes.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Dispatcher does the work of a fire. An unknown extension, one without a routine handler, and a
// failure of the work are errors. The context ends at the deadline and when the engine stops; a
// handler that must wait for something that is busy does so in [Wait].
type Dispatcher interface {
	Dispatch(ctx context.Context, extension string, key Key, payload json.RawMessage) error
}

// Homes says whether this peer is the one that fires a routine. It is asked before each fire, from
// several goroutines. Unsure, or not ready yet, is false: then nothing is done and nothing written.
type Homes interface {
	IsHome(ctx context.Context, key Key, r Routine) bool
}

// Source reads rows. The engine calls Source and Sink from one goroutine at a time.
type Source interface {
	// Scopes lists the scopes that may hold routines on this peer.
	Scopes(ctx context.Context) ([]Scope, error)
	// Rows lists all rows of a scope, also disabled, retired and unreadable ones. A scope that is
	// not on this peer has none.
	Rows(ctx context.Context, scope Scope) ([]Routine, error)
	// Row reads one row; false if there is none.
	Row(ctx context.Context, key Key) (Routine, bool, error)
}

// Sink writes rows. What it wrote is durable when it returns nil.
type Sink interface {
	// Put writes a new row. The store may add to it what only it knows, such as the home.
	Put(ctx context.Context, scope Scope, r Routine) error
	// Update writes the fields of an outcome into a row, each field for itself, or deletes the row.
	// If there is no such row it does nothing.
	Update(ctx context.Context, key Key, o Outcome) error
	// Delete removes a row; one that is not there is no error.
	Delete(ctx context.Context, key Key) error
}

// Store is where rows live: documents and the peer's own tables.
type Store interface {
	Source
	Sink
}
