package crdt

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// PairTicket invites another device of the same person, written as one line of text:
//
//	chaz-pair:?peer=…&addr=…&secret=…&sum=…
type PairTicket struct {
	Peer   PeerID
	Addrs  []string // multiaddrs of Peer, without its id; at most MaxTicketAddrs
	Secret Secret
	Extra  []TicketParam // parameters that this version does not know
}

// String writes the ticket's line, the secret included.
func (t *PairTicket) String() string {
	w := newTicketWriter(pairScheme)
	w.add("peer", t.Peer.String())
	for _, a := range t.Addrs {
		w.add("addr", a)
	}
	w.add("secret", lowerBase32.EncodeToString(t.Secret[:]))
	for _, p := range t.Extra {
		w.add(p.Name, p.Value)
	}
	return w.done()
}

// LogValue implements [slog.LogValuer], without the secret.
func (t *PairTicket) LogValue() slog.Value {
	return slog.StringValue("pairing ticket from " + t.Peer.Short())
}

// ParsePairTicket reads a pairing ticket; white space around it does not matter. Errors never quote
// it.
func ParsePairTicket(text string) (*PairTicket, error) {
	t, err := parsePairTicket(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("read pairing ticket: %w", err)
	}
	return t, nil
}

func parsePairTicket(text string) (*PairTicket, error) {
	if strings.HasPrefix(text, ticketScheme) {
		return nil, errors.New("this one joins a document, it does not pair devices")
	}
	subject, params, err := ticSplit(text, pairScheme)
	if err != nil {
		return nil, err
	}
	if subject != "" {
		return nil, errors.New("something stands before the parameters")
	}
	t := &PairTicket{}
	for _, p := range params {
		switch {
		case p.Name == "peer" && t.Peer.IsZero():
			t.Peer, err = ParsePeerID(p.Value)
		case p.Name == "addr":
			err = ticAddAddr(&t.Addrs, p.Value)
		case p.Name == "secret" && t.Secret.IsZero():
			t.Secret, err = ticSecret(p.Value)
		case p.Name == "peer" || p.Name == "secret":
			err = errors.New("given twice")
		default:
			err = ticAddExtra(&t.Extra, p)
		}
		if err != nil {
			return nil, fmt.Errorf("parameter %q: %w", clip(p.Name), err)
		}
	}
	if t.Peer.IsZero() || t.Secret.IsZero() {
		return nil, errors.New("it does not say the peer or the secret")
	}
	return t, nil
}

// PairWords are four words that both devices of a pairing show, for a person to compare. They are
// the same on both sides, and differ when either peer or the secret does: the first four bytes of
// SHA-256("chaz/pair/v1\0" | lower peer | higher peer | secret), each the number of a word.
func PairWords(a, b PeerID, secret Secret) []string {
	if bytes.Compare(a[:], b[:]) > 0 {
		a, b = b, a
	}
	h := sha256.New()
	h.Write([]byte("chaz/pair/v1\x00"))
	h.Write(a[:])
	h.Write(b[:])
	h.Write(secret[:])
	list := strings.Fields(pairWordList)
	words := make([]string, 4)
	for i, n := range h.Sum(nil)[:len(words)] {
		words[i] = list[n]
	}
	return words
}
