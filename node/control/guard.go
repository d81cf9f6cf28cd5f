package control

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// TokenFile is the file in the home that holds the bearer token of the TCP listener, mode 0600.
const TokenFile = "control.token"

// guard lets a call over TCP through only if it carries the token and is no web page's: a browser
// sends Origin, and a name that was rebound to the loopback address shows in Host.
type guard struct {
	next  http.Handler
	token [32]byte // SHA-256 of the token, so that the comparison is of equal lengths
	port  string
}

// ServeHTTP implements [http.Handler].
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e := g.check(r); e != nil {
		w.Header().Set("Connection", "close")
		_ = writeError(w, e) // the caller may be gone, which is what he wanted
		return
	}
	g.next.ServeHTTP(w, r)
}

func (g *guard) check(r *http.Request) *Error {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || port != g.port || !isLoopback(host) {
		return &Error{
			Cause: "the Host header is not this loopback address", Code: CodeDenied,
			Remedy: "ask 127.0.0.1, ::1 or localhost with the port",
		}
	}
	if r.Header.Get("Origin") != "" {
		return &Error{Cause: "calls from web pages are not served", Code: CodeDenied, Remedy: "leave out the Origin header"}
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return &Error{
			Cause: "the Content-Type is not application/json", Code: CodeUsage,
			Remedy: "send Content-Type: application/json",
		}
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(token))
	if !ok || subtle.ConstantTimeCompare(sum[:], g.token[:]) != 1 {
		return &Error{
			Cause: "no or a wrong bearer token", Code: CodeUnauthorized,
			Remedy: "send Authorization: Bearer with the content of " + TokenFile + " in the home folder",
		}
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// listenLoopback binds a TCP address that only this machine can reach.
func listenLoopback(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || !isLoopback(host) {
		return nil, &Error{
			Cause: fmt.Sprintf("listen on %q: not a loopback host:port", addr), Code: CodeUsage,
			Remedy: "use 127.0.0.1:PORT",
		}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, &Error{
			Cause: fmt.Sprintf("listen on %s for the control API: %v", addr, err), Code: CodeConflict,
			Remedy: "choose another port in control_tcp",
		}
	}
	return l, nil
}

// loadToken reads the token of the home, or makes one.
func loadToken(home string) (string, error) {
	path := filepath.Join(home, TokenFile)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newToken(path)
	case err != nil:
		return "", fmt.Errorf("read token: %w", err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0:
		return "", &Error{
			Cause: fmt.Sprintf("%s has mode %04o, others can read it", path, info.Mode().Perm()), Code: CodeConflict,
			Remedy: "remove the file, a new token is made at the next start",
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if raw, err := hex.DecodeString(token); err != nil || len(raw) != 32 {
		return "", &Error{
			Cause: fmt.Sprintf("%s does not hold 64 hex digits", path), Code: CodeConflict,
			Remedy: "remove the file, a new token is made at the next start",
		}
	}
	return token, nil
}

func newToken(path string) (string, error) {
	var raw [32]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	token := hex.EncodeToString(raw[:])
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	_, err = f.WriteString(token + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	return token, nil
}
