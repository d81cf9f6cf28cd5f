package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Handler answers one call. params is the JSON object of the request. out carries events of a
// streaming method and the uploaded file of a method that takes one. The result is marshalled to
// JSON. An error that is or wraps an [*Error] reaches the caller as such, any other one as its text
// with the code "internal".
type Handler func(ctx context.Context, params json.RawMessage, out *Stream) (any, error)

// Method is one entry of the table that a [Server] or [InProcess] serves.
type Method struct {
	Name    string
	Handler Handler
	// Streams says that the answer is lines of JSON.
	Streams bool
	// Uploads is the most bytes the method takes as a file behind its parameters; 0: takes none.
	Uploads int64
}

// Endpoint ties the name of a method to the shapes of its parameters P and its result R.
type Endpoint[P, R any] struct{ name string }

// Name is the method's name as in /v1/<name>.
func (e Endpoint[P, R]) Name() string { return e.name }

// StreamEndpoint is an [Endpoint] whose answer is events E before the result R.
type StreamEndpoint[P, E, R any] struct {
	name    string
	uploads int64
}

// Name is the method's name as in /v1/<name>.
func (e StreamEndpoint[P, E, R]) Name() string { return e.name }

// Func makes the table entry of an endpoint from a typed function.
func Func[P, R any](e Endpoint[P, R], fn func(context.Context, P) (R, error)) Method {
	return Method{Name: e.name, Handler: func(ctx context.Context, params json.RawMessage, _ *Stream) (any, error) {
		p, err := decodeParams[P](params)
		if err != nil {
			return nil, err
		}
		return fn(ctx, p)
	}}
}

// StreamFunc makes the table entry of a streaming endpoint from a typed function.
func StreamFunc[P, E, R any](e StreamEndpoint[P, E, R], fn func(context.Context, P, *Events[E]) (R, error)) Method {
	return Method{
		Name: e.name, Streams: true, Uploads: e.uploads,
		Handler: func(ctx context.Context, params json.RawMessage, out *Stream) (any, error) {
			p, err := decodeParams[P](params)
			if err != nil {
				return nil, err
			}
			return fn(ctx, p, &Events[E]{out})
		},
	}
}

// Events is what the function of a streaming endpoint talks through. It must not be used after the
// function has returned, nor by several goroutines at once.
type Events[E any] struct{ s *Stream }

// Send hands one event to the caller at once. An error means that the caller is gone.
func (e *Events[E]) Send(v E) error { return e.s.Send(v) }

// Upload is the file that came with the call; empty if there is none. Reading past the limit of the
// method is an error.
func (e *Events[E]) Upload() io.Reader { return e.s.Upload() }

// Call asks an endpoint.
func Call[P, R any](ctx context.Context, c *Client, e Endpoint[P, R], params P) (R, error) {
	var r R
	err := c.do(ctx, request{method: e.name, params: params, result: &r})
	return r, err
}

// CallStream asks a streaming endpoint, with upload (may be nil) as its file, and hands each event
// to each; an error of each ends the call and is returned.
func CallStream[P, E, R any](ctx context.Context, c *Client, e StreamEndpoint[P, E, R], params P, upload io.Reader, each func(E) error) (R, error) {
	var r R
	err := c.do(ctx, request{
		method: e.name, params: params, upload: upload, result: &r, streams: true,
		event: func(raw json.RawMessage) error {
			var v E
			if err := json.Unmarshal(raw, &v); err != nil {
				return fmt.Errorf("read event of %s: %w", e.name, err)
			}
			return each(v)
		},
	})
	return r, err
}

func decodeParams[P any](raw json.RawMessage) (P, error) {
	var p P
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, badParams(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return p, badParams(errors.New("more than one JSON value"))
	}
	return p, nil
}

func badParams(err error) error {
	return &Error{
		Cause: fmt.Sprintf("read parameters: %v", err), Code: CodeUsage,
		Remedy: "the parameters are one JSON object with the fields of the method and no others",
	}
}
