package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// exportPart is how many bytes of a file go into one event.
const exportPart = 256 << 10

// sessionExport sends a session as JSON lines, which sessionImport reads, or as an Automerge file.
func (n *Node) sessionExport(ctx context.Context, p control.SessionExportParams, out *control.Events[control.Chunk]) (control.Exported, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.Exported{}, err
	}
	x := &exporter{n: n, id: id, out: out, done: control.Exported{ID: id.String()}}
	err = n.repo.View(ctx, id, func(v *crdt.View) error {
		x.done.Entries = int64(crdt.SessionView{View: v}.Log().Len())
		return nil
	})
	if err != nil {
		return x.done, err
	}
	large, err := n.contents.standing(ctx, id)
	if err != nil {
		return x.done, err
	}
	switch p.Format {
	case control.FormatAutomerge:
		x.done.ContentsMissing = large.total()
		err = x.automerge(ctx)
	case "", control.FormatJSONL:
		if len(large.missing) > 0 && !p.AllowMissing {
			return x.done, n.exportLacks(id, large.missing)
		}
		x.allow, x.done.ContentsMissing = p.AllowMissing, len(large.missing)
		err = x.lines(ctx)
	default:
		err = usage("use jsonl or automerge", "export: unknown format %.20q", p.Format)
	}
	return x.done, err
}

// exportLacks names what an export would lose.
func (n *Node) exportLacks(id crdt.DocID, missing []crdt.LargeContent) error {
	const most = 5
	var names []string
	for _, x := range missing[:min(most, len(missing))] {
		names = append(names, fmt.Sprintf("%s (%d bytes, written by %s)", x.CID, x.Size, orElse(n.nameOf(x.Author), x.Author.Short())))
	}
	if more := len(missing) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return &control.Error{
		Code: control.CodeUnavailable, Cause: fmt.Sprintf("export session %s: %s not here: %s", id.Short(), largeContents(len(missing)), strings.Join(names, ", ")),
		Remedy: "connect to a peer that has it (`chaz-peer session show`), or repeat with --allow-missing to export its beginning",
	}
}

// exporter sends one session as a file.
type exporter struct {
	n     *Node
	id    crdt.DocID
	out   *control.Events[control.Chunk]
	allow bool // content may be missing
	done  control.Exported
}

func (x *exporter) automerge(ctx context.Context) error {
	file, err := x.n.repo.Export(ctx, x.id)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(file, exportPart) {
		x.done.Bytes += int64(len(part))
		if err := x.out.Send(control.Chunk{Data: part, Progress: control.Progress{Done: x.done.Bytes, Total: int64(len(file)), Unit: "bytes"}}); err != nil {
			return err
		}
	}
	return nil
}

// lines sends an entry a line. At most one large content is in memory.
func (x *exporter) lines(ctx context.Context) error {
	var count int64
	var b []byte
	send := func() error {
		for part := range slices.Chunk(b, exportPart) {
			x.done.Bytes += int64(len(part))
			if err := x.out.Send(control.Chunk{Data: part, Progress: control.Progress{Done: count, Total: x.done.Entries, Unit: "entries"}}); err != nil {
				return err
			}
		}
		b = b[:0]
		return nil
	}
	for i := 0; ; i += logPage {
		var page []crdt.Entry
		err := x.n.repo.View(ctx, x.id, func(v *crdt.View) error {
			page = crdt.SessionView{View: v}.Entries(i, logPage)
			return nil
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			line, err := x.line(ctx, e)
			if err != nil {
				return fmt.Errorf("export entry: %w", err)
			}
			count++
			if b = append(append(b, line...), '\n'); len(b) < exportPart {
				continue
			}
			if err := send(); err != nil {
				return err
			}
		}
		if err := send(); err != nil {
			return err
		}
	}
}

type exportLine struct {
	control.Entry
	AgentID  string          `json:"agent_db_id,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Routing  json.RawMessage `json:"routing,omitempty"`
}

func (x *exporter) line(ctx context.Context, e crdt.Entry) ([]byte, error) {
	l := exportLine{x.n.entryOut(ctx, e), e.AgentID, e.Metadata, e.Routing}
	if l.ContentMissing {
		c, ok := e.Outside()
		switch {
		case !ok || x.n.contents.knownInvalid(c) != "":
			// There is no more of it than this anywhere.
			l.ContentCID, l.ContentSize, l.ContentMissing = "", 0, false
		case !x.allow:
			return nil, fmt.Errorf("%s (%d bytes): %s", c.CID, c.Size, l.ContentReason)
		}
	}
	return json.Marshal(l)
}
