package loaders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// TrustRequest is a yes.
type TrustRequest struct {
	Ref extension.Ref
	// Session, or else Everywhere, is where it may run.
	Session    crdt.DocID
	Everywhere bool
	// Expect is what the person was shown: Key.String or the module's sha256. Other content is an
	// error. Empty expects nothing.
	Expect string
	// Exactly one of these says which powers are granted: those listed (asked for, all of them), all
	// that are asked for, or none. A package that asks for none needs no word.
	Caps         extension.GuestCaps
	AllRequested bool
	None         bool

	Limits extension.GuestLimits
	Mounts map[string]string // an absolute folder for each granted id of Caps.FS
	// Tools is the fingerprint of the tools that were shown, as the sandbox makes it. Of a package that
	// declares its tools it is not kept: the content key covers them.
	Tools string
	// Publisher also trusts what the same publisher signs later under the same name and that asks for
	// nothing more.
	Publisher bool
	Why       string
}

// Trust records a yes to the content behind a reference, whose bytes must be here, and returns it. It
// replaces what was said about this content before in that session or everywhere, a denial included.
// Errors wrap [ErrMissing] and [ErrInvalid].
func (s *Set) Trust(ctx context.Context, t TrustRequest) (Decision, error) {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	d, pkg, err := s.consider(ctx, t)
	if err != nil {
		return Decision{}, fmt.Errorf("trust %.80q: %w", t.Ref.Name(), err)
	}
	puts := []Decision{d}
	if t.Publisher {
		rule := d
		rule.Key, rule.Publisher, rule.Tools = RuleKey(pkg.signer(), d.Name), pkg.signer().String(), ""
		puts = append(puts, rule)
	}
	if err := s.undeny(ctx, d); err != nil {
		return Decision{}, fmt.Errorf("trust %s: %w", d.Name, err)
	}
	for _, p := range puts {
		if err := s.cfg.Decisions.Put(ctx, p); err != nil {
			return Decision{}, fmt.Errorf("trust %s: write decision: %w", d.Name, err)
		}
	}
	s.generation.Add(1)
	return d, s.note(ctx, Event{What: EventTrust, Name: d.Name, Ref: d.Ref, Key: d.Key, Session: d.Session, Why: d.Why})
}

// consider checks a yes against what is behind the reference.
func (s *Set) consider(ctx context.Context, t TrustRequest) (Decision, *Package, error) {
	if t.Session.IsZero() != t.Everywhere {
		return Decision{}, nil, errors.New("say for which session, or everywhere")
	}
	l, err := s.loader(t.Ref)
	if err != nil {
		return Decision{}, nil, err
	}
	p := s.Policy()
	if why := p.refusesRef(t.Ref); why != "" {
		return Decision{}, nil, errors.New(why)
	}
	pkg, err := s.verify(ctx, l, t.Ref)
	if err != nil {
		return Decision{}, nil, err
	}
	m := pkg.Manifest
	switch why := p.refusesPackage(pkg); {
	case why != "":
		return Decision{}, nil, errors.New(why)
	case pkg.Yanked != "":
		return Decision{}, nil, fmt.Errorf("its publisher withdrew this release: %s", oneLine(pkg.Yanked))
	case t.Expect != "" && t.Expect != pkg.Key().String() && t.Expect != m.WASMSHA256:
		return Decision{}, nil, fmt.Errorf("the content is %s, not what was shown", m.WASMSHA256)
	case t.Publisher && pkg.signer().IsZero():
		return Decision{}, nil, errors.New("it is not signed, so there is no publisher to trust")
	}
	caps, err := t.powers(m)
	if err != nil {
		return Decision{}, nil, err
	}
	d := Decision{
		Key: pkg.Key().String(), Name: m.Name, Ref: t.Ref.String(), Session: t.Session, Everywhere: t.Everywhere,
		Caps: caps, Limits: t.Limits, Mounts: maps.Clone(t.Mounts), Manifest: m.JSON(),
		At: crdt.NowMillis(s.cfg.Clock), Why: t.Why,
	}
	if m.Tools == nil {
		d.Tools = t.Tools
	}
	return d, pkg, nil
}

// powers are those that are granted.
func (t TrustRequest) powers(m *Manifest) (extension.GuestCaps, error) {
	asked, words := m.Capabilities, 0
	for _, said := range []bool{!t.Caps.IsZero(), t.AllRequested, t.None} {
		if said {
			words++
		}
	}
	if words > 1 || words == 0 && !asked.IsZero() {
		return asked, fmt.Errorf("say which powers: some by name, all that it asks for, or none (it asks for %s)", strings.Join(asked.Flags(), " "))
	}
	if err := cmp.Or(t.Caps.Validate(), t.Limits.Validate()); err != nil {
		return asked, err
	}
	caps := t.Caps
	if t.AllRequested {
		caps = asked
	}
	if more, _ := caps.Diff(asked.Intersect(caps)); len(more) > 0 {
		return asked, fmt.Errorf("it does not ask for this: %s", strings.Join(more, " "))
	}
	for _, f := range caps.FS {
		if dir := t.Mounts[f.ID]; !filepath.IsAbs(dir) {
			return asked, fmt.Errorf("bind a folder (absolute path) for %q, or leave fs out", f.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.Mounts)) {
		if !slices.ContainsFunc(caps.FS, func(f extension.GuestMount) bool { return f.ID == id }) {
			return asked, fmt.Errorf("a folder is bound for %.80q, which is not granted", id)
		}
	}
	return caps.Normal(), nil
}

// undeny takes back denials of what is trusted now.
func (s *Set) undeny(ctx context.Context, d Decision) error {
	for _, id := range []string{d.Ref, d.Key} {
		old, ok, err := s.cfg.Decisions.Get(ctx, id)
		if err == nil && ok && old.Deny {
			err = s.cfg.Decisions.Delete(ctx, id)
		}
		if err != nil {
			return fmt.Errorf("take back denial: %w", err)
		}
	}
	return nil
}

// follow trusts content because of a rule for its publisher.
func (s *Set) follow(ctx context.Context, q question, pkg *Package, rule Decision) (Resolution, error) {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	if now, ok, err := s.cfg.Decisions.Get(ctx, rule.ID()); err != nil || !ok || now.Publisher == "" {
		return Resolution{State: StatePending, Reason: "the rule for its publisher was taken back", Remedy: remedy("show", q)}, wrap("read decisions", err)
	}
	d := rule
	d.Key, d.Ref, d.Publisher, d.Manifest = pkg.Key().String(), q.ref.String(), "", pkg.Manifest.JSON()
	d.Caps = pkg.Manifest.Capabilities.Intersect(rule.Caps)
	d.At, d.Why = crdt.NowMillis(s.cfg.Clock), "signed by "+rule.Publisher+", whose upgrades are trusted"
	if err := s.cfg.Decisions.Put(ctx, d); err != nil {
		return Resolution{}, fmt.Errorf("write decision: %w", err)
	}
	s.generation.Add(1)
	return s.grant(q, pkg, d), s.note(ctx, Event{What: EventTrust, Name: d.Name, Ref: d.Ref, Key: d.Key, Session: d.Session, Why: d.Why})
}

// List returns all decisions by name, newest first in each.
func (s *Set) List(ctx context.Context) ([]Decision, error) {
	all, err := s.cfg.Decisions.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read decisions: %w", err)
	}
	slices.SortFunc(all, func(a, b Decision) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(b.At, a.At), cmp.Compare(a.ID(), b.ID()))
	})
	return all, nil
}
