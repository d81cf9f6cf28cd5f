package crdt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func sampleTicket() *Ticket {
	return &Ticket{
		Doc: sampleObjects()[0].Doc, Kind: Session, Peer: testIdentity(0).PeerID(),
		Addrs:  []string{"/ip4/192.0.2.7/tcp/4001", "/ip6/2001:db8::7/udp/4001/quic-v1"},
		Secret: Secret{1, 2, 3}, Role: Write,
	}
}

func samplePairTicket() *PairTicket {
	return &PairTicket{Peer: testIdentity(0).PeerID(), Addrs: []string{"/ip4/192.0.2.7/tcp/4001"}, Secret: Secret{4, 5, 6}}
}

func TestTicketRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		extra := []TicketParam(nil)
		for range rapid.IntRange(0, 3).Draw(t, "extras") {
			extra = append(extra, TicketParam{"x" + rapid.String().Draw(t, "name"), rapid.String().Draw(t, "value")})
		}
		in := sampleTicket()
		in.Extra = extra
		in.Role = rapid.SampledFrom([]Role{NoRole, Read, Write, Admin}).Draw(t, "role")
		if rapid.Bool().Draw(t, "open") {
			in.Secret = Secret{}
		}
		in.Addrs = in.Addrs[:rapid.IntRange(1, 2).Draw(t, "addrs")]
		out, err := ParseTicket(" " + in.String() + "\n")
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		if !reflect.DeepEqual(in, out) {
			t.Fatalf("wrote %+v, read %+v", in, out)
		}
	})
}

// ticketText builds the text of a ticket from parts, with the right sum.
func ticketText(head string) string { return head + "&sum=" + ticSum(head) }

func TestTicketRefusals(t *testing.T) {
	good := sampleTicket().String()
	head := strings.Split(good, "&sum=")[0]
	for _, c := range []struct{ name, text, want string }{
		{"good", good, ""},
		{"unknown parameter", ticketText(head + "&relay=x"), ""},
		{"nothing", "", "begin with"},
		{"foreign", "https://example.com/", "begin with"},
		{"pairing ticket", samplePairTicket().String(), "pairs devices"},
		{"truncated", good[:len(good)-1], "truncated"},
		{"half", good[:len(good)/2], "truncated"},
		{"scheme only", "chaz:", "truncated"},
		{"edited", strings.Replace(good, "role=write", "role=admin", 1), "checksum"},
		{"edited sum", good[:len(good)-1] + "1", "checksum"},
		{"two lines", strings.Replace(good, "&peer", "\n&peer", 1), "checksum"},
		{"damaged document", ticketText(strings.Replace(head, "chaz:", "chaz:a", 1)), "document id"},
		{"unknown document kind", ticketText(strings.Replace(head, "session", "diary", 1)), `"kind"`},
		{"no kind", ticketText(strings.Replace(head, "kind=session&", "", 1)), "does not say"},
		{"no parameters", ticketText("chaz:" + sampleTicket().Doc.String()), "does not say"},
		{"unknown role", ticketText(strings.Replace(head, "role=write", "role=king", 1)), `"role"`},
		{"owner", ticketText(strings.Replace(head, "role=write", "role=owner", 1)), `"role"`},
		{"role twice", ticketText(head + "&role=read"), "twice"},
		{"peer", ticketText(strings.Replace(head, "peer=", "peer=x", 1)), `"peer"`},
		{"short secret", ticketText(strings.Replace(head, "secret=a", "secret=", 1)), `"secret"`},
		{"zero secret", ticketText(head[:strings.Index(head, "&secret")] + "&secret=aaaaaaaaaaaaaaaaaaaaaaaaaa"), "zero"},
		{"address", ticketText(head + "&addr=example.com"), "multiaddr"},
		{"17 addresses", ticketText(head + strings.Repeat("&addr=/ip4/1.2.3.4", 15)), "more than"},
		{"16 addresses", ticketText(head + strings.Repeat("&addr=/ip4/1.2.3.4", 14)), ""},
		{"17 unknown parameters", ticketText(head + strings.Repeat("&x=y", 17)), "more than"},
		{"too long", ticketText(head + "&x=" + strings.Repeat("y", MaxTicket)), "limit"},
		{"no pair", ticketText(head + "&x"), "name=value"},
		{"badly escaped", ticketText(head + "&x=%zz"), "name=value"},
		{"escaped for no reason", ticketText(head + "&x=%41"), "name=value"},
		{"control character in an address", ticketText(head + "&addr=/ip4%0A"), "printable"},
	} {
		_, err := ParseTicket(c.text)
		checkTicketRefusal(t, c.name, err, c.want)
	}
}

func checkTicketRefusal(t *testing.T, name string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: positive control refused: %v", name, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: got %v, want a mention of %q", name, err, want)
	case err != nil && strings.Contains(err.Error(), "aebagaa"):
		t.Errorf("%s: the error shows the secret: %v", name, err)
	}
}

// TestEveryCutAndEditIsNoticed: no prefix of a ticket and no change of one character passes.
func TestEveryCutAndEditIsNoticed(t *testing.T) {
	good := sampleTicket().String()
	for i := range len(good) {
		if _, err := ParseTicket(good[:i]); err == nil {
			t.Errorf("a ticket cut at %d is read", i)
		}
		edited := []byte(good)
		edited[i] ^= 1
		if _, err := ParseTicket(string(edited)); err == nil {
			t.Errorf("a ticket edited at %d is read", i)
		}
	}
}

func TestPairTicket(t *testing.T) {
	in := samplePairTicket()
	out, err := ParsePairTicket(in.String() + "\n")
	if err != nil || !reflect.DeepEqual(in, out) {
		t.Fatalf("wrote %+v, read %+v, %v", in, out, err)
	}
	head := strings.Split(in.String(), "&sum=")[0]
	for _, c := range []struct{ name, text, want string }{
		{"good", ticketText(head), ""},
		{"unknown parameter", ticketText(head + "&x=y"), ""},
		{"ticket", sampleTicket().String(), "joins a document"},
		{"truncated", in.String()[:50], "truncated"},
		{"edited", strings.Replace(in.String(), "4001", "4002", 1), "checksum"},
		{"no secret", ticketText(head[:strings.Index(head, "&secret")]), "does not say"},
		{"no peer", ticketText("chaz-pair:?" + head[strings.Index(head, "addr"):]), "does not say"},
		{"subject", ticketText(strings.Replace(head, ":?", ":x?", 1)), "before the parameters"},
		{"secret twice", ticketText(head + head[strings.Index(head, "&secret"):]), "twice"},
	} {
		_, err := ParsePairTicket(c.text)
		checkTicketRefusal(t, c.name, err, c.want)
	}
}

func TestPairWords(t *testing.T) {
	list := strings.Fields(pairWordList)
	if len(list) != 256 || !slices.IsSorted(list) {
		t.Fatalf("%d words, sorted %v", len(list), slices.IsSorted(list))
	}
	starts := map[string]bool{}
	for _, w := range list {
		if len(w) < 4 || len(w) > 7 || starts[w[:3]] {
			t.Errorf("%q is too short, too long or begins like another", w)
		}
		starts[w[:3]] = true
	}
	a, b, c := testIdentity(0).PeerID(), testIdentity(1).PeerID(), testIdentity(2).PeerID()
	words := PairWords(a, b, Secret{1})
	if len(words) != 4 || !slices.Equal(words, PairWords(b, a, Secret{1})) {
		t.Errorf("the two sides show %v and %v", words, PairWords(b, a, Secret{1}))
	}
	for _, other := range [][]string{PairWords(a, c, Secret{1}), PairWords(c, b, Secret{1}), PairWords(a, b, Secret{2})} {
		if slices.Equal(words, other) {
			t.Errorf("another pairing shows the same words %v", other)
		}
	}
}

// TestSecretsStaySecret prints and logs everything that holds a secret in every way.
func TestSecretsStaySecret(t *testing.T) {
	id, ticket, pair := testIdentity(0), sampleTicket(), samplePairTicket()
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{id, *ticket, ticket.Secret, *pair} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	log := slog.New(slog.NewJSONHandler(&out, nil))
	log.Info("held", "id", id, "ticket", ticket, "pair", pair, "secret", ticket.Secret)
	log = slog.New(slog.NewTextHandler(&out, nil))
	log.Info("held", "id", id, "ticket", ticket, "pair", pair, "secret", ticket.Secret)
	must(0, json.NewEncoder(&out).Encode([]any{id, ticket.Secret}))
	seed := id.PrivateKey().Seed()
	for _, leak := range []string{
		fmt.Sprintf("%x", seed), strings.Trim(fmt.Sprint(seed), "[]"), lowerBase32.EncodeToString(seed),
		lowerBase32.EncodeToString(ticket.Secret[:]), "1 2 3 0 0", "010203", "4 5 6 0 0", "040506",
	} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("shown: %s", leak)
		}
	}
	if !strings.Contains(ticket.String(), lowerBase32.EncodeToString(ticket.Secret[:])) {
		t.Error("the ticket itself lacks its secret")
	}
	if !strings.Contains(out.String(), id.PeerID().String()) {
		t.Error("the identity does not show whose it is")
	}
}

func FuzzParseTicket(f *testing.F) {
	f.Add(sampleTicket().String())
	f.Add(samplePairTicket().String())
	f.Add(ticketText(strings.Split(sampleTicket().String(), "&sum=")[0] + "&x=%25&y=%00"))
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range []string{text, ticketText(text)} {
			if in, err := ParseTicket(s); err == nil {
				out, err := ParseTicket(in.String())
				if err != nil || !reflect.DeepEqual(in, out) {
					t.Fatalf("read %+v, then %+v, %v", in, out, err)
				}
			}
			if in, err := ParsePairTicket(s); err == nil {
				out, err := ParsePairTicket(in.String())
				if err != nil || !reflect.DeepEqual(in, out) {
					t.Fatalf("read %+v, then %+v, %v", in, out, err)
				}
			}
		}
	})
}
