package node

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// Bounds on requests to join without a secret.
const (
	maxRequests     = 64                      // of one document
	requestLifetime = 7 * 24 * 60 * 60 * 1000 // ms
	maxLabel        = 48                      // characters of what a stranger calls himself
)

// requestRow is one peer's request to be let into one document; never synced.
type requestRow struct {
	Doc      crdt.DocID  `json:"doc"`
	Peer     crdt.PeerID `json:"peer"`
	Role     string      `json:"role"`
	Label    string      `json:"label"`
	Received int64       `json:"received"`
	State    string      `json:"state"` // pending, approved, rejected
}

// requestID is short and the same for every request of one peer for one document.
func requestID(doc crdt.DocID, peer crdt.PeerID) string {
	h := sha256.Sum256(append(doc[:], peer[:]...))
	return strings.ToLower(base32.StdEncoding.EncodeToString(h[:5]))
}

// noteRequest keeps a request for a human to decide. ok is false when the peer was rejected or the
// document has too many requests: the asker then looks at the same answer as for an unknown one.
func (n *Node) noteRequest(ctx context.Context, doc crdt.DocID, peer crdt.PeerID, role crdt.Role, note string) (ok bool, err error) {
	now := crdt.NowMillis(n.clock)
	id := requestID(doc, peer)
	open := 0
	var known *requestRow
	err = n.requests.All(ctx, func(key string, r requestRow) error {
		if now-r.Received > requestLifetime {
			return nil
		}
		if key == id {
			known = &r
		}
		if r.Doc == doc && r.State == "pending" {
			open++
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if known != nil {
		return known.State == "pending", nil
	}
	if open >= maxRequests {
		return false, nil
	}
	row := requestRow{Doc: doc, Peer: peer, Role: role.String(), Label: harmless(note), Received: now, State: "pending"}
	return true, n.requests.Put(ctx, id, row)
}

// harmless makes text from a stranger safe to show: normalised, without control and direction
// characters, cut.
func harmless(s string) string {
	var b strings.Builder
	count := 0
	for _, r := range norm.NFC.String(strings.ToValidUTF8(s, "�")) {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			r = '�'
		}
		if count++; count > maxLabel {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

func (n *Node) peersPending(ctx context.Context, _ control.PendingParams) (control.List[control.JoinRequest], error) {
	out := control.List[control.JoinRequest]{}
	now := crdt.NowMillis(n.clock)
	err := n.requests.All(ctx, func(key string, r requestRow) error {
		if r.State == "pending" && now-r.Received <= requestLifetime {
			out = append(out, n.requestOut(ctx, key, r))
		}
		return nil
	})
	slices.SortFunc(out, func(a, b control.JoinRequest) int { return strings.Compare(a.ID, b.ID) })
	return out, err
}

func (n *Node) requestOut(ctx context.Context, id string, r requestRow) control.JoinRequest {
	out := control.JoinRequest{
		ID: id, Document: r.Doc.String(), PeerID: r.Peer.String(), PeerName: n.peerNames.of(r.Peer.String()),
		Role: r.Role, Label: r.Label, Received: control.Time(r.Received), State: r.State,
	}
	if sum, ok := n.repo.Summary(r.Doc); ok {
		out.Kind, out.Name = string(sum.Kind), n.docName(ctx, sum)
	}
	return out
}

// findRequest resolves a request by its id, a prefix of it, or the peer's id, prefix or name.
func (n *Node) findRequest(ctx context.Context, ref string) (string, requestRow, error) {
	rows := map[string]requestRow{}
	var all []candidate
	err := n.requests.All(ctx, func(key string, r requestRow) error {
		if r.State == "pending" {
			rows[key] = r
			name := n.peerNames.of(r.Peer.String())
			if peer := r.Peer.String(); name != ref && len(ref) >= minPrefix && strings.HasPrefix(peer, ref) {
				name = ref
			}
			all = append(all, candidate{key, name})
		}
		return nil
	})
	if err != nil {
		return "", requestRow{}, err
	}
	id, err := pick("request", ref, all)
	return id, rows[id], err
}

func (n *Node) peersApprove(ctx context.Context, p control.ApproveParams) (control.JoinRequest, error) {
	id, r, err := n.findRequest(ctx, p.Request)
	if err != nil {
		return control.JoinRequest{}, err
	}
	role, err := crdt.ParseRole(orElse(p.Role, r.Role))
	if err != nil {
		return control.JoinRequest{}, usage("use read, write or admin", "approve: %s", err)
	}
	if err := n.grant(ctx, r.Doc, r.Peer, role, crdt.ObjectID{}); err != nil {
		return control.JoinRequest{}, err
	}
	n.want(r.Peer)
	r.State, r.Role = "approved", role.String()
	return n.requestOut(ctx, id, r), n.requests.Put(ctx, id, r)
}

func (n *Node) peersReject(ctx context.Context, p control.RejectParams) (control.JoinRequest, error) {
	id, r, err := n.findRequest(ctx, p.Request)
	if err != nil {
		return control.JoinRequest{}, err
	}
	r.State = "rejected"
	return n.requestOut(ctx, id, r), n.requests.Put(ctx, id, r)
}
