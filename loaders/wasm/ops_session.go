package wasm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// Bounds of what a guest reads and writes.
const (
	defaultRead = 20
	maxRead     = 4 << 20  // bytes of entries
	maxSend     = 64 << 10 // bytes of one message
	maxSends    = 16       // messages of one call: a guest must not fill a session
	maxKey      = 256      // bytes
	maxValue    = 1 << 20  // bytes of one value
)

var errNoSession = errors.New("there is no session in this call")

func (g *guest) opSet(ctx context.Context, s *callState, in opInput) (any, error) {
	if err := g.x.gate.allow(ctx, OpSettingsSet, in.Key); err != nil {
		return nil, err
	}
	if s.settings == nil {
		return nil, fmt.Errorf("set %.80q: %w", in.Key, errNoSession)
	}
	if in.Key == "" || len(in.Key) > maxKey || len(in.Value) > maxValue {
		return nil, fmt.Errorf("set %.80q: the key or the value is too long, or empty: %w", in.Key, extension.ErrArgument)
	}
	if in.Value == nil || string(in.Value) == "null" {
		return true, s.settings.Set(ctx, in.Key, nil)
	}
	if _, hidden := g.x.secrets.hideJSON(in.Value); hidden {
		return nil, fmt.Errorf("set %.80q: the value holds a secret, and settings are seen by others: %w", in.Key, extension.ErrArgument)
	}
	return true, s.settings.Set(ctx, in.Key, in.Value)
}

// sessionOf opens the session of a call.
func (g *guest) sessionOf(s *callState) (SessionAccess, error) {
	if s.call.Session.IsZero() {
		return nil, errNoSession
	}
	if g.x.services.Session == nil {
		return nil, errors.New("this host gives no access to sessions")
	}
	a := g.x.services.Session(s.call.Session.String())
	if a == nil {
		return nil, errors.New("the session is not here")
	}
	return a, nil
}

func (g *guest) opRead(ctx context.Context, s *callState, in opInput) (any, error) {
	if err := g.x.gate.allow(ctx, OpSessionRead, ""); err != nil {
		return nil, err
	}
	a, err := g.sessionOf(s)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	n := in.Limit
	if n <= 0 {
		n = defaultRead
	}
	if most := g.x.m.Caps.SessionRead; most > 0 {
		n = min(n, most)
	}
	entries, err := a.Read(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	entries = entries[max(len(entries)-n, 0):]
	first, size := len(entries), 0
	for first > 0 && size+len(entries[first-1]) <= maxRead {
		first--
		size += len(entries[first])
	}
	return struct {
		Entries []json.RawMessage `json:"entries"`
		Cut     bool              `json:"cut"` // older ones were left out for their size
	}{append([]json.RawMessage{}, entries[first:]...), first > 0}, nil
}

func (g *guest) opSend(ctx context.Context, s *callState, in opInput) (any, error) {
	if err := g.x.gate.allow(ctx, OpSessionSend, ""); err != nil {
		return nil, err
	}
	if err := s.mayAdd(&in); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	a, err := g.sessionOf(s)
	if err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	id, err := a.Send(ctx, g.x.secrets.hide(in.Text), in.Kind)
	if err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	return map[string]string{"id": id}, nil
}

// mayAdd checks one message, fills in its kind, and counts it.
func (s *callState) mayAdd(in *opInput) error {
	if in.Kind == "" {
		in.Kind = "message"
	}
	if in.Kind != "message" && in.Kind != "directive" {
		return fmt.Errorf("the kind %.40q: only message and directive: %w", in.Kind, extension.ErrArgument)
	}
	if in.Text == "" || len(in.Text) > maxSend {
		return fmt.Errorf("a text of %d bytes; 1 to %d may be sent: %w", len(in.Text), maxSend, extension.ErrArgument)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sends >= maxSends {
		return fmt.Errorf("more than %d messages in one call", maxSends)
	}
	s.sends++
	return nil
}

func (g *guest) opKV(ctx context.Context, s *callState, in opInput) (any, error) {
	if err := g.x.gate.allow(ctx, OpKV, in.Key); err != nil {
		return nil, err
	}
	kv := g.x.services.KV
	if kv == nil {
		return nil, fmt.Errorf("%s: this host keeps no data of extensions", in.Op)
	}
	session := whoOf(s.call).Session
	if len(in.Key) > maxKey || len(in.Prefix) > maxKey || in.Key == "" && in.Op != "kv.list" {
		return nil, fmt.Errorf("%s: a key has 1 to %d bytes: %w", in.Op, maxKey, extension.ErrArgument)
	}
	switch in.Op {
	case "kv.get":
		return kv.Get(ctx, session, in.Key)
	case "kv.delete":
		return true, kv.Delete(ctx, session, in.Key)
	case "kv.list":
		keys, err := kv.List(ctx, session, in.Prefix)
		return append([]string{}, keys...), err
	}
	if in.Value == nil || len(in.Value) > maxValue {
		return nil, fmt.Errorf("kv.set %.80q: no value, or one of more than %d bytes: %w", in.Key, maxValue, extension.ErrArgument)
	}
	return true, kv.Set(ctx, session, in.Key, in.Value, g.x.m.Caps.KV)
}

// opHTTP is a request, and in the other direction a response.
type opHTTP struct {
	Method  string            `json:"method,omitempty"`
	URL     string            `json:"url,omitempty"`
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Base64  string            `json:"body_base64,omitempty"` // of a body that is not UTF-8
}

func (g *guest) opHTTP(ctx context.Context, in opHTTP) (any, error) {
	body := []byte(in.Body)
	if in.Base64 != "" {
		var err error
		if body, err = base64.StdEncoding.DecodeString(in.Base64); err != nil {
			return nil, fmt.Errorf("http: body_base64 is none: %w", extension.ErrArgument)
		}
	}
	res, err := g.x.http.do(ctx, engine.HTTPRequest{Method: in.Method, URL: in.URL, Header: in.Headers, Body: body})
	if err != nil {
		return nil, err
	}
	out := opHTTP{Status: res.Status, Headers: res.Header}
	if utf8.Valid(res.Body) {
		out.Body = string(res.Body)
	} else {
		out.Base64 = base64.StdEncoding.EncodeToString(res.Body)
	}
	return out, nil
}
