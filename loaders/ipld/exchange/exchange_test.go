package exchange_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
	"github.com/chaz-peer/chaz-peer/loaders/ipld/exchange"
)

var (
	reader = crdt.PeerID{1}
	doc    = crdt.DocID{2}
)

// serve runs a server on one end of a pipe and returns the other, and what Serve returned once it did.
func serve(t *testing.T, s *exchange.Server, peer crdt.PeerID) (net.Conn, <-chan error) {
	t.Helper()
	here, there := net.Pipe()
	done := make(chan error, 1)
	go func() {
		defer there.Close() // as who opened the stream does
		done <- s.Serve(t.Context(), peer, there)
	}()
	t.Cleanup(func() { here.Close() })
	return here, done
}

// shelf is objects in memory, below one root.
type shelf struct {
	root    string
	objects map[string][]byte
	fail    error
}

func (s shelf) Get(_ context.Context, _ crdt.DocID, root, id string) ([]byte, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	data, ok := s.objects[id]
	if !ok || root != s.root {
		return nil, fmt.Errorf("object %s: %w", id, loaders.ErrMissing)
	}
	return data, nil
}

func (s shelf) Has(ctx context.Context, doc crdt.DocID, root, id string) (bool, error) {
	_, err := s.Get(ctx, doc, root, id)
	if errors.Is(err, loaders.ErrMissing) {
		return false, nil
	}
	return err == nil, err
}

// onlyReader allows one peer one root of one document.
func onlyReader(root string) func(context.Context, crdt.PeerID, crdt.DocID, string) bool {
	return func(_ context.Context, p crdt.PeerID, d crdt.DocID, r string) bool {
		return p == reader && d == doc && r == root
	}
}

// gathered asks for ids and returns what came.
func gathered(t *testing.T, c *exchange.Client, req exchange.Request) (map[string][]byte, error) {
	t.Helper()
	out := map[string][]byte{}
	err := c.Get(t.Context(), req, func(id string, data []byte) error { out[id] = data; return nil })
	return out, err
}

func TestBlocksOfAPackageAlone(t *testing.T) {
	l := loaderIn(t, nil)
	root, _, err := l.PutBytes(t.Context(), bytes.NewReader(bytes.Repeat([]byte("served "), 400_000)))
	if err != nil {
		t.Fatal(err)
	}
	private, _, err := l.PutBytes(t.Context(), strings.NewReader("private"))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := l.Closure(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	server := &exchange.Server{
		Allow: onlyReader(root), Sources: map[exchange.Kind]exchange.Source{exchange.Block: l.Source()},
	}
	conn, done := serve(t, server, reader)
	c := exchange.NewClient(conn, exchange.Max{})
	req := exchange.Request{Kind: exchange.Block, Doc: doc, Root: root, IDs: append(slices.Clone(ids), private)}
	got, err := gathered(t, c, req)
	if err != nil || len(got) != len(ids) || got[private] != nil {
		t.Fatalf("Get: %d objects, %v; want the %d of the root", len(got), err, len(ids))
	}
	have, err := c.Have(t.Context(), req)
	if err != nil || !slices.Equal(have, ids) {
		t.Errorf("Have: %v, %v", have, err)
	}
	conn.Close()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// What a stranger sees is the same for what is not there and for what is not for him.
func TestStrangersLearnNothing(t *testing.T) {
	l := loaderIn(t, nil)
	root, _, err := l.PutBytes(t.Context(), strings.NewReader("a secret"))
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := loaderIn(t, nil).PutBytes(t.Context(), strings.NewReader("not here"))
	if err != nil {
		t.Fatal(err)
	}
	server := &exchange.Server{
		Allow: onlyReader(root), Sources: map[exchange.Kind]exchange.Source{exchange.Block: l.Source()},
	}
	answer := func(peer crdt.PeerID, d crdt.DocID, root string) string {
		conn, _ := serve(t, server, peer)
		defer conn.Close()
		tap := &recorder{ReadWriter: conn}
		_, err := gathered(t, exchange.NewClient(tap, exchange.Max{}), exchange.Request{Kind: exchange.Block, Doc: d, Root: root, IDs: []string{root}})
		return fmt.Sprintf("%x %v", tap.read.Bytes(), err)
	}
	nothing := answer(reader, doc, other)
	for name, got := range map[string]string{
		"another peer":     answer(crdt.PeerID{9}, doc, root),
		"another document": answer(reader, crdt.DocID{9}, root),
		"another root":     answer(crdt.PeerID{9}, doc, other),
	} {
		if got != nothing {
			t.Errorf("%s: %s; where there is nothing: %s", name, got, nothing)
		}
	}
	if answer(reader, doc, root) == nothing {
		t.Error("control: the reader gets nothing either")
	}
}

// recorder keeps what was read.
type recorder struct {
	io.ReadWriter
	read bytes.Buffer
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.ReadWriter.Read(p)
	r.read.Write(p[:n])
	return n, err
}

func TestGitObjectsGoThroughUnchecked(t *testing.T) {
	big := bytes.Repeat([]byte{7}, 5<<20)
	server := &exchange.Server{
		Allow: onlyReader("c0ffee"),
		Sources: map[exchange.Kind]exchange.Source{
			exchange.GitObject: shelf{root: "c0ffee", objects: map[string][]byte{"aa": []byte("x"), "bb": big, "cc": {}}},
		},
	}
	conn, _ := serve(t, server, reader)
	c := exchange.NewClient(conn, exchange.Max{})
	req := exchange.Request{Kind: exchange.GitObject, Doc: doc, Root: "c0ffee", IDs: []string{"bb", "dd", "cc", "aa"}}
	got, err := gathered(t, c, req)
	if err != nil || len(got) != 3 || !bytes.Equal(got["bb"], big) || got["cc"] == nil || string(got["aa"]) != "x" {
		t.Fatalf("Get: %d objects, %v", len(got), err)
	}
	for name, limits := range map[string]exchange.Max{"one object": {Item: 5<<20 - 1}, "all objects": {Total: 5 << 20}} {
		conn, _ := serve(t, server, reader)
		_, err := gathered(t, exchange.NewClient(conn, limits), req)
		if err == nil || !strings.Contains(err.Error(), "the limit is") {
			t.Errorf("%s: %v", name, err)
		}
	}
	conn, _ = serve(t, server, reader)
	if got, err := gathered(t, exchange.NewClient(conn, exchange.Max{Item: 5 << 20, Total: 5<<20 + 1}), req); err != nil || len(got) != 3 {
		t.Errorf("just within the limits: %d objects, %v", len(got), err)
	}
}

func TestClientStopsAtTheFirstWrongBlock(t *testing.T) {
	l := loaderIn(t, nil)
	var ids []string
	objects := map[string][]byte{}
	for i := range 5 {
		data := []byte{byte(i), 1, 2, 3}
		id, _, err := l.PutBytes(t.Context(), bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		objects[id] = data
	}
	req := exchange.Request{Kind: exchange.Block, Doc: doc, Root: "r", IDs: ids}
	run := func() (int, *exchange.Client, error) {
		server := &exchange.Server{Allow: onlyReader("r"), Sources: map[exchange.Kind]exchange.Source{exchange.Block: shelf{root: "r", objects: objects}}}
		conn, _ := serve(t, server, reader)
		c := exchange.NewClient(conn, exchange.Max{})
		got, err := gathered(t, c, req)
		return len(got), c, err
	}
	if n, _, err := run(); n != 5 || err != nil {
		t.Fatalf("control: %d, %v", n, err)
	}
	objects[ids[2]] = []byte{2, 1, 2, 4}
	n, c, err := run()
	if n != 2 || !errors.Is(err, loaders.ErrInvalid) || !strings.Contains(err.Error(), "do not match the hash") {
		t.Errorf("%d blocks were given on, %v; the third is wrong", n, err)
	}
	if _, err := c.Have(t.Context(), req); err == nil || !strings.Contains(err.Error(), "after an earlier fault") {
		t.Errorf("the client goes on after a fault: %v", err)
	}
	objects[ids[2]] = make([]byte, ipld.MaxBlock+1)
	if n, _, err := run(); n != 2 || err == nil || !strings.Contains(err.Error(), "the limit is 2097152") {
		t.Errorf("a block that is too large: %d, %v", n, err)
	}
}

func TestErrorOfGotEndsTheCall(t *testing.T) {
	server := &exchange.Server{Allow: onlyReader("r"), Sources: map[exchange.Kind]exchange.Source{
		exchange.GitObject: shelf{root: "r", objects: map[string][]byte{"a": {1}, "b": {2}}},
	}}
	conn, _ := serve(t, server, reader)
	enough := errors.New("enough")
	calls := 0
	err := exchange.NewClient(conn, exchange.Max{}).Get(t.Context(), exchange.Request{Kind: exchange.GitObject, Doc: doc, Root: "r", IDs: []string{"a", "b"}},
		func(string, []byte) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	server := &exchange.Server{
		Allow:       onlyReader("r"),
		Sources:     map[exchange.Kind]exchange.Source{exchange.GitObject: shelf{root: "r", objects: map[string][]byte{"a": {1}}}},
		MaxRequests: 3,
	}
	good := exchange.Request{Kind: exchange.GitObject, Doc: doc, Root: "r", IDs: []string{"a"}}
	many := make([]string, 1025)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, req := range map[string]exchange.Request{
		"a kind that nobody serves": {Kind: exchange.Block, Doc: doc, Root: "r", IDs: []string{"a"}},
		"an unknown kind":           {Kind: 77, Doc: doc, Root: "r", IDs: []string{"a"}},
	} {
		conn, done := serve(t, server, reader)
		if _, err := gathered(t, exchange.NewClient(conn, exchange.Max{}), req); !errors.Is(err, exchange.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if err := <-done; err == nil {
			t.Errorf("%s: Serve took it", name)
		}
	}
	for name, req := range map[string]exchange.Request{
		"too many ids":    {Kind: exchange.GitObject, Root: "r", IDs: many},
		"no ids":          {Kind: exchange.GitObject, Root: "r"},
		"a long id":       {Kind: exchange.GitObject, Root: "r", IDs: []string{strings.Repeat("x", 129)}},
		"an id twice":     {Kind: exchange.GitObject, Root: "r", IDs: []string{"a", "b", "a"}},
		"an empty id":     {Kind: exchange.GitObject, Root: "r", IDs: []string{""}},
		"no root":         {Kind: exchange.GitObject, IDs: []string{"a"}},
		"a long root":     {Kind: exchange.GitObject, Root: strings.Repeat("x", 513), IDs: []string{"a"}},
		"text of no text": {Kind: exchange.GitObject, Root: "r\xff", IDs: []string{"a"}},
	} {
		conn, _ := serve(t, server, reader)
		c := exchange.NewClient(conn, exchange.Max{})
		if _, err := gathered(t, c, req); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	conn, _ := serve(t, server, reader)
	c := exchange.NewClient(conn, exchange.Max{})
	for range 3 {
		if got, err := gathered(t, c, good); err != nil || len(got) != 1 {
			t.Fatalf("control: %v, %v", got, err)
		}
	}
	if _, err := gathered(t, c, good); !errors.Is(err, exchange.ErrRefused) {
		t.Errorf("a fourth request: %v", err)
	}
}

func TestSourceThatFails(t *testing.T) {
	broken := errors.New("the disk broke")
	server := &exchange.Server{Allow: onlyReader("r"), Sources: map[exchange.Kind]exchange.Source{exchange.GitObject: shelf{fail: broken}}}
	conn, done := serve(t, server, reader)
	got, err := gathered(t, exchange.NewClient(conn, exchange.Max{}), exchange.Request{Kind: exchange.GitObject, Doc: doc, Root: "r", IDs: []string{"a"}})
	if err != nil || len(got) != 0 {
		t.Errorf("the asker sees %v, %v", got, err)
	}
	conn.Close()
	if err := <-done; !errors.Is(err, broken) {
		t.Errorf("Serve: %v", err)
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- (&exchange.Server{}).Serve(ctx, reader, there) }()
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Serve: %v", err)
		}
		_ = there.SetDeadline(time.Time{})
		go func() { _, _ = io.Copy(io.Discard, there) }() // takes the request and says nothing
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := exchange.NewClient(here, exchange.Max{}).Have(ctx, exchange.Request{Kind: exchange.Block, Root: "r", IDs: []string{"a"}})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Have: %v", err)
		}
	})
}
