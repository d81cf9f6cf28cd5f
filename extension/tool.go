package extension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Tool is a function that a model may call.
type Tool struct {
	Name        string
	Description string
	// Parameters is a JSON Schema of an object. Arguments are checked against it before Run.
	Parameters json.RawMessage
	Policy     Policy
	// Run returns the text for the model. An error is told to the model too; wrap the sentinels
	// below where they fit.
	Run func(ctx context.Context, c Call, args json.RawMessage) (string, error)
}

// Errors that a tool wraps to say what went wrong; anything else is a failed execution.
var (
	// ErrNetwork: a network failure; the call is tried once more within its time.
	ErrNetwork = errors.New("network failure")
	// ErrArgument: the arguments make no sense although the schema takes them.
	ErrArgument = errors.New("invalid argument")
	// ErrGrant: a door of the host refused; the message names operation and target.
	ErrGrant = errors.New("not granted")
	// ErrCrashed: code in a sandbox trapped or ran out of its limits. It counts as a panic does.
	ErrCrashed = errors.New("the code crashed")
)

// Risk is how much harm a tool can do.
type Risk string

// The risks.
const (
	LowRisk    Risk = "low"
	MediumRisk Risk = "medium"
	HighRisk   Risk = "high"
)

// Approval is when a person must agree to a call.
type Approval string

// The approval rules.
const (
	NeverAsk           Approval = "never"
	AskUnlessAutomatic Approval = "unless_auto_approved"
	AlwaysAsk          Approval = "always"
)

// Policy is how a tool is run. Zero fields take the defaults: low, never, 60 s, no rate limit.
type Policy struct {
	Risk      Risk          `json:"risk"`
	Approval  Approval      `json:"approval"`
	Timeout   time.Duration `json:"timeout"`
	RateLimit *int          `json:"rate_limit,omitempty"` // calls a minute; 0 switches the tool off
	Sensitive []string      `json:"sensitive,omitempty"`  // parameters that are not shown to people
}

// DefaultTimeout is the time of a tool that states none.
const DefaultTimeout = 60 * time.Second

// Fill returns the policy with defaults in the place of zero fields.
func (p Policy) Fill() Policy {
	if p.Risk == "" {
		p.Risk = LowRisk
	}
	if p.Approval == "" {
		p.Approval = NeverAsk
	}
	if p.Timeout == 0 {
		p.Timeout = DefaultTimeout
	}
	return p
}

// Typed makes a tool's function of one with typed arguments. Arguments that do not fit the type are
// an [ErrArgument].
func Typed[A any](run func(ctx context.Context, c Call, a A) (string, error)) func(context.Context, Call, json.RawMessage) (string, error) {
	return func(ctx context.Context, c Call, args json.RawMessage) (string, error) {
		var a A
		if err := json.Unmarshal(args, &a); err != nil {
			return "", fmt.Errorf("read arguments: %w: %w", ErrArgument, err)
		}
		return run(ctx, c, a)
	}
}

// Command is a slash command. It answers with text or an error, nothing else.
type Command struct {
	Name  string // without the slash
	Usage string // one line for /help
	Run   func(ctx context.Context, c Call, args string) (string, error)
}
