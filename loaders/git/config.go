package git

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Limits that no setting raises.
const (
	maxObject  = 64 << 20 // one git object
	maxCommit  = 1 << 20
	maxTree    = 8 << 20
	maxEntries = 100_000 // of one tree
	maxDepth   = 8       // trees from the root to a file, the root included
	maxRefs    = 32 << 20
	maxError   = 4 << 10 // of an answer that is no success
	maxTips    = 50_000

	hardPack    = 1 << 30
	hardTimeout = 10 * time.Minute
)

// Peers asks the peers of a document for git objects.
type Peers interface {
	// Objects asks for the objects called want of the commit root. An object comes in the form in which
	// git hashes it: "blob 12\x00" and the content. got is called for each that arrives, one at a time;
	// it returns an error for data that is not that object, and the peer that sent it is at fault. An
	// error of Objects means that not all of them came.
	Objects(ctx context.Context, doc crdt.DocID, root string, want []string, got func(id string, data []byte) error) error
}

// Resolver looks up the addresses of a name.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config is what a [Loader] needs. Dir and ABI are required.
type Config struct {
	// Dir holds the proofs. It is made if it is missing and belongs to the loader alone.
	Dir string
	// ABI tells the interface of a bare module from its bytes; its error says why it has none that this
	// version knows.
	ABI func(wasm []byte) (string, error)
	// Peers may be nil: nobody is asked.
	Peers Peers
	// AllowHosts lists hosts ("host" or "host:port") that may be contacted by http and at a private
	// address. All others: https and public addresses only.
	AllowHosts []string
	// AllowLocal lists folders of this machine in which repositories may be read.
	AllowLocal []string
	// MaxWASM bounds a module, in bytes; 0 is 16 MiB, at most 64 MiB.
	MaxWASM int64
	// MaxPack bounds the bytes that one fetch may receive from a host; 0 is 128 MiB, at most 1 GiB.
	MaxPack int64
	// Timeout bounds a fetch from peers, and one from a host; 0 is 60 s, at most 10 min.
	Timeout time.Duration

	RootCAs  *x509.CertPool                                                    // nil: those of the system
	Resolver Resolver                                                          // nil: that of the system
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error) // nil: a net.Dialer
}

func (c Config) withDefaults() Config {
	c.MaxWASM = bound(c.MaxWASM, 16<<20, maxObject)
	c.MaxPack = bound(c.MaxPack, 128<<20, hardPack)
	c.Timeout = bound(c.Timeout, time.Minute, hardTimeout)
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	return c
}

func bound[T int64 | time.Duration](v, def, most T) T {
	if v <= 0 {
		return def
	}
	return min(v, most)
}
