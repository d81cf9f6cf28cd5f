package node

import (
	"context"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

const logPage = 256 // entries read under one lock

func entryOut(e crdt.Entry) control.Entry {
	return control.Entry{ID: e.ID.String(), Sender: e.Sender, Content: e.Content, Timestamp: control.Time(e.Timestamp), EntryType: string(e.Type)}
}

// sessionLog sends a session's entries in order, and with Follow those that come later as they
// come. An entry that arrives late with an old stamp is sent when it arrives, each entry once.
func (n *Node) sessionLog(ctx context.Context, p control.SessionLogParams, out *control.Events[control.Entry]) (control.LogEnd, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.LogEnd{}, err
	}
	f := &follower{n: n, id: id, out: out, feed: n.repo.Watch(id), bell: n.peers.watch(), sent: map[crdt.RowID]bool{}, held: map[crdt.RowID]time.Time{}}
	defer f.feed.Close()
	defer f.bell.stop()
	start := 0
	if p.Tail > 0 {
		err := n.repo.View(ctx, id, func(v *crdt.View) error {
			s := crdt.SessionView{View: v}
			start = max(0, s.Log().Len()-p.Tail)
			for _, e := range s.Entries(0, start) {
				f.sent[e.ID] = true
			}
			return nil
		})
		if err != nil {
			return control.LogEnd{}, err
		}
	}
	for {
		err := f.send(ctx, start, p.Follow)
		if err == nil && p.Follow {
			start = 0 // late entries with old stamps count too
			var over bool
			if over, err = f.next(ctx); err == nil && !over {
				continue
			}
		}
		return control.LogEnd{Entries: f.count}, err
	}
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
		if out.StoredOn, err = n.storedOn(ctx, id); err == nil && out.StoredOn >= p.StoredOn {
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
				Code: control.CodeTimeout, Cause: fmt.Sprintf("wait for session %s: stored on %d of %d peers in time%s", id.Short(), out.StoredOn, p.StoredOn, n.missingWords(id)),
				Remedy: "see `chaz-peer status` for what holds the others up",
			}
		}
	}
}

// missingWords says at the end of a sentence that this peer itself lacks large content.
func (n *Node) missingWords(id crdt.DocID) string {
	s, err := n.contents.standing(context.Background(), id) // the call's own time is over
	if err != nil || len(s.missing) == 0 {
		return ""
	}
	return "; " + largeContents(len(s.missing)) + " not here"
}
