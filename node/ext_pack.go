package node

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
	"github.com/chaz-peer/chaz-peer/loaders/registry"
	"github.com/chaz-peer/chaz-peer/node/control"
)

func (n *Node) extPack(ctx context.Context, p control.ExtPackParams) (control.ExtPacked, error) {
	if err := checkPath(p.Path); err != nil {
		return control.ExtPacked{}, usage("give a folder with a manifest.json, or a .wasm file", "%s", err)
	}
	done, err := n.loading.ipld.Pack(ctx, p.Path, ipld.PackOptions{Profile: ipld.Profile(p.Profile)})
	if err != nil {
		return control.ExtPacked{}, usage("see docs/extensions.md for what a package holds", "%s", err)
	}
	n.loading.set.Changed()
	out := control.ExtPacked{
		Name: nameFromFile(p.Path), Root: done.Root, Module: done.Module, Ref: "ipld:" + done.Root, WASMSHA256: done.SHA256, Size: done.Size, Blocks: done.Blocks,
	}
	if done.Manifest != nil {
		out.Name, out.Version = done.Manifest.Name, done.Manifest.Version
	}
	pkg, err := n.loading.ipld.Load(ctx, extension.IPLDRef(out.Name, done.Root))
	if err != nil {
		return out, err
	}
	out.Key = pkg.Key().String()
	return out, nil
}

func (n *Node) extPublish(ctx context.Context, p control.ExtPublishParams) (control.ExtPublished, error) {
	out := control.ExtPublished{CID: p.CID}
	if (p.CID == "") == (p.Path == "") {
		return out, usage("give a folder, a module, or --cid", "publish: give either a path or a CID")
	}
	if p.Path != "" {
		packed, err := n.extPack(ctx, control.ExtPackParams{Path: p.Path})
		if err != nil {
			return out, err
		}
		out.CID = packed.Root
	}
	ref, err := n.identify(ctx, source{kind: extension.IPLD, cid: out.CID, name: p.Name}, loaders.From{})
	if err != nil {
		return out, err
	}
	pkg, err := n.loading.ipld.Load(ctx, ref)
	if err != nil {
		return out, extFault(err)
	}
	out.Name, out.Version = ref.Name(), orElse(p.Version, pkg.Manifest.Version)
	if err := registry.CheckVersion(out.Version); err != nil {
		return out, usage("give one with --version", "publish %s: %s", out.Name, err)
	}
	doc, err := n.packageFor(ctx, p, &out)
	if err != nil {
		return out, err
	}
	err = n.repo.Update(ctx, doc, func(tx *crdt.Tx) error {
		return registry.Publish(tx, registry.Release{Version: out.Version, CID: out.CID, SHA256: pkg.SHA256()})
	})
	out.Doc, out.Ref = doc.String(), "registry:"+doc.String()+"@"+out.Version
	n.loading.set.Changed()
	return out, denied(err)
}

func (n *Node) packageFor(ctx context.Context, p control.ExtPublishParams, out *control.ExtPublished) (crdt.DocID, error) {
	if p.Doc != "" {
		return n.findPackage(ctx, p.Doc)
	}
	out.Made = true
	return n.createPackage(ctx, orElse(p.Name, out.Name), p.Private)
}

func (n *Node) extYank(ctx context.Context, p control.ExtYankParams) (control.ExtRelease, error) {
	doc, err := n.findPackage(ctx, p.Doc)
	if err != nil {
		return control.ExtRelease{}, err
	}
	if err := n.repo.Update(ctx, doc, func(tx *crdt.Tx) error { return registry.Yank(tx, p.Version, p.Reason) }); err != nil {
		return control.ExtRelease{}, denied(err)
	}
	n.loading.set.Changed()
	list, err := n.releases(ctx, doc)
	for _, r := range list {
		if r.Version == p.Version {
			return r, err
		}
	}
	return control.ExtRelease{}, err
}

func (n *Node) extReleases(ctx context.Context, p control.ExtReleasesParams) (control.List[control.ExtRelease], error) {
	doc, err := n.findPackage(ctx, p.Doc)
	if err != nil {
		return nil, err
	}
	return n.releases(ctx, doc)
}

func (n *Node) releases(ctx context.Context, doc crdt.DocID) (control.List[control.ExtRelease], error) {
	var list []registry.Release
	err := n.repo.View(ctx, doc, func(v *crdt.View) error { list = registry.Releases(v); return nil })
	if err != nil {
		return nil, err
	}
	out := control.List[control.ExtRelease]{}
	for _, r := range list {
		_, missing := n.loading.ipld.Closure(ctx, r.CID)
		out = append(out, control.ExtRelease{
			Version: r.Version, CID: r.CID, Ref: "registry:" + doc.String() + "@" + r.Version, At: control.Time(r.At), By: r.By.String(), ByName: n.nameOf(r.By),
			Yanked: r.Yanked != "", Reason: r.Yanked, BytesHere: missing == nil,
		})
	}
	return out, nil
}

func (n *Node) extExport(ctx context.Context, p control.ExtExportParams, out *control.Events[control.Chunk]) (control.ExtExported, error) {
	t, err := n.findExt(ctx, p.Ref, p.Session, loaders.From{})
	if err != nil {
		return control.ExtExported{}, err
	}
	r := n.loading.set.Resolve(ctx, t.session, t.ref.Name(), t.ref)
	if r.Package == nil {
		return control.ExtExported{}, &control.Error{Code: control.CodeNotFound, Cause: fmt.Sprintf("export %s: %s: %s", t.ref.Name(), r.State, r.Reason), Remedy: r.Remedy}
	}
	done := control.ExtExported{Name: t.ref.Name(), Root: r.Package.Root}
	if done.Root == "" {
		return done, usage("pack its folder with `chaz-peer ext pack` and export that", "export %s: code of a git repository has no CID", t.ref.Name())
	}
	blocks, err := n.loading.ipld.Closure(ctx, done.Root)
	if err != nil {
		return done, extFault(err)
	}
	done.Blocks = len(blocks)
	w := &chunkWriter{out: out}
	if err := n.loading.ipld.Export(ctx, done.Root, w); err != nil {
		return done, extFault(err)
	}
	done.Bytes = w.done
	return done, nil
}

// chunkWriter sends what is written to it as events.
type chunkWriter struct {
	out  *control.Events[control.Chunk]
	done int64
}

// Write implements [io.Writer].
func (w *chunkWriter) Write(b []byte) (int, error) {
	for part := range slices.Chunk(b, 256<<10) {
		w.done += int64(len(part))
		if err := w.out.Send(control.Chunk{Data: part, Progress: control.Progress{Done: w.done, Unit: "bytes"}}); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (n *Node) extImport(ctx context.Context, p control.ExtImportParams, out *control.Events[control.Progress]) (control.ExtImported, error) {
	file := &countingReader{r: out.Upload(), tell: func(done int64) error {
		return out.Send(control.Progress{Done: done, Total: p.Size, Unit: "bytes"})
	}}
	in, err := n.loading.ipld.Import(ctx, file)
	if err != nil {
		return control.ExtImported{}, extFault(err)
	}
	n.loading.set.Changed()
	res := control.ExtImported{Root: in.Root, Ref: "ipld:" + in.Root, Blocks: in.Blocks, State: "pending"}
	if in.Manifest != nil {
		res.Name, res.Version = in.Manifest.Name, in.Manifest.Version
		ref := extension.IPLDRef(res.Name, in.Root)
		pkg, err := n.loading.ipld.Load(ctx, ref)
		if err != nil {
			return res, extFault(err)
		}
		res.Key, res.Size = pkg.Key().String(), int64(len(pkg.WASM))
		res.State = stateWord(n.loading.set.Resolve(ctx, crdt.DocID{}, res.Name, ref).State)
	}
	return res, n.loading.replay.Changed(ctx)
}

// countingReader tells of the bytes that were read, every 256 KiB.
type countingReader struct {
	r          io.Reader
	done, told int64
	tell       func(int64) error
}

// Read implements [io.Reader].
func (c *countingReader) Read(b []byte) (int, error) {
	k, err := c.r.Read(b)
	c.done += int64(k)
	if c.done-c.told >= 256<<10 {
		c.told = c.done
		if err := c.tell(c.done); err != nil {
			return k, err
		}
	}
	return k, err
}

// young blocks are spared by a collection: what is being packed or fetched has no root yet.
const young = time.Hour

func (n *Node) extGC(ctx context.Context, p control.ExtGCParams) (control.ExtCollected, error) {
	roots, err := n.blockRoots(ctx)
	if err != nil {
		return control.ExtCollected{}, err
	}
	opt := ipld.KeepOptions{Delete: !p.DryRun, Before: time.Now().Add(-young)}
	swept, err := n.loading.ipld.Keep(ctx, roots, opt)
	n.loading.set.Changed()
	return control.ExtCollected{DryRun: p.DryRun, Blocks: len(swept.Blocks), Bytes: swept.Bytes, Kept: roots}, err
}

// blockRoots lists every CID that something here names: what sessions ever switched on, releases, large
// entries, decisions.
func (n *Node) blockRoots(ctx context.Context) ([]string, error) {
	seen := map[string]bool{}
	note := func(ref extension.Ref) {
		if cid := rootOf(ref); ref.Kind() == extension.IPLD && cid != "" {
			seen[cid] = true
		}
	}
	for _, s := range n.repo.List() {
		err := n.repo.Peek(ctx, s.ID, func(v *crdt.View) error {
			switch s.Kind {
			case crdt.Package:
				for _, r := range registry.Releases(v) {
					seen[r.CID] = true
				}
			case crdt.Session:
				log, err := activationLog(v)
				if err != nil {
					return err
				}
				for name := range log.State() {
					for _, e := range log.History(name) {
						if e.Rule != activation.RuleIgnored {
							note(e.Ref)
						}
					}
				}
				for _, cid := range (crdt.SessionView{View: v}).Log().Contents() {
					seen[cid] = true
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	decisions, err := n.loading.set.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range decisions {
		if ref, err := extension.ParseRef([]byte(d.Ref)); err == nil && !d.Deny {
			note(ref)
		}
	}
	out := make([]string, 0, len(seen))
	for cid := range seen {
		out = append(out, cid)
	}
	slices.Sort(out)
	return out, nil
}
