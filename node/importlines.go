package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	// Where large content was missing at the export, the line names it; else these are not kept.
	ContentCID     string `json:"content_cid"`
	ContentSize    int64  `json:"content_size"`
	ContentMissing bool   `json:"content_missing"`
	ContentReason  string `json:"content_reason"`
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

// maxImportLine is the longest line: the most content, every byte of it escaped, and the other fields.
const maxImportLine = 6*crdt.MaxContent + 1<<20

// errLongLine ends the reading of a line that is too long.
var errLongLine = fmt.Errorf("longer than %d bytes", maxImportLine)

// lineReader reads one line after the other without keeping them.
type lineReader struct {
	r    *bufio.Reader
	read int64 // bytes of all lines
	line int64 // bytes of this one
	end  bool  // of this line
	eof  bool  // of the file
}

// Read implements [io.Reader] for one line; its end is io.EOF.
func (l *lineReader) Read(b []byte) (int, error) {
	if l.end || len(b) == 0 {
		return 0, io.EOF
	}
	if _, err := l.r.Peek(1); err != nil {
		if err == io.EOF {
			l.end, l.eof = true, true
		}
		return 0, err
	}
	have, _ := l.r.Peek(min(len(b), l.r.Buffered()))
	n := len(have)
	if i := bytes.IndexByte(have, '\n'); i >= 0 {
		n, l.end = i+1, true
	}
	if l.line += int64(n); l.line > maxImportLine {
		return 0, errLongLine
	}
	l.read += int64(n)
	copy(b, have[:n])
	_, err := l.r.Discard(n)
	return n, err
}

// next goes on to the next line, if there is one. What the last one had left must have been read.
func (l *lineReader) next() bool {
	l.line, l.end = 0, false
	return !l.eof
}

// readEntries reads a whole file of JSON lines; a fault names its line, and nothing is kept. One line is
// in memory at a time: large content becomes blocks at once.
func (n *Node) readEntries(ctx context.Context, r io.Reader, report func(bytes int64) error) ([]crdt.Entry, error) {
	in := &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
	var out []crdt.Entry
	for line := 1; in.next(); line++ {
		e, blank, err := n.readEntry(ctx, in)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, importFault(line, err)
		}
		if blank {
			continue
		}
		e.N = uint64(len(out) + 1)
		out = append(out, e)
		if len(out)%1000 == 0 || e.ContentCID != "" {
			if err := report(in.read); err != nil {
				return nil, err
			}
		}
	}
	return out, report(in.read)
}

// notTheLine marks an error that no change of the file would mend.
type notTheLine struct{ error }

func (e notTheLine) Unwrap() error { return e.error }

func importFault(line int, err error) error {
	var said *control.Error
	if errors.As(err, &notTheLine{}) || errors.As(err, &said) {
		return fmt.Errorf("import: line %d: %w", line, err)
	}
	return &control.Error{Code: control.CodeUsage, Cause: fmt.Sprintf("import: line %d: %s", line, err), Remedy: "nothing was imported; mend the line and import again"}
}

// readEntry reads one line to its end; blank says that there was nothing on it.
func (n *Node) readEntry(ctx context.Context, line io.Reader) (e crdt.Entry, blank bool, err error) {
	dec := json.NewDecoder(line)
	dec.DisallowUnknownFields()
	var l importLine
	if err := dec.Decode(&l); err == io.EOF {
		return e, true, nil
	} else if err != nil {
		return e, false, err
	}
	if _, err := dec.Token(); err != io.EOF {
		if errors.Is(err, errLongLine) {
			return e, false, err
		}
		return e, false, errors.New("more than one JSON value")
	}
	if e, err = l.entry(); err != nil {
		return e, false, err
	}
	if !l.ContentMissing {
		if len(e.Content) > crdt.MaxContent {
			return e, false, fmt.Errorf("its text has %d bytes, an entry may have at most %d (64 MiB)", len(e.Content), crdt.MaxContent)
		}
		if err := n.moveOut(ctx, &e); err != nil {
			return e, false, notTheLine{err}
		}
	}
	if text, err := crdt.Canonical(e); err != nil {
		return e, false, err
	} else if len(text) > crdt.MaxValue-256 {
		return e, false, fmt.Errorf("%d bytes without the text are over the limit of %d for one entry", len(text), crdt.MaxValue-256)
	}
	return e, false, nil
}

func (l *importLine) entry() (crdt.Entry, error) {
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
	if !l.ContentMissing {
		return e, nil
	}
	e.ContentCID, e.ContentSize = l.ContentCID, l.ContentSize
	x, ok := e.Outside()
	if !ok {
		return e, fmt.Errorf("content_missing with %d bytes under a CID of %d characters: content has 1 to %d bytes", l.ContentSize, len(l.ContentCID), crdt.MaxContent)
	}
	return e, checkContent(x)
}
