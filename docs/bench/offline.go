package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
	"github.com/chaz-peer/chaz-peer/node/replay"
)

const (
	offlineSessions = 50
	offlinePackages = 8
	offlineEvents   = 40 // of one session
)

// dials counts who is asked for bytes. Nobody answers: there is no network.
type dials struct{ n atomic.Int64 }

// Blocks implements [ipld.Peers].
func (d *dials) Blocks(context.Context, crdt.DocID, string, []string, func(string, []byte) error) error {
	d.n.Add(1)
	return fmt.Errorf("there is no network: %w", loaders.ErrMissing)
}

// measureOffline gives a peer packages as files and sessions with random logs, and has every session
// replayed without a network: what is live must be what a fold from scratch has on.
func measureOffline(ctx context.Context, o *options, t *table) error {
	progress("%d sessions replayed without a network", offlineSessions)
	d := &dials{}
	b, err := newBed(ctx, place(o, "offline"), d)
	if err != nil {
		return err
	}
	refs, err := b.bring(ctx, o)
	if err != nil {
		return err
	}
	set, err := loaders.New(loaders.Config{
		Loaders: []loaders.Loader{b.blocks}, Decisions: &loaders.MemDecisions{}, Journal: &loaders.MemJournal{}, Clock: crdt.SystemClock{},
	})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(o.seed, 0))
	var docs []crdt.DocID
	for range offlineSessions {
		doc, err := b.randomLog(ctx, random, refs)
		if err != nil {
			return err
		}
		docs = append(docs, doc)
	}
	m := b.replayer(set)
	untrusted, err := b.replayed(ctx, m, docs, false)
	if err != nil {
		return err
	}
	dialled := d.n.Load()
	for _, ref := range refs {
		if _, err := set.Trust(ctx, loaders.TrustRequest{Ref: ref, Everywhere: true, None: true, Why: "bench"}); err != nil {
			return err
		}
	}
	live, err := b.replayed(ctx, m, docs, true)
	if err != nil {
		return err
	}
	count := func(what, against string, ours int64, aim float64) {
		var p pairs
		p.add(float64(ours), offlineSessions)
		t.add(row{what: what, against: against, size: fmt.Sprintf("%d random logs", offlineSessions), pairs: p, unit: inCount, aim: aim, exact: true})
	}
	count("T8 sessions replayed wholly, without a network", "all sessions", int64(live), 1)
	count("T8 sessions in which nothing runs before it is trusted", "all sessions", int64(untrusted), 1)
	count("T8 times that a peer was asked for bytes before anything was trusted", "sessions", dialled, 0)
	count("T8 the same afterwards", "sessions", d.n.Load()-dialled, 0)
	return b.close()
}

// bring packs the plugins elsewhere and takes them in as CAR files.
func (b *bed) bring(ctx context.Context, o *options) ([]extension.Ref, error) {
	store, err := ipld.Open(place(o, "packer"))
	if err != nil {
		return nil, err
	}
	away := &bed{dir: filepath.Dir(b.dir), blocks: ipld.New(ipld.Config{Store: store, ABI: moduleABI})}
	var refs []extension.Ref
	for i := range offlinePackages {
		name := fmt.Sprintf("off-%d", i)
		ref, err := away.pack(ctx, name, tinyPlugin(name))
		if err != nil {
			return nil, err
		}
		var file bytes.Buffer
		if err := away.blocks.Export(ctx, ref.Field("cid"), &file); err != nil {
			return nil, err
		}
		if _, err := b.blocks.Import(ctx, &file); err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// randomLog makes a session whose log switches packages and built-in names on and off at random.
func (b *bed) randomLog(ctx context.Context, random *rand.Rand, refs []extension.Ref) (crdt.DocID, error) {
	doc, err := b.newSession(ctx)
	if err != nil {
		return doc, err
	}
	for range 1 + random.IntN(offlineEvents) {
		ref := refs[random.IntN(len(refs))]
		if random.IntN(4) == 0 {
			ref = extension.BuiltinRef(nameOf(random.IntN(extensions)), "1.0.0")
		}
		kind := activation.Activated
		if random.IntN(3) == 0 {
			kind = activation.Deactivated
		}
		if err := b.turnOn(ctx, doc, kind, ref); err != nil {
			return doc, err
		}
	}
	return doc, nil
}

// replayHub installs what is trusted everywhere too.
type replayHub struct{ *hub.Hub }

func (h replayHub) Install(ctx context.Context, x extension.Extension) error {
	var errs []error
	for _, r := range h.Hub.Install(ctx, []extension.Extension{x}) {
		errs = append(errs, r.Err)
	}
	return errors.Join(errs...)
}

func (b *bed) replayer(set *loaders.Set) *replay.Manager {
	return replay.New(replay.Config{
		Documents: b.repo, Resolver: set, Hub: replayHub{b.hub}, Gate: b.hub,
		Build: func(ctx context.Context, _ crdt.DocID, r loaders.Resolution) (extension.Extension, error) {
			x, err := b.sandbox(r.Package, r.Caps, r.Limits)
			if err != nil {
				return nil, err
			}
			return x, x.Prepare(ctx)
		},
		Fetch: func(ctx context.Context, doc crdt.DocID, ref extension.Ref) error {
			return set.Fetch(ctx, ref, loaders.From{Doc: doc})
		},
		Blocks: func(context.Context, extension.Ref, loaders.Resolution) string { return "" },
		HasAny: func(context.Context, crdt.DocID, bool) {},
		Notice: func(context.Context, crdt.DocID, replay.Status) {},
	})
}

// replayed counts the sessions in which exactly those packages have tools that a fold from scratch has
// on; without trust, none.
func (b *bed) replayed(ctx context.Context, m *replay.Manager, docs []crdt.DocID, trusted bool) (good int, err error) {
	if err := m.Changed(ctx); err != nil {
		return 0, err
	}
	for _, doc := range docs {
		if err := m.Ensure(ctx, doc); err != nil {
			return 0, err
		}
		want := []string{}
		err := b.repo.View(ctx, doc, func(v *crdt.View) error {
			log := activation.NewLog()
			for r := range v.Rows(activation.Store) {
				log.Row(activation.Store, r)
			}
			for _, a := range log.ReadActive() {
				if trusted && a.Ref.Kind() == extension.IPLD {
					want = append(want, a.Name+"__say")
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		turn, err := b.hub.Turn(ctx, hub.TurnKey{Session: doc})
		if err != nil {
			return 0, err
		}
		got := map[string]bool{}
		for _, tool := range turn.Tools() {
			got[tool.Name] = true
		}
		turn.Release()
		slices.Sort(want)
		if slices.Equal(slices.Sorted(maps.Keys(got)), want) {
			good++
		}
	}
	return good, nil
}
