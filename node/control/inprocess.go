package control

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// inProcess is a transport that runs a handler in a goroutine of its own, which is gone when the
// response body is closed.
type inProcess struct{ h http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	pr, pw := io.Pipe()
	w := &pipeWriter{header: http.Header{}, body: pw, ready: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.h.ServeHTTP(w, req.WithContext(ctx))
		w.WriteHeader(http.StatusOK)
		_ = pw.Close() // never fails
		_ = req.Body.Close()
	}()
	// A handler that cannot be interrupted holds the caller: nothing may outlive the call.
	<-w.ready
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header.Clone(), Body: &pipeBody{PipeReader: pr, cancel: cancel, done: done},
		ContentLength: -1, Request: req,
	}, nil
}

type pipeBody struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   <-chan struct{}
}

// Close ends the handler and waits for it.
func (b *pipeBody) Close() error {
	b.cancel()
	err := b.PipeReader.Close()
	<-b.done
	return err
}

// pipeWriter is the response of a call in the same process.
type pipeWriter struct {
	header http.Header
	body   *io.PipeWriter
	ready  chan struct{}
	once   sync.Once
	status int
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status = status
		close(w.ready)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush has nothing to do: the pipe holds nothing back.
func (w *pipeWriter) Flush() {}
