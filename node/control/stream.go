package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Stream is the wire side of a call: lines of JSON out, a file in. It belongs to the goroutine of
// the handler.
type Stream struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	upload io.Reader
	begun  bool
}

// Send writes one event line and flushes it.
func (s *Stream) Send(v any) error { return s.line(eventLine{v}) }

// Upload is the file that came with the call.
func (s *Stream) Upload() io.Reader { return s.upload }

type (
	eventLine struct {
		Event any `json:"event"`
	}
	resultLine struct {
		Result any `json:"result"`
	}
)

// end writes the last line of a streaming answer; a failure before the first line still gets an
// error status.
func (s *Stream) end(result any, fail *Error) error {
	switch {
	case fail == nil:
		return s.line(resultLine{result})
	case s.begun:
		return s.line(fail)
	}
	return writeError(s.w, fail)
}

func (s *Stream) line(v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "application/x-ndjson")
		s.w.WriteHeader(http.StatusOK)
	}
	if _, err := s.w.Write(b); err != nil {
		return fmt.Errorf("send to caller: %w", err)
	}
	if err := s.rc.Flush(); err != nil {
		return fmt.Errorf("send to caller: %w", err)
	}
	return nil
}

func writeResult(w http.ResponseWriter, v any) error {
	b, err := encode(v)
	if err != nil {
		return writeError(w, asError(err, false))
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(b)
	return err
}

func writeError(w http.ResponseWriter, e *Error) error {
	b, err := encode(e)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Code.status())
	_, err = w.Write(b)
	return err
}

// encode is one line of JSON that leaves <, > and & readable.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return b.Bytes(), nil
}

// capped reads at most left bytes and then fails instead of ending.
type capped struct {
	r    io.Reader
	left int64
	most int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, c.tooLong()
	}
	// One byte over the limit is asked for, to tell "exactly at the limit" from "over it".
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return n - 1, c.tooLong()
	}
	return n, err
}

func (c *capped) tooLong() error {
	return &Error{
		Cause: fmt.Sprintf("read the file: longer than %d bytes", c.most), Code: CodeTooLarge,
		Remedy: "split it into several files",
	}
}
