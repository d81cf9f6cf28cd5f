package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"syscall"
)

// Client asks one node. It is safe for concurrent use.
type Client struct {
	http *http.Client
}

// Dial connects to the daemon that serves the home folder; [ErrNoDaemon] (wrapped) if none does.
func Dial(home string) (*Client, error) {
	path, err := findSocket(home)
	if err != nil {
		return nil, err
	}
	probe, err := net.DialTimeout("unix", path, probeTime)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%w for %s", ErrNoDaemon, home)
	case err != nil:
		return nil, fmt.Errorf("reach daemon: %w", err)
	}
	_ = probe.Close()
	return &Client{http: &http.Client{Transport: &http.Transport{
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		},
	}}}, nil
}

// InProcess is a client of the methods themselves, without a daemon.
func InProcess(methods []Method, log *slog.Logger) (*Client, error) {
	h, err := newHandler(methods, log)
	if err != nil {
		return nil, err
	}
	return &Client{http: &http.Client{Transport: inProcess{h}}}, nil
}

// Close lets go of idle connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// request is one call.
type request struct {
	method  string
	params  any
	upload  io.Reader // nil: no file
	result  any       // pointer
	streams bool
	event   func(json.RawMessage) error
}

func (c *Client) do(ctx context.Context, q request) error {
	params, err := encode(q.params)
	if err != nil {
		return fmt.Errorf("ask %s: %w", q.method, err)
	}
	var body io.Reader = bytes.NewReader(params)
	if q.upload != nil {
		body = io.MultiReader(body, q.upload)
	}
	// The end of this function ends the call, also when the caller breaks off a stream.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://chaz-peer"+pathPrefix+q.method, body)
	if err != nil {
		return fmt.Errorf("ask %s: %w", q.method, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return lost(ctx, q.method, err)
	}
	defer resp.Body.Close()
	d := json.NewDecoder(resp.Body)
	if q.streams && resp.StatusCode == http.StatusOK {
		return readStream(ctx, d, q)
	}
	if resp.StatusCode == http.StatusOK {
		if err := d.Decode(q.result); err != nil {
			return lost(ctx, q.method, err)
		}
		return nil
	}
	e := &Error{}
	if err := d.Decode(e); err != nil || e.Cause == "" {
		return fmt.Errorf("ask %s: the daemon answered %s", q.method, resp.Status)
	}
	return failure(ctx, e)
}

// line is any line of a streaming answer.
type line struct {
	Event  json.RawMessage `json:"event"`
	Result json.RawMessage `json:"result"`
	Error
}

func readStream(ctx context.Context, d *json.Decoder, q request) error {
	for {
		var l line
		if err := d.Decode(&l); err != nil {
			return lost(ctx, q.method, err)
		}
		switch {
		case l.Cause != "":
			return failure(ctx, &l.Error)
		case l.Event != nil:
			if err := q.event(l.Event); err != nil {
				return err
			}
		case l.Result != nil:
			if err := json.Unmarshal(l.Result, q.result); err != nil {
				return fmt.Errorf("read answer of %s: %w", q.method, err)
			}
			return nil
		default:
			return fmt.Errorf("read answer of %s: a line without event, result or error", q.method)
		}
	}
}

// failure is the error of a call; of one that the caller himself ended it is that end.
func failure(ctx context.Context, e *Error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return e
}

// lost explains a call that got no or half an answer.
func lost(ctx context.Context, method string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ask %s: %w", method, ctx.Err())
	}
	return &Error{
		Cause: fmt.Sprintf("the daemon gave no whole answer to %s: %v", method, err), Code: CodeUnavailable,
		Remedy: "look whether it still runs: chaz-peer status",
	}
}
