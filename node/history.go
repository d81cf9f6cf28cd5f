package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

const logPage = 256 // entries read under one lock

func entryOut(e crdt.Entry) control.Entry {
	return control.Entry{ID: e.ID.String(), Sender: e.Sender, Content: e.Content, Timestamp: control.Time(e.Timestamp), EntryType: string(e.Type)}
}

// sessionLog sends a session's entries in order, and with Follow those that come later as they
// come. An entry that arrives late with an old stamp is sent when it arrives.
func (n *Node) sessionLog(ctx context.Context, p control.SessionLogParams, out *control.Events[control.Entry]) (control.LogEnd, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.LogEnd{}, err
	}
	feed := n.repo.Watch(id)
	defer feed.Close()
	sent := map[crdt.RowID]bool{}
	start := 0
	if p.Tail > 0 {
		err := n.repo.View(ctx, id, func(v *crdt.View) error {
			s := crdt.SessionView{View: v}
			start = max(0, s.Log().Len()-p.Tail)
			for _, e := range s.Entries(0, start) {
				sent[e.ID] = true
			}
			return nil
		})
		if err != nil {
			return control.LogEnd{}, err
		}
	}
	var count int64
	for {
		k, err := n.sendEntries(ctx, id, start, sent, out)
		count += k
		if err != nil || !p.Follow {
			return control.LogEnd{Entries: count}, err
		}
		if _, err := feed.Next(ctx); err != nil {
			if errors.Is(err, context.Canceled) || errors.Is(err, crdt.ErrFeedClosed) {
				return control.LogEnd{Entries: count}, nil
			}
			return control.LogEnd{Entries: count}, err
		}
		start = 0 // late entries with old stamps count too
	}
}

func (n *Node) sendEntries(ctx context.Context, id crdt.DocID, start int, sent map[crdt.RowID]bool, out *control.Events[control.Entry]) (int64, error) {
	var count int64
	for i := start; ; i += logPage {
		var page []crdt.Entry
		err := n.repo.View(ctx, id, func(v *crdt.View) error {
			page = crdt.SessionView{View: v}.Entries(i, logPage)
			return nil
		})
		if err != nil || len(page) == 0 {
			return count, err
		}
		for _, e := range page {
			if sent[e.ID] {
				continue
			}
			sent[e.ID] = true
			if err := out.Send(entryOut(e)); err != nil {
				return count, err
			}
			count++
		}
	}
}

// sessionSearch finds entries whose sender and content hold all words, in any case, newest first.
func (n *Node) sessionSearch(ctx context.Context, p control.SessionSearchParams) (control.List[control.Hit], error) {
	words := strings.Fields(strings.ToLower(p.Query))
	if len(words) == 0 {
		return nil, usage("give a word to look for", "search: the query is empty")
	}
	if p.Limit <= 0 {
		p.Limit = 50
	}
	var ids []crdt.DocID
	if p.Session != "" {
		id, err := n.findSession(p.Session)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	} else {
		for _, c := range n.sessions() {
			if id, err := crdt.ParseDocID(c.id); err == nil {
				ids = append(ids, id)
			}
		}
	}
	out := control.List[control.Hit]{}
	for _, id := range ids {
		hits, err := n.searchOne(ctx, id, words, p.Limit)
		if err != nil {
			return nil, err
		}
		out = append(out, hits...)
	}
	return newestHits(out, p.Limit), nil
}

func (n *Node) searchOne(ctx context.Context, id crdt.DocID, words []string, limit int) ([]control.Hit, error) {
	var out []control.Hit
	name := n.docNames.of(id.String())
	err := n.repo.View(ctx, id, func(v *crdt.View) error {
		s := crdt.SessionView{View: v}
		for end := s.Log().Len(); end > 0 && len(out) < limit; end -= logPage {
			from := max(0, end-logPage)
			page := s.Entries(from, end-from)
			for i := len(page) - 1; i >= 0 && len(out) < limit; i-- {
				e := page[i]
				if hasAll(strings.ToLower(e.Sender+" "+e.Content), words) {
					out = append(out, control.Hit{Session: id.String(), SessionName: name, Entry: entryOut(e)})
				}
			}
		}
		return nil
	})
	return out, err
}

// sessionWait waits until so many peers, this one included, have everything that this one has.
func (n *Node) sessionWait(ctx context.Context, p control.SessionWaitParams) (control.Waited, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.Waited{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.TimeoutMS)*time.Millisecond)
	defer cancel()
	out := control.Waited{ID: id.String()}
	acks := n.peers.watch()
	defer acks.stop()
	for {
		if out.StoredOn, err = n.repo.StoredOn(ctx, id); err == nil && out.StoredOn >= p.StoredOn {
			return out, nil
		}
		if err != nil && ctx.Err() == nil {
			return out, err
		}
		if n.getOnline() == nil {
			return out, &control.Error{
				Code: control.CodeUnavailable, Cause: fmt.Sprintf("wait for session %s: it is stored on %d of %d peers, and without a daemon no other one gets it", id.Short(), out.StoredOn, p.StoredOn),
				Remedy: "start it with `chaz-peer run`",
			}
		}
		if !acks.wait(ctx) {
			return out, &control.Error{
				Code: control.CodeTimeout, Cause: fmt.Sprintf("wait for session %s: stored on %d of %d peers in time", id.Short(), out.StoredOn, p.StoredOn),
				Remedy: "see `chaz-peer status` for what holds the others up",
			}
		}
	}
}

func newestHits(hits control.List[control.Hit], limit int) control.List[control.Hit] {
	slices.SortStableFunc(hits, func(a, b control.Hit) int {
		switch {
		case a.Timestamp > b.Timestamp:
			return -1
		case a.Timestamp < b.Timestamp:
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return hits[:min(limit, len(hits))]
}

func hasAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}
