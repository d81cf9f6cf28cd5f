package crdt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// EntriesStore is the row store of a session's conversation; EntriesIndex is the name of the index
// over it, which every [Repo] must register ([EntryIndex]).
const (
	EntriesStore = "entries"
	EntriesIndex = "entries"
)

// EntryType says what an entry of a conversation is.
type EntryType string

// The entry types.
const (
	EntryMessage          EntryType = "message"
	EntryDirective        EntryType = "directive"
	EntryToolCall         EntryType = "tool_call"
	EntryToolResult       EntryType = "tool_result"
	EntryAck              EntryType = "ack"
	EntryError            EntryType = "error"
	EntrySummary          EntryType = "summary"
	EntryApprovalRequest  EntryType = "approval_request"
	EntryApprovalDecision EntryType = "approval_decision"
)

// ParseEntryType reads an entry type in snake_case or CamelCase, in any case.
func ParseEntryType(s string) (EntryType, error) {
	flat := strings.ToLower(strings.ReplaceAll(s, "_", ""))
	for _, t := range []EntryType{EntryMessage, EntryDirective, EntryToolCall, EntryToolResult, EntryAck, EntryError, EntrySummary, EntryApprovalRequest, EntryApprovalDecision} {
		if strings.ReplaceAll(string(t), "_", "") == flat {
			return t, nil
		}
	}
	return "", fmt.Errorf("parse entry type %q: want message, directive, tool_call, tool_result, ack, error, summary, approval_request or approval_decision", clip(s))
}

// Entry is one entry of a conversation. Peer and N make saying the same thing twice in one
// millisecond two rows.
type Entry struct {
	ID        RowID           `json:"-"`
	Sender    string          `json:"sender"`
	Content   string          `json:"content"`
	Timestamp int64           `json:"timestamp"` // ms since 1970, UTC
	Type      EntryType       `json:"entry_type"`
	Peer      PeerID          `json:"peer"`
	N         uint64          `json:"n"` // counts the entries of Peer in this session
	AgentID   string          `json:"agent_db_id,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	// ContentCID names the whole content where it was too large for a row: Content is then its
	// beginning, ContentSize the bytes of all of it. The bytes travel beside the document. Both are
	// what the writer says: see Outside.
	ContentCID  string          `json:"content_cid,omitempty"`
	ContentSize int64           `json:"content_size,omitempty"`
	Routing     json.RawMessage `json:"routing,omitempty"`
}

// ParseEntry reads the row of an entry.
func ParseEntry(r Row) (Entry, error) {
	var e Entry
	if err := json.Unmarshal([]byte(r.Value), &e); err != nil {
		return e, fmt.Errorf("read entry %s: %w", r.ID.String()[:12], err)
	}
	t, err := ParseEntryType(string(e.Type))
	if err != nil {
		return e, fmt.Errorf("read entry %s: %w", r.ID.String()[:12], err)
	}
	e.Type, e.ID = t, r.ID
	return e, nil
}

// EntryLog orders the entries of a session by (timestamp, id). It is an [Index]; reads need the
// same lock as the view it belongs to.
type EntryLog struct {
	order []entryPlace
	count map[PeerID]uint64 // highest N of each peer
	large map[Content]largePlace
	cids  map[string]bool // of large
}

type entryPlace struct {
	at int64
	id RowID
}

func (a entryPlace) compare(b entryPlace) int {
	switch {
	case a.at < b.at:
		return -1
	case a.at > b.at:
		return 1
	}
	return slices.Compare(a.id[:], b.id[:])
}

// EntryIndex registers the entry index.
func EntryIndex() IndexSpec {
	return IndexSpec{Name: EntriesIndex, Kinds: []Kind{Session}, New: func() Index {
		return &EntryLog{count: map[PeerID]uint64{}, large: map[Content]largePlace{}, cids: map[string]bool{}}
	}}
}

// Row implements [Index]. A row that is no entry is kept in the document and left out here.
func (l *EntryLog) Row(store string, r Row) {
	if store != EntriesStore {
		return
	}
	e, err := ParseEntry(r)
	if err != nil {
		return
	}
	l.count[e.Peer] = max(l.count[e.Peer], e.N)
	p := entryPlace{e.Timestamp, r.ID}
	l.noteLarge(e, p, r.Author)
	if n := len(l.order); n == 0 || l.order[n-1].compare(p) < 0 {
		l.order = append(l.order, p)
		return
	}
	at, _ := slices.BinarySearchFunc(l.order, p, entryPlace.compare)
	l.order = slices.Insert(l.order, at, p)
}

// Gone implements [Index]; entries are never deleted.
func (l *EntryLog) Gone(string, RowID) {}

// Len is the number of well-formed entries.
func (l *EntryLog) Len() int { return len(l.order) }

// Newest is the greatest timestamp; ok is false for an empty log.
func (l *EntryLog) Newest() (at int64, ok bool) {
	if len(l.order) == 0 {
		return 0, false
	}
	return l.order[len(l.order)-1].at, true
}

// SessionView reads a session document.
type SessionView struct{ *View }

// Log is the entry index.
func (s SessionView) Log() *EntryLog {
	l, _ := s.Index(EntriesIndex).(*EntryLog)
	if l == nil {
		return &EntryLog{}
	}
	return l
}

// Entries returns entries from the i-th on in order, at most n (all if n < 0).
func (s SessionView) Entries(i, n int) []Entry {
	order := s.Log().order
	order = order[min(max(i, 0), len(order)):]
	if n >= 0 {
		order = order[:min(n, len(order))]
	}
	out := make([]Entry, 0, len(order))
	for _, p := range order {
		if r, ok := s.Row(EntriesStore, p.id); ok {
			if e, err := ParseEntry(r); err == nil {
				out = append(out, e)
			}
		}
	}
	return out
}

// AddEntry writes an entry. A zero timestamp is stamped so that the entry comes after all that are
// here; Peer and N are filled in.
func AddEntry(tx *Tx, e Entry) (RowID, error) {
	log := SessionView{tx.View}.Log()
	if e.Timestamp == 0 {
		newest, ok := log.Newest()
		e.Timestamp = After(tx.Now(), newest, ok)
	}
	if e.Type == "" {
		e.Type = EntryMessage
	}
	e.Peer = tx.Self()
	e.N = max(e.N, log.count[e.Peer]+1+uint64(len(tx.edits)))
	return tx.AddRow(EntriesStore, e)
}

// FormatStamp prints a stamp as RFC 3339 UTC with milliseconds; outside the years 0–9999, which
// that form can't hold, as the plain integer.
func FormatStamp(ms int64) string {
	const year0, year10000 = -62167219200000, 253402300800000
	if ms < year0 || ms >= year10000 {
		return fmt.Sprint(ms)
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// ParseStamp reads what FormatStamp prints, and RFC 3339 in any zone and precision, cut to the
// millisecond.
func ParseStamp(s string) (int64, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t.UnixMilli(), nil
	}
	var n json.Number
	if err := json.Unmarshal([]byte(s), &n); err == nil {
		if ms, err := n.Int64(); err == nil {
			return ms, nil
		}
	}
	return 0, fmt.Errorf("parse time %q: want RFC 3339 or whole milliseconds since 1970", clip(s))
}
