package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
	"github.com/chaz-peer/chaz-peer/loaders/wasm"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

// bed is a peer without network that runs sandboxed extensions: documents on a disk, a hub, blocks, an
// engine.
type bed struct {
	*peer
	dir    string
	hub    *hub.Hub
	blocks *ipld.Loader
	engine *engine.Engine
}

func newBed(ctx context.Context, dir string, peers ipld.Peers) (*bed, error) {
	id, err := newIdentity()
	if err != nil {
		return nil, err
	}
	b := &bed{dir: dir}
	if b.peer, err = openPeer(ctx, filepath.Join(dir, "store"), id, true); err != nil {
		return nil, err
	}
	store, err := ipld.Open(filepath.Join(dir, "blocks"))
	if err != nil {
		return nil, err
	}
	b.blocks = ipld.New(ipld.Config{Store: store, Peers: peers, ABI: moduleABI})
	b.engine, err = engine.New(ctx, engine.Config{CacheDir: filepath.Join(dir, "cache"), CacheKey: []byte(cacheKey)})
	if err != nil {
		return nil, err
	}
	b.hub = hub.New(hub.Config{
		Peer: &extension.Peer{Self: b.id.PeerID(), Clock: crdt.SystemClock{}}, Documents: b.repo, Clock: crdt.SystemClock{},
	})
	return b, nil
}

func (b *bed) close() error {
	ctx := context.Background()
	return errors.Join(b.hub.Close(ctx), b.engine.Close(ctx), b.peer.close())
}

// newSession makes a session.
func (b *bed) newSession(ctx context.Context) (crdt.DocID, error) {
	return b.repo.Create(ctx, crdt.Session, func(tx *crdt.Tx) error { return tx.Set(crdt.MetaStore, "name", "bench") })
}

// turnOn writes the row that switches an extension on.
func (b *bed) turnOn(ctx context.Context, doc crdt.DocID, kind activation.Kind, ref extension.Ref) error {
	return b.repo.Update(ctx, doc, func(tx *crdt.Tx) error {
		log, err := logOf(tx.View)
		if err != nil {
			return err
		}
		events, err := log.Next(tx.Now(), kind, ref.Name(), ref)
		if err != nil {
			return err
		}
		for _, e := range events {
			if _, err := tx.PutRow(activation.Store, e.Text); err != nil {
				return err
			}
		}
		return nil
	})
}

// pack keeps a module under a name and returns its reference.
func (b *bed) pack(ctx context.Context, name string, module []byte) (extension.Ref, error) {
	file := filepath.Join(b.dir, name+".wasm")
	if err := os.WriteFile(file, module, 0o600); err != nil {
		return extension.Ref{}, err
	}
	packed, err := b.blocks.Pack(ctx, file, ipld.PackOptions{})
	if err != nil {
		return extension.Ref{}, err
	}
	return extension.IPLDRef(name, packed.Root), nil
}

// load makes an extension of what is packed, with what powers its manifest asks for.
func (b *bed) load(ctx context.Context, ref extension.Ref, limits extension.GuestLimits) (*wasm.Extension, error) {
	p, err := b.blocks.Load(ctx, ref)
	if err != nil {
		return nil, err
	}
	x, err := b.sandbox(p, p.Manifest.Capabilities, limits)
	if err != nil {
		return nil, err
	}
	return x, x.Prepare(ctx)
}

func (b *bed) sandbox(p *loaders.Package, caps extension.GuestCaps, limits extension.GuestLimits) (*wasm.Extension, error) {
	m := wasm.Module{
		Decl: p.Manifest.Declaration(p.Ref), Version: p.Manifest.Version, ABI: p.Manifest.ABI, WASM: p.WASM, SHA256: p.Key().WASM,
		Caps: caps, Limits: limits,
	}
	for _, t := range p.Manifest.Tools {
		m.Tools = append(m.Tools, wasm.DeclaredTool(t))
	}
	for _, c := range p.Manifest.Commands {
		m.Commands = append(m.Commands, wasm.DeclaredCommand(c))
	}
	return wasm.New(wasm.FromEngine(b.engine), m, wasm.Services{})
}

// seat switches extensions on in a fresh session and starts a turn there.
func (b *bed) seat(ctx context.Context, list ...extension.Extension) (crdt.DocID, *hub.Turn, error) {
	doc, err := b.newSession(ctx)
	if err != nil {
		return doc, nil, err
	}
	for _, x := range list {
		ref := x.Declaration().Ref
		if ref.Kind() != extension.Builtin {
			err = b.hub.InstallIn(ctx, doc, x)
		}
		if err = errors.Join(err, b.turnOn(ctx, doc, activation.Activated, ref)); err != nil {
			return doc, nil, err
		}
	}
	turn, err := b.hub.Turn(ctx, hub.TurnKey{Session: doc})
	return doc, turn, err
}

// cacheKey seals compiled code between the processes of one run.
const cacheKey = "the same in every process of a run"

// moduleABI tells which interface of plugins a module speaks.
func moduleABI(module []byte) (string, error) {
	info, err := meter.Inspect(module)
	if err != nil {
		return "", err
	}
	abi, ok := wasm.DetectABI(func(name string) bool {
		for _, e := range info.Exports {
			if e.Name == name {
				return true
			}
		}
		return false
	})
	if !ok {
		return "", fmt.Errorf("the module speaks no interface of plugins")
	}
	return abi, nil
}
