package loaders

import (
	"cmp"
	"context"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Asked is one activation in the log of a session, as the fold shows it.
type Asked struct {
	Session crdt.DocID
	Name    string
	Ref     extension.Ref
	By      crdt.PeerID // who wrote the row
	At      int64       // ms, as the row says
}

// Waiting is a reference that waits for a person's word.
type Waiting struct {
	Name  string        `json:"name"`
	Ref   extension.Ref `json:"ref"`
	State State         `json:"state"` // pending or needs review
	// Reason and Remedy are those of the first of Sessions.
	Reason   string        `json:"reason"`
	Remedy   string        `json:"remedy,omitempty"`
	By       []crdt.PeerID `json:"by"`       // who asked for it
	At       int64         `json:"at"`       // ms, the oldest row
	Sessions []crdt.DocID  `json:"sessions"` // where it waits, in the order asked
	Here     bool          `json:"here"`     // its bytes are on this machine and verified
}

// Pending picks those activations on which nobody here has decided, or which need a review, one row for
// each reference and state, by name.
func (s *Set) Pending(ctx context.Context, asked []Asked) []Waiting {
	var out []Waiting
	for _, a := range asked {
		r := s.Resolve(ctx, a.Session, a.Name, a.Ref)
		if r.State != StatePending && r.State != StateNeedsReview {
			continue
		}
		i := slices.IndexFunc(out, func(w Waiting) bool { return w.State == r.State && w.Ref.Equal(a.Ref) })
		if i < 0 {
			i = len(out)
			out = append(out, Waiting{
				Name: a.Name, Ref: a.Ref, State: r.State, Reason: r.Reason, Remedy: r.Remedy, At: a.At, Here: r.Package != nil,
			})
		}
		w := &out[i]
		w.At = min(w.At, a.At)
		if !slices.Contains(w.By, a.By) {
			w.By = append(w.By, a.By)
		}
		if !slices.Contains(w.Sessions, a.Session) {
			w.Sessions = append(w.Sessions, a.Session)
		}
	}
	slices.SortFunc(out, func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Ref.String(), b.Ref.String()), cmp.Compare(a.State, b.State))
	})
	return out
}
