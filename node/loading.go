package node

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/git"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
	"github.com/chaz-peer/chaz-peer/loaders/registry"
	"github.com/chaz-peer/chaz-peer/loaders/wasm"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
	"github.com/chaz-peer/chaz-peer/node/replay"
)

// The folders of a home that hold code; all of it can be fetched or made again.
const (
	blocksDir = "blocks" // content by its hash
	gitDir    = "git"    // proofs of commits
	cacheDir  = "cache"  // compiled code
)

// External is what the operator says about code by reference.
type External struct {
	// Policy are rules for all of it, as JSON (loaders.Policy); empty is none.
	Policy json.RawMessage
	// GitHosts may be contacted by plain http and at private addresses; GitLocal are folders whose
	// repositories may be read.
	GitHosts, GitLocal []string
}

// CheckPolicy reports what is wrong with the rules of a policy, as JSON.
func CheckPolicy(text []byte) error {
	_, err := readPolicy(text)
	return err
}

func readPolicy(text []byte) (p loaders.Policy, err error) {
	if len(text) == 0 || string(text) == "null" {
		return p, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return p, fmt.Errorf("read policy: %w", err)
	}
	return p, p.Validate()
}

// loading is everything between a reference in a log and an extension that runs.
type loading struct {
	n        *Node
	blocks   *ipld.Store
	ipld     *ipld.Loader
	git      *git.Loader
	registry *registry.Loader
	set      *loaders.Set
	journal  *journalTable
	replay   *replay.Manager
	data     *guestStore

	mu     sync.Mutex
	engine *engine.Engine         // made at the first need: a peer without external code pays nothing
	built  map[builtKey]guestCode // the last one of each name in each session, for its log
	marked map[crdt.DocID]bool    // as it stands in sessionsWithCode
	over   bool
	work   sync.WaitGroup // of later
}

type builtKey struct {
	session crdt.DocID // zero: shared by all
	name    string
}

func (n *Node) openLoading() error {
	policy, err := readPolicy(n.cfg.External.Policy)
	if err != nil {
		return fmt.Errorf("open node: %w", err)
	}
	l := &loading{n: n, built: map[builtKey]guestCode{}, marked: map[crdt.DocID]bool{}}
	store := n.home.store
	if l.blocks, err = ipld.Open(filepath.Join(n.cfg.Home, blocksDir)); err != nil {
		return err
	}
	l.ipld = ipld.New(ipld.Config{Store: l.blocks, Peers: blockPeers{n}, CustomSection: customSection, ABI: moduleABI})
	l.git, err = git.New(git.Config{
		Dir: filepath.Join(n.cfg.Home, gitDir), Peers: gitPeers{n}, AllowHosts: n.cfg.External.GitHosts, AllowLocal: n.cfg.External.GitLocal, ABI: moduleABI,
	})
	if err != nil {
		return err
	}
	l.registry = registry.New(packageDocs{n}, l.ipld)
	l.journal = &journalTable{table: crdt.NewTable[loaders.Event](store, "ext_journal")}
	l.data = &guestStore{table: crdt.NewTable[json.RawMessage](store, "guest_kv")}
	l.set, err = loaders.New(loaders.Config{
		Loaders:   []loaders.Loader{l.ipld, l.git, l.registry},
		Decisions: decisionTable{crdt.NewTable[loaders.Decision](store, "ext_trust")},
		Journal:   l.journal, Policy: policy, Clock: n.clock, Defaults: wasm.DefaultLimits(),
	})
	if err != nil {
		return err
	}
	l.replay = replay.New(replay.Config{
		Documents: n.repo, Resolver: l.set, Hub: replayHub{hubAPI{n.hub}}, Gate: n.hub, Build: l.build, Blocks: l.blocksTools,
		Fetch: func(ctx context.Context, session crdt.DocID, ref extension.Ref) error {
			return l.set.Fetch(ctx, ref, loaders.From{Doc: session})
		},
		Notice: l.notice, HasAny: l.hasAny, Closed: l.closed, Log: n.log,
	})
	n.loading = l
	return nil
}

// customSection finds a section of a module that was inspected.
func customSection(module []byte, name string) ([]byte, bool) {
	info, err := meter.Inspect(module)
	if err != nil {
		return nil, false
	}
	for _, s := range info.Custom {
		if s.Name == name {
			return s.Data, true
		}
	}
	return nil, false
}

// moduleABI tells the interface of a module that has no manifest.
func moduleABI(module []byte) (string, error) {
	info, err := meter.Inspect(module)
	if err != nil {
		return "", fmt.Errorf("inspect module: %w", err)
	}
	exports := map[string]bool{}
	for _, e := range info.Exports {
		exports[e.Name] = true
	}
	abi, ok := wasm.DetectABI(func(name string) bool { return exports[name] })
	if !ok {
		return "", errors.New("the module has no manifest and exports no interface that this version knows")
	}
	return abi, nil
}

// replayHub is the hub as the replay installs in it.
type replayHub struct{ hubAPI }

// Install implements [replay.Hub].
func (h replayHub) Install(ctx context.Context, x extension.Extension) error {
	return errors.Join(h.installed(ctx, x)...)
}

// runtime returns the engine, starting it at the first need. Its compiled code is sealed with a key of this
// home, so that a file which was changed on disk never runs.
func (l *loading) runtime(ctx context.Context) (wasm.Runtime, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.engine == nil {
		key, err := l.cacheKey(ctx)
		if err != nil {
			return nil, err
		}
		l.engine, err = engine.New(ctx, engine.Config{CacheDir: filepath.Join(l.n.cfg.Home, cacheDir), CacheKey: key, Log: l.n.log})
		if err != nil {
			return nil, fmt.Errorf("start sandbox: %w", err)
		}
	}
	return wasm.FromEngine(l.engine), nil
}

func (l *loading) cacheKey(ctx context.Context) ([]byte, error) {
	table := crdt.NewTable[[]byte](l.n.home.store, "sandbox")
	key, err := table.Get(ctx, "cache_key")
	if err == nil || !errors.Is(err, crdt.ErrNotFound) {
		return key, err
	}
	key = make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make cache key: %w", err)
	}
	return key, table.Put(ctx, "cache_key", key)
}

// close ends the engine; the hub has ended what ran in it.
func (l *loading) close(ctx context.Context) error {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.work.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.engine == nil {
		return nil
	}
	return l.engine.Close(ctx)
}
