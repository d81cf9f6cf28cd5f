package node

import (
	"context"
	"slices"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// peerRow is what this peer keeps of another one; never synced.
type peerRow struct {
	Addrs    []string `json:"addrs,omitempty"` // newest first, without /p2p/
	LastSeen int64    `json:"last_seen,omitempty"`
	Paused   bool     `json:"paused,omitempty"`
}

// peerBook is the table of peers this one has met or heard of, kept in memory too. Its bell rings
// when something about another peer changed. Safe for concurrent use.
type peerBook struct {
	bell
	table *crdt.Table[peerRow]
	clock crdt.Clock

	mu   sync.RWMutex
	rows map[crdt.PeerID]peerRow
}

func openPeers(ctx context.Context, store crdt.Store, clock crdt.Clock) (*peerBook, error) {
	b := &peerBook{table: crdt.NewTable[peerRow](store, "peers"), clock: clock, rows: map[crdt.PeerID]peerRow{}}
	err := b.table.All(ctx, func(key string, row peerRow) error {
		p, err := crdt.ParsePeerID(key)
		b.rows[p] = row
		return err
	})
	return b, err
}

func (b *peerBook) row(p crdt.PeerID) peerRow {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.rows[p]
}

func (b *peerBook) ids() []crdt.PeerID {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]crdt.PeerID, 0, len(b.rows))
	for p := range b.rows {
		out = append(out, p)
	}
	return out
}

// change alters a row and stores it if that changed it.
func (b *peerBook) change(ctx context.Context, p crdt.PeerID, fn func(*peerRow)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	row := b.rows[p]
	before := row
	fn(&row)
	if slices.Equal(before.Addrs, row.Addrs) && before.LastSeen == row.LastSeen && before.Paused == row.Paused {
		return nil
	}
	if err := b.table.Put(ctx, p.String(), row); err != nil {
		return err
	}
	b.rows[p] = row
	return nil
}

// Addresses and SetAddresses make the table the address book of the network.

func (b *peerBook) Addresses(_ context.Context, p crdt.PeerID) ([]string, error) {
	return slices.Clone(b.row(p).Addrs), nil
}

func (b *peerBook) SetAddresses(ctx context.Context, p crdt.PeerID, addrs []string) error {
	return b.change(ctx, p, func(r *peerRow) { r.Addrs = slices.Clone(addrs) })
}

// seen notes that the peer was connected just now.
func (b *peerBook) seen(ctx context.Context, p crdt.PeerID) error {
	return b.change(ctx, p, func(r *peerRow) { r.LastSeen = crdt.NowMillis(b.clock) })
}

// pairBook is the table of this person's other devices, kept in memory too. Safe for concurrent use.
type pairBook struct {
	table *crdt.Table[pairRow]

	mu   sync.RWMutex
	rows map[crdt.PeerID]pairRow
}

type pairRow struct {
	Name  string `json:"name"`
	Since int64  `json:"since"`
}

func openPairs(ctx context.Context, store crdt.Store) (*pairBook, error) {
	b := &pairBook{table: crdt.NewTable[pairRow](store, "pairs"), rows: map[crdt.PeerID]pairRow{}}
	err := b.table.All(ctx, func(key string, row pairRow) error {
		p, err := crdt.ParsePeerID(key)
		b.rows[p] = row
		return err
	})
	return b, err
}

func (b *pairBook) has(p crdt.PeerID) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	_, ok := b.rows[p]
	return ok
}

// ids lists the devices in the order of pairing, which is their seniority in new documents.
func (b *pairBook) ids() []crdt.PeerID {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]crdt.PeerID, 0, len(b.rows))
	for p := range b.rows {
		out = append(out, p)
	}
	slices.SortFunc(out, func(x, y crdt.PeerID) int {
		if d := b.rows[x].Since - b.rows[y].Since; d != 0 {
			return int(max(-1, min(1, d)))
		}
		return slices.Compare(x[:], y[:])
	})
	return out[:min(len(out), crdt.MaxOwners-1)]
}

func (b *pairBook) add(ctx context.Context, p crdt.PeerID, row pairRow) error {
	if err := b.table.Put(ctx, p.String(), row); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows[p] = row
	return nil
}

// joinBook is the table of documents this peer waits to be let into, kept in memory too. Safe for
// concurrent use.
type joinBook struct {
	table *crdt.Table[joinRow]

	mu   sync.RWMutex
	rows map[crdt.DocID]joinRow
}

// joinRow holds the ticket, secret included: it stays in this peer's store and goes to the inviter.
type joinRow struct {
	Ticket string `json:"ticket"`
	Name   string `json:"name,omitempty"` // local name that the session is to get
	Role   string `json:"role,omitempty"` // asked for, without a secret
	Since  int64  `json:"since"`
	State  string `json:"state,omitempty"`
}

func openJoins(ctx context.Context, store crdt.Store) (*joinBook, error) {
	b := &joinBook{table: crdt.NewTable[joinRow](store, "joins"), rows: map[crdt.DocID]joinRow{}}
	err := b.table.All(ctx, func(key string, row joinRow) error {
		id, err := crdt.ParseDocID(key)
		b.rows[id] = row
		return err
	})
	return b, err
}

func (b *joinBook) get(id crdt.DocID) (joinRow, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	r, ok := b.rows[id]
	return r, ok
}

func (b *joinBook) all() map[crdt.DocID]joinRow {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make(map[crdt.DocID]joinRow, len(b.rows))
	for id, r := range b.rows {
		out[id] = r
	}
	return out
}

func (b *joinBook) put(ctx context.Context, id crdt.DocID, r joinRow) error {
	if err := b.table.Put(ctx, id.String(), r); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows[id] = r
	return nil
}

func (b *joinBook) drop(ctx context.Context, id crdt.DocID) error {
	b.mu.Lock()
	delete(b.rows, id)
	b.mu.Unlock()
	return b.table.Delete(ctx, id.String())
}
