package crdt

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Limits of tickets.
const (
	MaxTicket      = 4 << 10 // bytes of the line
	MaxTicketAddrs = 16
	maxTicketAddr  = 256 // bytes of one address
	maxTicketExtra = 16  // unknown parameters
)

// Ticket is an invitation to a document, written as one line of text:
//
//	chaz:<doc>?kind=…&peer=…&addr=…&secret=…&role=…&sum=…
type Ticket struct {
	Doc   DocID
	Kind  Kind
	Peer  PeerID   // who issued it and admits its holder
	Addrs []string // multiaddrs of Peer, without its id; at most MaxTicketAddrs
	// Secret admits the holder at once; without it (zero) he asks and waits for approval.
	Secret Secret
	Role   Role // what it gives, or what is asked for; NoRole when it does not say
	// Extra are parameters that this version does not know, in their order.
	Extra []TicketParam
}

// TicketParam is one parameter of a ticket.
type TicketParam struct{ Name, Value string }

// Secret is what makes a ticket more than an address. Printing or logging it shows nothing of it.
type Secret [16]byte

// NewSecret draws a secret.
func NewSecret(rand io.Reader) (Secret, error) {
	var s Secret
	if _, err := io.ReadFull(rand, s[:]); err != nil {
		return s, fmt.Errorf("make secret: %w", err)
	}
	return s, nil
}

// Hash is what the access log shows of the secret: SHA-256("chaz/invite/v1\0" | secret).
func (s Secret) Hash() [32]byte {
	return sha256.Sum256(append([]byte("chaz/invite/v1\x00"), s[:]...))
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s == Secret{} }

// Format implements [fmt.Formatter], so that no verb prints the secret.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "(secret)") }

// LogValue implements [slog.LogValuer].
func (s Secret) LogValue() slog.Value { return slog.StringValue("(secret)") }

// MarshalText keeps the secret out of JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte("(secret)"), nil }

const ticketScheme, pairScheme = "chaz:", "chaz-pair:"

// String writes the ticket's line, the secret included: it is for the person who invites, not for
// logs.
func (t *Ticket) String() string {
	w := newTicketWriter(ticketScheme + t.Doc.String())
	w.add("kind", string(t.Kind))
	w.add("peer", t.Peer.String())
	for _, a := range t.Addrs {
		w.add("addr", a)
	}
	if !t.Secret.IsZero() {
		w.add("secret", lowerBase32.EncodeToString(t.Secret[:]))
	}
	if t.Role != NoRole {
		w.add("role", t.Role.String())
	}
	for _, p := range t.Extra {
		w.add(p.Name, p.Value)
	}
	return w.done()
}

// LogValue implements [slog.LogValuer], without the secret.
func (t *Ticket) LogValue() slog.Value {
	return slog.StringValue(fmt.Sprintf("ticket for %s from %s", t.Doc.Short(), t.Peer.Short()))
}

// ParseTicket reads a ticket; white space around it does not matter. Errors never quote it.
func ParseTicket(text string) (*Ticket, error) {
	t, err := parseTicket(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("read ticket: %w", err)
	}
	return t, nil
}

func parseTicket(text string) (*Ticket, error) {
	if strings.HasPrefix(text, pairScheme) {
		return nil, errors.New("this one pairs devices, it does not join a document")
	}
	doc, params, err := ticSplit(text, ticketScheme)
	if err != nil {
		return nil, err
	}
	t := &Ticket{}
	if t.Doc, err = ParseDocID(doc); err != nil {
		return nil, errors.New("the document id is damaged")
	}
	seen := map[string]bool{}
	for _, p := range params {
		known, err := t.set(p)
		if err == nil && !known {
			err = ticAddExtra(&t.Extra, p)
		}
		if err == nil && known && p.Name != "addr" && seen[p.Name] {
			err = errors.New("given twice")
		}
		if err != nil {
			return nil, fmt.Errorf("parameter %q: %w", clip(p.Name), err)
		}
		seen[p.Name] = true
	}
	if !seen["kind"] || !seen["peer"] {
		return nil, errors.New("it does not say the kind of document or the peer")
	}
	return t, nil
}

// set takes a parameter that this version knows.
func (t *Ticket) set(p TicketParam) (known bool, err error) {
	switch p.Name {
	case "kind":
		t.Kind, err = ParseKind(p.Value)
	case "peer":
		t.Peer, err = ParsePeerID(p.Value)
	case "addr":
		err = ticAddAddr(&t.Addrs, p.Value)
	case "secret":
		t.Secret, err = ticSecret(p.Value)
	case "role":
		t.Role, err = ParseRole(p.Value)
	default:
		return false, nil
	}
	return true, err
}
