package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

const (
	pathPrefix = "/v1/"
	// maxParams bounds the parameters: a row of 256 KiB with every byte escaped, and room.
	maxParams = 2 << 20
	// maxUploadParams bounds the first line of a call that brings a file.
	maxUploadParams = 64 << 10
	// paramsTime is how long a caller may take to send its parameters.
	paramsTime = 30 * time.Second
)

// errStopping is the cause of a call's context when the server ends it.
var errStopping = errors.New("the daemon is stopping")

// handler serves a table of methods. It is safe for concurrent use.
type handler struct {
	methods map[string]Method
	log     *slog.Logger
}

func newHandler(methods []Method, log *slog.Logger) (*handler, error) {
	h := &handler{methods: make(map[string]Method, len(methods)), log: log}
	for _, m := range methods {
		if _, twice := h.methods[m.Name]; twice || m.Name == "" || m.Handler == nil {
			return nil, fmt.Errorf("register method %q: listed twice or incomplete", m.Name)
		}
		h.methods[m.Name] = m
	}
	return h, nil
}

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.serve(w, r); err != nil {
		// The caller is gone; nobody else can be told.
		h.log.Debug("answer a control call", "path", r.URL.Path, "err", err)
	}
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) error {
	name, ok := strings.CutPrefix(r.URL.Path, pathPrefix)
	m, known := h.methods[name]
	switch {
	case !ok || !known:
		return writeError(w, &Error{
			Cause: fmt.Sprintf("unknown method %q", clip(name)), Code: CodeNotFound,
			Remedy: "the daemon may be older than the program that asks: restart it with chaz-peer run",
		})
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return writeError(w, &Error{Cause: "methods are called with POST", Code: CodeUsage})
	}
	rc := http.NewResponseController(w)
	// Deadlines and full duplex do not exist for a call in the same process; there nothing is lost.
	_ = rc.SetReadDeadline(time.Now().Add(paramsTime))
	out := &Stream{w: w, rc: rc}
	params, fail := readParams(r.Body, m, out)
	_ = rc.SetReadDeadline(time.Time{})
	if fail != nil {
		return writeError(w, fail)
	}
	if m.Uploads > 0 {
		_ = rc.EnableFullDuplex()
	}
	result, err := h.call(r.Context(), m, params, out)
	if err != nil {
		fail = asError(err, errors.Is(context.Cause(r.Context()), errStopping))
	}
	switch {
	case m.Streams:
		return out.end(result, fail)
	case fail != nil:
		return writeError(w, fail)
	}
	return writeResult(w, result)
}

// call runs the handler; a panic is a fault of this call alone.
func (h *handler) call(ctx context.Context, m Method, params json.RawMessage, out *Stream) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error("control method panicked", "method", m.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result, err = nil, &Error{
				Cause: fmt.Sprintf("%s failed inside the peer", m.Name), Code: CodeInternal,
				Remedy: "this is a defect: the log of the daemon holds the details",
			}
		}
	}()
	return m.Handler(ctx, params, out)
}

// readParams reads the parameters and leaves the file behind them, if the method takes one, in out.
func readParams(body io.Reader, m Method, out *Stream) (json.RawMessage, *Error) {
	out.upload = bytes.NewReader(nil)
	if m.Uploads == 0 {
		b, err := io.ReadAll(io.LimitReader(body, maxParams+1))
		switch {
		case err != nil:
			return nil, &Error{Cause: fmt.Sprintf("read parameters: %v", err), Code: CodeUsage}
		case len(b) > maxParams:
			return nil, paramsTooLong(maxParams)
		}
		return b, nil
	}
	br := bufio.NewReaderSize(body, maxUploadParams)
	line, err := br.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, paramsTooLong(maxUploadParams)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, &Error{Cause: fmt.Sprintf("read parameters: %v", err), Code: CodeUsage}
	}
	out.upload = &capped{r: br, left: m.Uploads, most: m.Uploads}
	return bytes.Clone(line), nil
}

func paramsTooLong(most int) *Error {
	return &Error{
		Cause: fmt.Sprintf("parameters are longer than %d bytes", most), Code: CodeTooLarge,
		Remedy: "split the content; session.post.file takes a long text",
	}
}

// clip keeps a caller's text in an error message short.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
