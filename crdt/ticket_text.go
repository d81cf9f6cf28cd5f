package crdt

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
)

// The text of a ticket: scheme and subject, then "?", then name=value pairs joined by "&", the last
// of them sum: the first 8 characters of the lower-case base32 of the SHA-256 of everything before
// "&sum=" ("?sum=" where nothing else is there). Bytes outside A–Z a–z 0–9 - . _ ~ / : , @ are
// written as %XX with upper-case digits.

const ticSumLen = 8

func ticSum(head string) string {
	h := sha256.Sum256([]byte(head))
	return lowerBase32.EncodeToString(h[:])[:ticSumLen]
}

type ticketWriter struct {
	b   strings.Builder
	sep byte
}

func newTicketWriter(head string) *ticketWriter {
	w := &ticketWriter{sep: '?'}
	w.b.WriteString(head)
	return w
}

func (w *ticketWriter) add(name, value string) {
	w.b.WriteByte(w.sep)
	w.b.WriteString(ticEscape(name) + "=" + ticEscape(value))
	w.sep = '&'
}

func (w *ticketWriter) done() string {
	w.add("sum", ticSum(w.b.String()))
	return w.b.String()
}

// ticSplit checks the frame of a ticket and its sum, and takes it apart.
func ticSplit(text, scheme string) (subject string, params []TicketParam, err error) {
	rest, ok := strings.CutPrefix(text, scheme)
	if !ok {
		return "", nil, fmt.Errorf("it does not begin with %q", scheme)
	}
	if len(text) > MaxTicket {
		return "", nil, fmt.Errorf("%d characters, the limit is %d", len(text), MaxTicket)
	}
	cut := len(text) - len("&sum=") - ticSumLen
	if cut < len(scheme) || text[cut+1:cut+5] != "sum=" || text[cut] != '&' && text[cut] != '?' {
		return "", nil, errors.New("it is truncated: its end, a checksum, is missing; copy the whole line")
	}
	if ticSum(text[:cut]) != text[cut+5:] {
		return "", nil, errors.New("its checksum does not fit: it was truncated or edited; copy the whole line")
	}
	subject, query, _ := strings.Cut(rest[:cut-len(scheme)], "?")
	if query == "" {
		return subject, nil, nil
	}
	for _, pair := range strings.Split(query, "&") {
		name, value, ok := strings.Cut(pair, "=")
		name, err1 := ticUnescape(name)
		value, err2 := ticUnescape(value)
		if !ok || name == "" || err1 != nil || err2 != nil {
			return "", nil, errors.New("a parameter is no name=value pair")
		}
		params = append(params, TicketParam{name, value})
	}
	return subject, params, nil
}

func ticPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/:,@", c) >= 0
}

func ticEscape(s string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; ticPlain(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}

// ticUnescape is the exact inverse of ticEscape: what that would not have written is refused.
func ticUnescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			c = ticHex(s[i+1])<<4 | ticHex(s[i+2])
			i += 2
		}
		b.WriteByte(c)
	}
	if ticEscape(b.String()) != s {
		return "", errors.New("wrongly escaped")
	}
	return b.String(), nil
}

func ticHex(c byte) byte {
	if c >= 'A' {
		return c - 'A' + 10
	}
	return c - '0'
}

// ticAddAddr takes an address as text: only the transport can tell whether it can be dialled.
func ticAddAddr(addrs *[]string, a string) error {
	if len(*addrs) == MaxTicketAddrs {
		return fmt.Errorf("more than %d addresses", MaxTicketAddrs)
	}
	if len(a) > maxTicketAddr || !strings.HasPrefix(a, "/") {
		return fmt.Errorf("no multiaddr of at most %d characters", maxTicketAddr)
	}
	for i := range len(a) {
		if a[i] <= ' ' || a[i] > '~' {
			return errors.New("not printable")
		}
	}
	*addrs = append(*addrs, a)
	return nil
}

func ticAddExtra(extra *[]TicketParam, p TicketParam) error {
	if len(*extra) == maxTicketExtra {
		return fmt.Errorf("more than %d unknown parameters", maxTicketExtra)
	}
	*extra = append(*extra, p)
	return nil
}

func ticSecret(text string) (Secret, error) {
	var s Secret
	b, err := lowerBase32.DecodeString(text)
	if err != nil || len(b) != len(s) || lowerBase32.EncodeToString(b) != text {
		return s, errors.New("damaged")
	}
	copy(s[:], b)
	if s.IsZero() {
		return s, errors.New("all zero")
	}
	return s, nil
}
