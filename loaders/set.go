package loaders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Config is what a [Set] is made of.
type Config struct {
	Loaders   []Loader // at most one of each kind
	Decisions Decisions
	Journal   Journal
	Policy    Policy
	Clock     crdt.Clock
	// Defaults are the limits with which this peer runs who asks for none. They are needed here only to
	// see whether the policy's ceiling is below them.
	Defaults extension.GuestLimits
	// Fresh is how long Resolve believes what it verified; 0 is 10 s, negative is never.
	Fresh time.Duration
}

// DefaultFresh is how long [Set.Resolve] believes what it verified.
const DefaultFresh = 10 * time.Second

// Set answers for each reference and session whether it may run here, with which powers, and why not.
// Safe for concurrent use. It starts nothing and needs no Close.
type Set struct {
	cfg        Config
	loaders    map[extension.RefKind]Loader
	generation atomic.Uint64
	deciding   sync.Mutex // held over what reads decisions in order to change them

	mu       sync.Mutex
	policy   Policy
	verified []verified // newest last
}

// verified is a package that this process has verified at a time.
type verified struct {
	ref string
	pkg *Package
	at  int64
}

// maxVerified bounds the packages that are kept between two questions.
const maxVerified = 8

// New makes a Set. A policy that is faulty is an error.
func New(cfg Config) (*Set, error) {
	if err := cfg.Policy.Validate(); err != nil {
		return nil, fmt.Errorf("make loader set: %w", err)
	}
	if cfg.Decisions == nil || cfg.Journal == nil || cfg.Clock == nil {
		return nil, errors.New("make loader set: decisions, journal and clock must be given")
	}
	if cfg.Fresh == 0 {
		cfg.Fresh = DefaultFresh
	}
	s := &Set{cfg: cfg, loaders: map[extension.RefKind]Loader{}, policy: cfg.Policy}
	for _, l := range cfg.Loaders {
		if s.loaders[l.Kind()] != nil {
			return nil, fmt.Errorf("make loader set: two loaders of kind %s", l.Kind())
		}
		s.loaders[l.Kind()] = l
	}
	return s, nil
}

// Policy returns the policy in force.
func (s *Set) Policy() Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policy
}

// SetPolicy replaces the policy. What runs must be asked for again.
func (s *Set) SetPolicy(p Policy) error {
	if err := p.Validate(); err != nil {
		return err
	}
	s.mu.Lock()
	s.policy = p
	s.mu.Unlock()
	s.Changed()
	return nil
}

// Changed forgets what was verified: bytes here came, went or were replaced.
func (s *Set) Changed() {
	s.mu.Lock()
	s.verified = nil
	s.mu.Unlock()
	s.generation.Add(1)
}

// Generation grows with each decision, change of policy and Changed. Whoever makes something run reads it
// before [Set.Load] and again when it runs: another number means that the answer may have changed.
func (s *Set) Generation() uint64 { return s.generation.Load() }

// Fetch brings missing bytes here through the loader of the kind. It decides nothing and asks for no
// trust: leave it to a person, or to a [Resolution] with Missing. What the policy denies is not fetched,
// and nothing is fetched from outside where it says so. Errors are those of [Loader].
func (s *Set) Fetch(ctx context.Context, ref extension.Ref, from From) error {
	l, err := s.loader(ref)
	if err != nil {
		return fmt.Errorf("fetch extension: %w", err)
	}
	p := s.Policy()
	if why := p.refusesRef(ref); why != "" {
		return fmt.Errorf("fetch %s: %s", ref.Name(), why)
	}
	from.Outside = from.Outside && p.Network != "off"
	if err := l.Fetch(ctx, ref, from); err != nil {
		return fmt.Errorf("fetch %s: %w", ref.Name(), err)
	}
	s.Changed()
	return nil
}

// loader finds the loader for a reference and has its shape judged.
func (s *Set) loader(ref extension.Ref) (Loader, error) {
	if ref.IsZero() {
		return nil, fmt.Errorf("%w: there is no reference", ErrInvalid)
	}
	l := s.loaders[ref.Kind()]
	if l == nil {
		return nil, unknownKind{ref.Kind()}
	}
	if err := extension.CheckName(ref.Name(), ref); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return l, l.Check(ref)
}

// unknownKind is a kind of reference that nothing here loads.
type unknownKind struct{ kind extension.RefKind }

func (e unknownKind) Error() string {
	if e.kind == extension.Builtin {
		return "compiled-in code is not loaded"
	}
	return fmt.Sprintf("this version can't load references of kind %.40q", string(e.kind))
}

// verify loads a package and checks all of it.
func (s *Set) verify(ctx context.Context, l Loader, ref extension.Ref) (*Package, error) {
	before := s.Generation()
	pkg, err := l.Load(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !pkg.Ref.Equal(ref) {
		return nil, fmt.Errorf("%w: the loader returned another reference", ErrInvalid)
	}
	if err := CheckPackage(pkg); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Generation() == before {
		s.keep(verified{ref.String(), pkg, crdt.NowMillis(s.cfg.Clock)})
	}
	return pkg, nil
}

func (s *Set) keep(v verified) {
	s.verified = slices.DeleteFunc(s.verified, func(o verified) bool { return o.ref == v.ref })
	if s.verified = append(s.verified, v); len(s.verified) > maxVerified {
		s.verified = slices.Clone(s.verified[1:])
	}
}

// recent returns a package that was verified a short while ago.
func (s *Set) recent(ref extension.Ref) *Package {
	now := crdt.NowMillis(s.cfg.Clock)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.verified {
		if age := now - v.at; v.ref == ref.String() && age >= 0 && age < s.cfg.Fresh.Milliseconds() {
			return v.pkg
		}
	}
	return nil
}
