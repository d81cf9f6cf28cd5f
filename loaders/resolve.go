package loaders

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Resolve says how a reference stands in a session, from this machine's bytes and decisions alone: it
// never contacts anybody. It may believe for a short while what this process has verified, so it is
// cheap to ask often; before anything runs, ask [Set.Load].
func (s *Set) Resolve(ctx context.Context, session crdt.DocID, name string, ref extension.Ref) Resolution {
	return s.ask(ctx, question{session: session, name: name, ref: ref, policy: s.Policy()}, s.recent(ref))
}

// Load is Resolve for code that is about to run: all bytes are verified again, and the answer is noted in
// the journal. Only a Resolution with StateTrusted may run, with its Caps and Limits.
func (s *Set) Load(ctx context.Context, session crdt.DocID, name string, ref extension.Ref) Resolution {
	r := s.ask(ctx, question{session: session, name: name, ref: ref, policy: s.Policy()}, nil)
	e := Event{What: EventRefused, Name: name, Ref: ref.String(), Session: session, Why: string(r.State) + ": " + r.Reason}
	if r.State == StateTrusted {
		e.What, e.Why = EventLoad, r.Reason
	}
	if r.Package != nil {
		e.Key = r.Package.Key().String()
	}
	if err := s.note(ctx, e); err != nil {
		// What can't be audited does not run.
		return Resolution{State: StateUnavailable, Reason: oneLine(err.Error()), Package: r.Package}
	}
	return r
}

func (s *Set) note(ctx context.Context, e Event) error {
	e.At = crdt.NowMillis(s.cfg.Clock)
	if err := s.cfg.Journal.Append(ctx, e); err != nil {
		return fmt.Errorf("write audit journal: %w", err)
	}
	return nil
}

// question is one Resolve under way.
type question struct {
	session crdt.DocID
	name    string
	ref     extension.Ref
	policy  Policy
}

func (s *Set) ask(ctx context.Context, q question, pkg *Package) Resolution {
	l, err := s.loader(q.ref)
	var unknown unknownKind
	switch {
	case errors.As(err, &unknown) && !q.ref.Fits(q.name):
		return failed(fmt.Errorf("%w: the reference names another extension", ErrInvalid))
	case err != nil:
		return failed(err)
	case q.ref.Name() != q.name:
		return failed(fmt.Errorf("%w: the reference names %.80q", ErrInvalid, q.ref.Name()))
	}
	if r, refused := s.refused(ctx, q); refused {
		return r
	}
	if pkg == nil {
		if pkg, err = s.verify(ctx, l, q.ref); errors.Is(err, ErrMissing) {
			return s.missing(ctx, q, err)
		} else if err != nil {
			return failed(err)
		}
	}
	if why := q.policy.refusesPackage(pkg); why != "" {
		return Resolution{State: StateDenied, Reason: why, Package: pkg}
	}
	r, err := s.judge(ctx, q, pkg)
	if err != nil {
		r = failed(err)
	}
	r.Package = pkg
	return r
}

// refused answers for references that somebody here said no to, before a byte is read.
func (s *Set) refused(ctx context.Context, q question) (Resolution, bool) {
	if why := q.policy.refusesRef(q.ref); why != "" {
		return Resolution{State: StateDenied, Reason: why}, true
	}
	d, ok, err := s.cfg.Decisions.Get(ctx, q.ref.String())
	if err != nil {
		return failed(fmt.Errorf("read decisions: %w", err)), true
	}
	if ok && d.Deny {
		return denied(q, d), true
	}
	return Resolution{}, false
}

func denied(q question, d Decision) Resolution {
	reason := "it was denied on this peer"
	if d.Why != "" {
		reason += ": " + oneLine(d.Why)
	}
	return Resolution{State: StateDenied, Reason: reason, Remedy: remedy("trust", q), Decision: &d}
}

// missing answers where bytes are not here.
func (s *Set) missing(ctx context.Context, q question, cause error) Resolution {
	all, err := s.cfg.Decisions.All(ctx)
	if err != nil {
		return failed(fmt.Errorf("read decisions: %w", err))
	}
	var prior *Decision // on other content under this name
	lacking := Resolution{State: StateUnavailable, Missing: true, Remedy: remedy("show", q)}
	for _, d := range all {
		if d.Deny || d.Name != q.name || !d.covers(q.session) {
			continue
		}
		if d.Publisher == "" && d.Ref == q.ref.String() {
			lacking.Reason, lacking.Decision = "it is trusted, but its bytes are not here: "+oneLine(cause.Error()), &d
			return lacking
		}
		if d.Publisher == "" && (prior == nil || d.At > prior.At) {
			prior = &d
		}
		if d.Publisher != "" {
			lacking.Reason = "it may be an upgrade by a publisher who is trusted here, but its bytes are not here: " + oneLine(cause.Error())
		}
	}
	switch {
	case q.policy.mayAllow(q.ref):
		lacking.Reason = "the policy of this peer allows it, but its bytes are not here: " + oneLine(cause.Error())
		return lacking
	case lacking.Reason != "":
		return lacking
	}
	if prior != nil {
		return Resolution{
			State: StateNeedsReview, Decision: prior, Remedy: remedy("show", q),
			Reason: "it is another reference than the one that was trusted under this name; its bytes are not here",
		}
	}
	return Resolution{State: StatePending, Reason: "nobody on this peer has decided; its bytes are not here", Remedy: remedy("show", q)}
}

// judge answers for verified content that the policy does not refuse.
func (s *Set) judge(ctx context.Context, q question, pkg *Package) (Resolution, error) {
	d, found, err := s.decision(ctx, pkg.Key(), q.session)
	switch {
	case err != nil:
		return Resolution{}, err
	case found && d.Deny:
		return denied(q, d), nil
	case found && d.Drift != "":
		return Resolution{State: StateNeedsReview, Reason: "its tools are not those that were shown: " + oneLine(d.Drift), Remedy: remedy("show", q), Decision: &d}, nil
	case found:
		return s.grant(q, pkg, d), nil
	}
	if rule, ok := q.policy.allows(pkg); ok && pkg.Yanked == "" {
		return s.grant(q, pkg, Decision{
			Key: pkg.Key().String(), Name: q.name, Ref: q.ref.String(), Everywhere: true,
			Caps: rule.Caps, Why: "the policy of this peer allows it",
		}), nil
	}
	return s.undecided(ctx, q, pkg)
}

// decision finds the word on a content for a session: a denial, one for this session, one for all.
func (s *Set) decision(ctx context.Context, key Key, session crdt.DocID) (Decision, bool, error) {
	all, everywhere, err := s.cfg.Decisions.Get(ctx, key.String())
	if err == nil && !(everywhere && all.Deny) {
		d, here, err := s.cfg.Decisions.Get(ctx, Decision{Key: key.String(), Session: session}.ID())
		if err != nil || here {
			return d, here, wrap("read decisions", err)
		}
	}
	return all, everywhere, wrap("read decisions", err)
}

// undecided answers where nobody has spoken about this content in this session: a rule for its publisher
// may, and if other content was trusted under this name there is something to compare with.
func (s *Set) undecided(ctx context.Context, q question, pkg *Package) (Resolution, error) {
	all, err := s.cfg.Decisions.All(ctx)
	if err != nil {
		return Resolution{}, fmt.Errorf("read decisions: %w", err)
	}
	var last *Decision
	for _, d := range all {
		if d.Deny || d.Name != q.name || !d.covers(q.session) {
			continue
		}
		if d.Publisher != "" {
			if d.Key == RuleKey(pkg.signer(), q.name) && pkg.Yanked == "" && beyond(pkg.Manifest, d) == "" {
				return s.follow(ctx, q, pkg, d)
			}
			continue
		}
		if last == nil || d.At > last.At {
			last = &d
		}
	}
	r := Resolution{State: StatePending, Reason: "nobody on this peer has decided", Remedy: remedy("show", q)}
	if last != nil {
		r.State, r.Decision = StateNeedsReview, last
		r.Reason = "it is not the content that was trusted under this name: " + strings.Join(changedParts(pkg, *last), ", ")
	}
	if pkg.Yanked != "" {
		r.Reason += "; its publisher withdrew this release: " + oneLine(pkg.Yanked)
	}
	return r, nil
}

// grant is a yes: what was asked, granted and allowed by the policy.
func (s *Set) grant(q question, pkg *Package, d Decision) Resolution {
	r := Resolution{
		State: StateTrusted, Decision: &d,
		Caps:   q.policy.cap(pkg.Manifest.Capabilities.Intersect(d.Caps)).Normal(),
		Limits: ceiling(pkg.Manifest.Limits.Within(d.Limits), s.cfg.Defaults, q.policy.MaxLimits),
	}
	if pkg.Yanked != "" {
		r.Reason = "its publisher withdrew this release: " + oneLine(pkg.Yanked)
	}
	return r
}

// ceiling cuts limits to the most that the policy allows. A limit that nobody set stays unset, so that
// the runner's default counts, unless that is above the ceiling.
func ceiling(l, defaults, most extension.GuestLimits) extension.GuestLimits {
	cut := func(v, def, most int64) int64 {
		if most <= 0 || v > 0 && v <= most || v <= 0 && def > 0 && def <= most {
			return v
		}
		return most
	}
	return extension.GuestLimits{
		MemoryBytes: cut(l.MemoryBytes, defaults.MemoryBytes, most.MemoryBytes),
		FuelPerCall: cut(l.FuelPerCall, defaults.FuelPerCall, most.FuelPerCall),
		DeadlineMS:  cut(l.DeadlineMS, defaults.DeadlineMS, most.DeadlineMS),
		OutputBytes: cut(l.OutputBytes, defaults.OutputBytes, most.OutputBytes),
	}
}

// failed is the answer for an error.
func failed(err error) Resolution {
	if errors.Is(err, ErrInvalid) {
		return Resolution{State: StateInvalid, Reason: oneLine(strings.Replace(err.Error(), ErrInvalid.Error()+": ", "", 1))}
	}
	return Resolution{State: StateUnavailable, Reason: oneLine(err.Error())}
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// remedy is the command that helps with a reference.
func remedy(verb string, q question) string { return "chaz-peer ext " + verb + " " + q.name }

// Package returns the verified content behind a reference from this machine's bytes, whatever was decided
// about it: for a person who looks. Errors are those of [Loader].
func (s *Set) Package(ctx context.Context, ref extension.Ref) (*Package, error) {
	l, err := s.loader(ref)
	if err != nil {
		return nil, fmt.Errorf("read extension: %w", err)
	}
	if pkg := s.recent(ref); pkg != nil {
		return pkg, nil
	}
	pkg, err := s.verify(ctx, l, ref)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref.Name(), err)
	}
	return pkg, nil
}
