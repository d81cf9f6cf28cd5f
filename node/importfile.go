package node

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// ReadAutomergeFile is what the process named by [Config.FileReader] does: it reads an Automerge file
// from in and writes what is in it to out. Foreign bytes can kill the document core, so it must be
// the whole life of a process.
func ReadAutomergeFile(in io.Reader, out io.Writer) error { return automerge.RunReader(in, out) }

// importAutomerge takes the content of a session document of any Automerge client into a new
// session, signed by this peer. History and authors do not come along.
func (n *Node) importAutomerge(ctx context.Context, p control.SessionImportParams, file io.Reader) (control.Imported, error) {
	if p.Session != "" {
		return control.Imported{}, usage("leave --session out", "import: an Automerge file becomes a new session")
	}
	if len(n.cfg.FileReader) == 0 {
		return control.Imported{}, &control.Error{Code: control.CodeUnavailable, Cause: "import: this program has no reader for Automerge files", Remedy: "import JSON lines"}
	}
	data, err := io.ReadAll(io.LimitReader(file, automerge.MaxFile+1))
	if err != nil {
		return control.Imported{}, fmt.Errorf("import: %w", err)
	}
	if len(data) > automerge.MaxFile {
		return control.Imported{}, &control.Error{Code: control.CodeTooLarge, Cause: fmt.Sprintf("import: the file has more than %d bytes", automerge.MaxFile), Remedy: "split the conversation"}
	}
	child := automerge.Child{Path: n.cfg.FileReader[0], Args: n.cfg.FileReader[1:]}
	stores, err := child.Values(ctx, data)
	if err != nil {
		return control.Imported{}, &control.Error{Code: control.CodeUsage, Cause: fmt.Sprintf("import: %s", err), Remedy: "nothing was imported; the file must be a session document as exported"}
	}
	count := len(stores[crdt.EntriesStore])
	id, err := n.createSession(ctx, p.Name, nil, "import", func(tx *crdt.Tx) error {
		tx.Bulk()
		return fillFrom(tx, stores)
	})
	if err != nil {
		return control.Imported{}, err
	}
	return n.imported(ctx, id, count)
}

// fillFrom writes the values of a file's stores. What has no place in a session is an error, so that
// nothing is dropped unseen.
func fillFrom(tx *crdt.Tx, stores automerge.Stores) error {
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		spec, ok := crdt.Session.Store(name)
		if !ok {
			return usage("the file must be a session document as exported", "import: a session has no store %.40q", name)
		}
		for _, key := range slices.Sorted(maps.Keys(stores[name])) {
			if name == crdt.MetaStore && (key == crdt.MetaDocKey || key == crdt.MetaName || key == crdt.MetaHost) {
				continue // they speak of the document that the file was
			}
			value := rawOr(stores[name][key])
			if !crdt.ValidValue(string(value)) {
				return usage("", "import: %s/%.40s holds no JSON text", name, key)
			}
			var err error
			if spec.Rows {
				_, err = tx.AddRow(name, value)
			} else {
				err = tx.Set(name, key, value)
			}
			if err != nil {
				return fmt.Errorf("import: %w", err)
			}
		}
	}
	return nil
}
