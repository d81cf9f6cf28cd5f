package toolhost

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Resolver turns a name into addresses; [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config says what there is on this machine. Only WorkFolder must be set.
type Config struct {
	// WorkFolder is the absolute path of the folder to which relative paths refer. It must be there
	// when a door is used.
	WorkFolder string
	// Private is the folder of the peer itself, with its key and store: the file doors reach into it
	// only by grants that lie in it, and where the work folder is. Empty: there is none.
	Private string
	// Sandbox is "" for none or "bwrap" for bubblewrap. With one, a command that can't be confined
	// does not run.
	Sandbox string
	// Environ is the environment of which commands get a few harmless variables; nil is that of the
	// process. Everything else, keys and tokens above all, stays here.
	Environ []string
	// Resolver is nil for the system's.
	Resolver Resolver
	// Dial connects to an address that was checked ("93.184.216.34:443"); nil is the system's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// RootCAs are nil for the system's.
	RootCAs *x509.CertPool
	// MaxFile is the most bytes of one read or write of a file; 0 is 16 MiB.
	MaxFile int64
	// MaxBody is the most bytes of an HTTP body, either way; 0 is 16 MiB.
	MaxBody int64
}

// The sandboxes.
const (
	NoSandbox  = ""
	Bubblewrap = "bwrap"
)

const defaultMax = 16 << 20

// Machine makes the hosts of calls. It holds no open resources and is safe for concurrent use.
type Machine struct {
	cfg Config
}

// New checks a configuration.
func New(cfg Config) (*Machine, error) {
	if !filepath.IsAbs(cfg.WorkFolder) {
		return nil, fmt.Errorf("open tool host: work folder %q is not absolute", cfg.WorkFolder)
	}
	if cfg.Private != "" && !filepath.IsAbs(cfg.Private) {
		return nil, fmt.Errorf("open tool host: private folder %q is not absolute", cfg.Private)
	}
	cfg.WorkFolder = filepath.Clean(cfg.WorkFolder)
	if cfg.Sandbox != NoSandbox && cfg.Sandbox != Bubblewrap {
		return nil, fmt.Errorf("open tool host: unknown sandbox %.40q (there is %q)", cfg.Sandbox, Bubblewrap)
	}
	if cfg.Environ == nil {
		cfg.Environ = os.Environ()
	}
	if cfg.Resolver == nil {
		cfg.Resolver = net.DefaultResolver
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	if cfg.MaxFile == 0 {
		cfg.MaxFile = defaultMax
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = defaultMax
	}
	return &Machine{cfg: cfg}, nil
}

// Levels are the grants that apply to one call; see [Intersect].
type Levels struct {
	Tool, Session, Agent, PerTool Grants
	// Trusted are base URLs that the operator configured for this very tool, such as a search engine
	// of the house. Their host and port may be fetched whatever ranges, names and endpoints say.
	Trusted []string
}

// Host returns the doors for one call. approved says that a person agreed to this very call.
func (m *Machine) Host(l Levels, approved bool) (extension.Host, error) {
	e, err := Intersect(m.cfg.WorkFolder, l.Tool, l.Session, l.Agent, l.PerTool)
	if err != nil {
		return nil, err
	}
	d := &doors{m: m, may: e, approved: approved, trusted: map[string]bool{}}
	for _, base := range l.Trusted {
		place, err := trustedPlace(base)
		if err != nil {
			return nil, fmt.Errorf("open tool host: trusted address %.200q: %w", base, err)
		}
		d.trusted[place] = true
	}
	return d, nil
}

// doors implements [extension.Host].
type doors struct {
	m        *Machine
	may      Effective
	approved bool
	trusted  map[string]bool // host:port
}

// Files implements [extension.Host].
func (d *doors) Files() extension.Files { return files{d} }
