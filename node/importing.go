package node

import (
	"context"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// sessionImport reads a conversation into a new session, or into an existing one. All of it becomes
// visible at once, or nothing.
func (n *Node) sessionImport(ctx context.Context, p control.SessionImportParams, out *control.Events[control.Progress]) (control.Imported, error) {
	switch p.Format {
	case "", control.FormatJSONL:
	case control.FormatAutomerge:
		return n.importAutomerge(ctx, p, out.Upload())
	default:
		return control.Imported{}, usage("use jsonl or automerge", "import: unknown format %.20q", p.Format)
	}
	var id crdt.DocID
	var err error
	if p.Session != "" {
		if id, err = n.findSession(p.Session); err != nil {
			return control.Imported{}, err
		}
	}
	entries, err := n.readEntries(ctx, out.Upload(), func(done int64) error {
		return out.Send(control.Progress{Done: done, Total: p.Size, Unit: "bytes"})
	})
	if err != nil {
		return control.Imported{}, err
	}
	fill := func(tx *crdt.Tx) error {
		tx.Bulk()
		for _, e := range entries {
			if _, err := crdt.AddEntry(tx, e); err != nil {
				return err
			}
		}
		return nil
	}
	if p.Session != "" {
		err = n.repo.Update(ctx, id, fill)
	} else {
		id, err = n.createSession(ctx, p.Name, nil, "import", fill)
	}
	if err != nil {
		return control.Imported{}, denied(err)
	}
	return n.imported(ctx, id, len(entries))
}

// imported ends an import with what the session lacks.
func (n *Node) imported(ctx context.Context, id crdt.DocID, entries int) (control.Imported, error) {
	s, err := n.contents.standing(ctx, id)
	if err == nil && s.total() > 0 {
		err = n.contents.remember(ctx, id)
	}
	return control.Imported{ID: id.String(), Entries: int64(entries), ContentsMissing: len(s.missing)}, err
}
