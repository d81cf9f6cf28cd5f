package control

import (
	"context"
	"errors"
	"net/http"
)

// Error is a failure as it travels to the caller: what went wrong in one line, what to do about it
// in one line (may be empty), and a code to branch on.
type Error struct {
	Cause  string `json:"error"`
	Remedy string `json:"remedy"`
	Code   Code   `json:"code"`
	// Candidates are what an ambiguous reference could have meant.
	Candidates List[string] `json:"candidates,omitempty"`
}

func (e *Error) Error() string { return e.Cause }

// Code classes an [Error].
type Code string

// The codes, with the HTTP status that each answers with.
const (
	CodeUsage        Code = "usage"        // 400: the parameters make no sense
	CodeUnauthorized Code = "unauthorized" // 401: no or a wrong token
	CodeDenied       Code = "denied"       // 403: no right to do that
	CodeNotFound     Code = "not_found"    // 404: no such document, peer, ticket, request or method
	CodeTimeout      Code = "timeout"      // 408: what was waited for did not happen in time
	CodeConflict     Code = "conflict"     // 409: a name clash, or a state that forbids it
	CodeAmbiguous    Code = "ambiguous"    // 409: a reference that fits several things
	CodeTooLarge     Code = "too_large"    // 413: over a limit
	CodeInternal     Code = "internal"     // 500: a fault of the peer
	CodeUnavailable  Code = "unavailable"  // 503: needs a running daemon, or the daemon is stopping
)

func (c Code) status() int {
	switch c {
	case CodeUsage:
		return http.StatusBadRequest
	case CodeUnauthorized:
		return http.StatusUnauthorized
	case CodeDenied:
		return http.StatusForbidden
	case CodeNotFound:
		return http.StatusNotFound
	case CodeTimeout:
		return http.StatusRequestTimeout
	case CodeConflict, CodeAmbiguous:
		return http.StatusConflict
	case CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case CodeUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// asError turns any error of a handler into what travels. An [*Error] inside a wrapped error keeps
// its remedy and code, the text is that of the outermost error. stopping says that the server, not
// the caller, ended the call.
func asError(err error, stopping bool) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		out := *e
		out.Cause = err.Error()
		return &out
	case stopping && errors.Is(err, context.Canceled):
		return &Error{Cause: "the daemon is stopping", Remedy: "ask again when it runs", Code: CodeUnavailable}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Cause: err.Error(), Code: CodeTimeout}
	}
	return &Error{Cause: err.Error(), Code: CodeInternal}
}

// ErrNoDaemon is returned (wrapped) by [Dial] when no daemon serves the home folder.
var ErrNoDaemon = errors.New("no daemon runs")
