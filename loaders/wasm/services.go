package wasm

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/netip"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Services is what the host has for one sandboxed extension. Nothing of it is reached without a grant.
// Every field is optional: what is missing is refused with a word. Implementations must be safe for
// concurrent use and watch their context.
type Services struct {
	// Session opens a session by the text of its id; nil where it is not here. Only the session of the
	// call is ever asked for.
	Session func(id string) SessionAccess
	KV      KV
	Secrets extension.Secrets
	LLM     Sampler
	// Mounts binds the ids of the granted folders to folders of this machine. Each is opened through
	// os.Root: no link leads out of it.
	Mounts map[string]string
	HTTP   HTTP
	// Audit is told what the guest did with its powers and what it was refused; it must not block.
	Audit func(Event)
	// Drift is told, once for each reason, that the tools are no longer those that were trusted. What
	// drifted is hidden already. It must return at once and not call the extension.
	Drift func(reason string)
}

// SessionAccess is one session as far as a guest may reach.
type SessionAccess interface {
	// Read returns the newest n entries, the newest last, each as the JSON object that a reader of the
	// session sees; n < 0 is all.
	Read(ctx context.Context, n int) ([]json.RawMessage, error)
	// Send adds an entry (kind "message" or "directive") and returns its id after the durable commit.
	Send(ctx context.Context, text, kind string) (id string, err error)
}

// KV keeps an extension's own data, apart for each session ("" is none), values being JSON texts. The
// host makes it for one extension, so that no key of another is reachable.
type KV interface {
	// Get returns nil where there is nothing.
	Get(ctx context.Context, session, key string) (json.RawMessage, error)
	// Set writes a value. It keeps the quota, the most bytes that all keys and values of the extension
	// in the session may have, in one step with the write: calls run at the same time. What does not
	// fit is an error that says so.
	Set(ctx context.Context, session, key string, value json.RawMessage, quota int64) error
	Delete(ctx context.Context, session, key string) error
	// List returns the keys that begin with prefix, sorted.
	List(ctx context.Context, session, prefix string) ([]string, error)
}

// Sampler asks a model. It keeps count of limits, which are those of the extension: days outlive
// processes.
type Sampler interface {
	Sample(ctx context.Context, c extension.Call, limits extension.GuestLLM, r SampleRequest) (SampleResult, error)
}

// SampleRequest is one conversation to be continued.
type SampleRequest struct {
	System    string              `json:"system,omitempty"`
	Messages  []extension.Message `json:"messages"`
	MaxTokens int64               `json:"max_tokens,omitempty"` // 0: as the back end likes
}

// SampleResult is what the model said.
type SampleResult struct {
	Text  string `json:"text"`
	Model string `json:"model"`
	Stop  string `json:"stop,omitempty"` // why it ended, such as "end" or "length"
}

// HTTP sets how guests' requests leave this machine. Zero fields take the defaults. There is no proxy:
// it would dial where no check sees it.
type HTTP struct {
	Resolver Resolver // nil: the system's
	// Dial opens a connection to a checked address, "ip:port"; nil: a net.Dialer.
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	RootCAs *x509.CertPool // nil: the system's
	MaxBody int64          // bytes of a request's or response's body; 0 is 4 MiB
}

// Resolver finds the addresses of a name; a net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Outcome is how something that a guest tried ended.
type Outcome string

// The outcomes.
const (
	Used    Outcome = "used"    // a power that reaches beyond the guest
	Denied  Outcome = "denied"  // not granted
	Ignored Outcome = "ignored" // a decision of a hook that may only observe
	Drifted Outcome = "drifted" // a tool that is not as it was trusted
)

// Event is one line of the audit. It never holds a secret's value.
type Event struct {
	Extension string  `json:"extension"`
	Op        Op      `json:"op"`
	Target    string  `json:"target,omitempty"`
	Session   string  `json:"session,omitempty"` // ids as text; empty outside one
	Agent     string  `json:"agent,omitempty"`
	Outcome   Outcome `json:"outcome"`
	Detail    string  `json:"detail,omitempty"`
}
