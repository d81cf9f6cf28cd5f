package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// CoreMode says which runs use the Automerge core.
type CoreMode string

// The modes. The other runs use a stand-in that knows dependencies and heads only.
const (
	CoreShare  CoreMode = "share" // one seed in eight, and every scenario
	CoreAlways CoreMode = "always"
	CoreNever  CoreMode = "never"
)

// Options say what to play. The zero value of each field is its default.
type Options struct {
	Seed  uint64
	Peers int // 2 to 26; default 3
	Steps int // default 60
	Core  CoreMode
	// Faults are the classes to play; nil is all of them.
	Faults []Fault
	// Keep plays only the steps of the plan with these numbers; nil plays all. [Shrink] sets it.
	Keep []int
	// Scenario is played instead of a plan from the seed, which still decides latencies and keys.
	Scenario *Scenario
	// Subject is somebody else's data type in the same documents, to be put to the test too.
	Subject *Subject
	// Timeline records what a report is drawn from.
	Timeline bool

	rules rules
}

// Subject is a data type that an extension keeps in the rows or records of a session (the stores x_rows
// and x_records are free for that), and that must converge.
type Subject struct {
	// Indexes are registered with every peer, beside those of the product.
	Indexes []crdt.IndexSpec
	// Write does one write; text is drawn from the seed, or what a scenario says.
	Write func(tx *crdt.Tx, text string) error
	// Read gives the state in a form that can be compared. At rest it must be equal at all members (I3).
	Read func(v *crdt.View) (string, error)
}

// rules are the parts of the product that tests replace to see whether the checks notice, and one that
// needs what only tests may import. The zero value is the product.
type rules struct {
	index func() crdt.IndexSpec
	write func(log crdt.Index, now int64, kind activation.Kind, name string, ref extension.Ref) ([]string, error)
	codec func(crdt.Codec) crdt.Codec
	host  func(*peer, docsync.Host) docsync.Host
	load  func(file []byte) ([]crdt.ChangeHash, error)
}

// beliefs is what the lab asks an activation log for.
type beliefs interface{ State() activation.State }

func (o Options) withDefaults() (Options, error) {
	if o.Scenario != nil {
		o.Peers, o.Steps = len(o.Scenario.Peers), len(o.Scenario.Steps)
		if o.Seed == 0 {
			o.Seed = o.Scenario.Seed
		}
	}
	if o.Peers == 0 {
		o.Peers = 3
	}
	if o.Steps == 0 && o.Scenario == nil {
		o.Steps = 60
	}
	if o.Core == "" {
		o.Core = CoreShare
	}
	if o.Faults == nil {
		o.Faults = Faults()
	}
	if o.Peers < 2 || o.Peers > 26 {
		return o, fmt.Errorf("simulate: %d peers, want 2 to 26", o.Peers)
	}
	if o.Steps < 0 || o.Steps > 1_000_000 {
		return o, fmt.Errorf("simulate: %d steps, want at most 1,000,000", o.Steps)
	}
	if !slices.Contains([]CoreMode{CoreShare, CoreAlways, CoreNever}, o.Core) {
		return o, fmt.Errorf("simulate: core %q, want share, always or never", o.Core)
	}
	for _, f := range o.Faults {
		if !slices.Contains(Faults(), f) {
			return o, fmt.Errorf("simulate: fault %q is none of %v", f, Faults())
		}
	}
	return o, nil
}

// Repro is the command that plays these options again.
func (o Options) Repro() string {
	o, err := o.withDefaults()
	if err != nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "chaz-peer sim --replay %d", o.Seed)
	if o.Scenario != nil {
		fmt.Fprintf(&b, " --scenario %s", o.Scenario.Name)
	} else {
		fmt.Fprintf(&b, " --peers %d --steps %d", o.Peers, o.Steps)
	}
	if o.Core != CoreShare {
		fmt.Fprintf(&b, " --core %s", o.Core)
	}
	if len(o.Faults) == 0 {
		b.WriteString(" --faults none")
	} else if len(o.Faults) < len(Faults()) {
		words := make([]string, len(o.Faults))
		for i, f := range o.Faults {
			words[i] = string(f)
		}
		fmt.Fprintf(&b, " --faults %s", strings.Join(words, ","))
	}
	switch {
	case o.Keep != nil && len(o.Keep) == 0:
		b.WriteString(" --keep none")
	case o.Keep != nil:
		fmt.Fprintf(&b, " --keep %s", joinInts(o.Keep))
	}
	return b.String()
}

func joinInts(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ",")
}

// Result is what a run showed.
type Result struct {
	Seed       uint64         `json:"seed"`
	TraceHash  string         `json:"trace_hash"` // of everything that happened
	Steps      int            `json:"steps"`      // that had an effect
	Messages   int            `json:"messages"`   // frames that arrived
	TrueTime   int64          `json:"true_ms"`    // simulated time, ms
	Faults     map[string]int `json:"faults"`
	Invariants map[string]int `json:"invariants"` // how often each was checked
	Failure    *Failure       `json:"failure,omitempty"`
	Timeline   *Timeline      `json:"timeline,omitempty"`
}

// Failure is a broken invariant, or an expectation of a scenario that did not hold.
type Failure struct {
	Invariant Invariant `json:"invariant"` // "expect" for an expectation
	Peer      string    `json:"peer,omitempty"`
	Detail    string    `json:"detail"`
	At        int64     `json:"at_ms"` // true time since the start, ms
	Step      int       `json:"step"`  // number of the last step of the plan that was played, -1 before the first
	Repro     string    `json:"repro"` // a command that shows it again
}

// Expected is the [Failure.Invariant] of a scenario's expectation.
const Expected Invariant = "expect"

func (f *Failure) Error() string {
	who := ""
	if f.Peer != "" {
		who = " at " + f.Peer
	}
	return fmt.Sprintf("%s%s after %d ms: %s", f.Invariant, who, f.At, f.Detail)
}
