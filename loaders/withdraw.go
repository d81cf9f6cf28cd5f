package loaders

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Deny says no to a reference in every session and, if its bytes are here, to its content under any
// other reference. It returns the grants that it took back, whose instances must end.
func (s *Set) Deny(ctx context.Context, ref extension.Ref, why string) ([]Decision, error) {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	l, err := s.loader(ref)
	if err != nil {
		return nil, fmt.Errorf("deny %.80q: %w", ref.Name(), err)
	}
	d := Decision{
		Key: ref.String(), Name: ref.Name(), Ref: ref.String(), Deny: true,
		At: crdt.NowMillis(s.cfg.Clock), Why: why,
	}
	puts := []Decision{d}
	pkg, err := s.verify(ctx, l, ref)
	if err == nil {
		byKey := d
		byKey.Key, byKey.Manifest = pkg.Key().String(), pkg.Manifest.JSON()
		puts = append(puts, byKey)
	} // else the reference alone is denied: what can't be read can't run either
	affected, err := s.take(ctx, func(o Decision) bool {
		return o.Publisher == "" && (o.Ref == d.Ref || len(puts) > 1 && o.Key == puts[1].Key)
	})
	if err != nil {
		return affected, fmt.Errorf("deny %s: %w", d.Name, err)
	}
	for _, p := range puts {
		if err := s.cfg.Decisions.Put(ctx, p); err != nil {
			return affected, fmt.Errorf("deny %s: write decision: %w", d.Name, err)
		}
	}
	s.generation.Add(1)
	return affected, s.note(ctx, Event{What: EventDeny, Name: d.Name, Ref: d.Ref, Key: puts[len(puts)-1].Key, Why: why})
}

// Untrust takes back every grant that what names: by the extension's name, a reference (its text, its CID
// or commit), a content key or a module's sha256; with them the rules for publishers under these names.
// It returns the grants, whose instances must end. Denials stay.
func (s *Set) Untrust(ctx context.Context, what string) ([]Decision, error) {
	return s.UntrustIn(ctx, what, crdt.DocID{})
}

// UntrustIn is Untrust of what was granted for one session alone; the zero id means all that was granted.
func (s *Set) UntrustIn(ctx context.Context, what string, session crdt.DocID) ([]Decision, error) {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	named := func(d Decision) bool {
		ref, err := extension.ParseRef([]byte(d.Ref))
		_, sum, _ := strings.Cut(d.Key, ".")
		if !session.IsZero() && d.Session != session {
			return false
		}
		return what != "" && (d.Name == what || d.Ref == what || d.Key == what || d.Publisher == "" && sum == what ||
			err == nil && ref.Version() == what)
	}
	affected, err := s.take(ctx, named)
	if err != nil {
		return affected, fmt.Errorf("untrust %.80q: %w", what, err)
	}
	var names []string
	for _, d := range affected {
		names = append(names, d.Name)
	}
	rules, err := s.take(ctx, func(d Decision) bool {
		return d.Publisher != "" && slices.Contains(names, d.Name) && (session.IsZero() || d.Session == session)
	})
	affected = append(affected, rules...)
	if err != nil {
		return affected, fmt.Errorf("untrust %.80q: %w", what, err)
	}
	for _, d := range affected {
		if err := s.note(ctx, Event{What: EventUntrust, Name: d.Name, Ref: d.Ref, Key: d.Key, Session: d.Session}); err != nil {
			return affected, err
		}
	}
	return affected, nil
}

// take deletes grants and rules, and returns those that it deleted also when it fails.
func (s *Set) take(ctx context.Context, which func(Decision) bool) ([]Decision, error) {
	all, err := s.cfg.Decisions.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read decisions: %w", err)
	}
	var taken []Decision
	for _, d := range all {
		if d.Deny || !which(d) {
			continue
		}
		if err := s.cfg.Decisions.Delete(ctx, d.ID()); err != nil {
			return taken, fmt.Errorf("delete decision: %w", err)
		}
		taken = append(taken, d)
		s.generation.Add(1)
	}
	return taken, nil
}

// Drift records that the tools of running content are not those that were shown: what says how. From then
// on the content needs a review, until it is trusted again.
func (s *Set) Drift(ctx context.Context, session crdt.DocID, pkg *Package, what string) error {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	d, ok, err := s.decision(ctx, pkg.Key(), session)
	if err != nil {
		return fmt.Errorf("note drift of %s: %w", pkg.Manifest.Name, err)
	}
	if !ok {
		// The policy lets it run; from now on a person must.
		d = Decision{
			Key: pkg.Key().String(), Name: pkg.Manifest.Name, Ref: pkg.Ref.String(), Everywhere: true,
			Manifest: pkg.Manifest.JSON(), At: crdt.NowMillis(s.cfg.Clock), Why: "the policy of this peer allowed it",
		}
	}
	if what = oneLine(what); what == "" {
		what = "other tools"
	}
	if d.Deny || d.Drift == what {
		return nil
	}
	d.Drift = what
	if err := s.cfg.Decisions.Put(ctx, d); err != nil {
		return fmt.Errorf("note drift of %s: write decision: %w", d.Name, err)
	}
	s.generation.Add(1)
	return s.note(ctx, Event{What: EventDrift, Name: d.Name, Ref: d.Ref, Key: d.Key, Session: session, Why: what})
}
