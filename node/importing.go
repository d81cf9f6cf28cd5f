package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// importLine is one line of a conversation file. Unknown fields are an error: they would be lost.
type importLine struct {
	ID        string          `json:"id"` // what an export adds; not kept
	Sender    string          `json:"sender"`
	Content   *string         `json:"content"`
	Timestamp *stamp          `json:"timestamp"`
	EntryType string          `json:"entry_type"`
	AgentID   string          `json:"agent_db_id"`
	Metadata  json.RawMessage `json:"metadata"`
	Routing   json.RawMessage `json:"routing"`
}

type stamp int64

func (s *stamp) UnmarshalJSON(b []byte) error {
	text := string(b)
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	ms, err := crdt.ParseStamp(text)
	*s = stamp(ms)
	return err
}

const maxImportLine = 1 << 20

// readEntries reads a whole file of JSON lines; a fault names its line, and nothing is kept.
func readEntries(r io.Reader, report func(bytes int64) error) ([]crdt.Entry, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), maxImportLine)
	var out []crdt.Entry
	var read int64
	line := 0
	for sc.Scan() {
		line++
		read += int64(len(sc.Bytes())) + 1
		if strings.TrimSpace(sc.Text()) == "" {
			continue
		}
		e, err := readEntry(sc.Bytes())
		if err != nil {
			return nil, importFault(line, err)
		}
		e.N = uint64(len(out) + 1)
		out = append(out, e)
		if len(out)%1000 == 0 {
			if err := report(read); err != nil {
				return nil, err
			}
		}
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, importFault(line+1, fmt.Errorf("longer than %d bytes", maxImportLine))
	} else if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return out, report(read)
}

func importFault(line int, err error) error {
	return &control.Error{Code: control.CodeUsage, Cause: fmt.Sprintf("import: line %d: %s", line, err), Remedy: "nothing was imported; mend the line and import again"}
}

func readEntry(b []byte) (crdt.Entry, error) {
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	var l importLine
	if err := dec.Decode(&l); err != nil {
		return crdt.Entry{}, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return crdt.Entry{}, errors.New("more than one JSON value")
	}
	switch {
	case l.Content == nil:
		return crdt.Entry{}, errors.New("no content")
	case l.Timestamp == nil:
		return crdt.Entry{}, errors.New("no timestamp")
	}
	t, err := crdt.ParseEntryType(orElse(l.EntryType, string(crdt.EntryMessage)))
	if err != nil {
		return crdt.Entry{}, err
	}
	e := crdt.Entry{Sender: l.Sender, Content: *l.Content, Timestamp: int64(*l.Timestamp), Type: t, AgentID: l.AgentID, Metadata: l.Metadata, Routing: l.Routing}
	if text, err := crdt.Canonical(e); err != nil {
		return e, err
	} else if len(text) > crdt.MaxValue-256 {
		return e, fmt.Errorf("%d bytes are over the limit of %d for one entry", len(text), crdt.MaxValue-256)
	}
	return e, nil
}

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
	entries, err := readEntries(out.Upload(), func(done int64) error {
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
	return control.Imported{ID: id.String(), Entries: int64(len(entries))}, nil
}

// sessionExport sends a session as JSON lines, which sessionImport reads, or as an Automerge file.
func (n *Node) sessionExport(ctx context.Context, p control.SessionExportParams, out *control.Events[control.Chunk]) (control.Exported, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.Exported{}, err
	}
	done := control.Exported{ID: id.String()}
	err = n.repo.View(ctx, id, func(v *crdt.View) error {
		done.Entries = int64(crdt.SessionView{View: v}.Log().Len())
		return nil
	})
	if err != nil {
		return done, err
	}
	switch p.Format {
	case control.FormatAutomerge:
		file, err := n.repo.Export(ctx, id)
		if err != nil {
			return done, err
		}
		total := int64(len(file))
		for part := range slices.Chunk(file, 256<<10) {
			done.Bytes += int64(len(part))
			if err := out.Send(control.Chunk{Data: part, Progress: control.Progress{Done: done.Bytes, Total: total, Unit: "bytes"}}); err != nil {
				return done, err
			}
		}
		return done, nil
	case "", control.FormatJSONL:
		return done, n.exportLines(ctx, id, &done, out)
	}
	return done, usage("use jsonl or automerge", "export: unknown format %.20q", p.Format)
}

func (n *Node) exportLines(ctx context.Context, id crdt.DocID, done *control.Exported, out *control.Events[control.Chunk]) error {
	var count int64
	for i := 0; ; i += logPage {
		var page []crdt.Entry
		err := n.repo.View(ctx, id, func(v *crdt.View) error {
			page = crdt.SessionView{View: v}.Entries(i, logPage)
			return nil
		})
		if err != nil || len(page) == 0 {
			return err
		}
		var b strings.Builder
		for _, e := range page {
			line, err := json.Marshal(exportLine{entryOut(e), e.AgentID, e.Metadata, e.Routing})
			if err != nil {
				return fmt.Errorf("export entry: %w", err)
			}
			b.Write(line)
			b.WriteByte('\n')
		}
		count += int64(len(page))
		done.Bytes += int64(b.Len())
		if err := out.Send(control.Chunk{Data: []byte(b.String()), Progress: control.Progress{Done: count, Total: done.Entries, Unit: "entries"}}); err != nil {
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
