package p2p

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
)

// Cause says in one stable word why a peer is not connected as it should be.
type Cause string

// The causes.
const (
	CauseNone Cause = ""
	// CauseClock: a certificate was refused as not yet valid, so one of the two machine clocks is
	// more than an hour off. The pair may still be connected, over TCP.
	CauseClock       Cause = "clock"
	CausePaused      Cause = "paused"      // paused here
	CauseBlocked     Cause = "blocked"     // not allowed here
	CauseRefused     Cause = "refused"     // the peer closed the connection right after the handshake
	CauseWrongPeer   Cause = "wrong_peer"  // somebody else answers at that address
	CauseLimit       Cause = "limit"       // a resource limit, here or there
	CauseUnreachable Cause = "unreachable" // nobody answers
	CauseNoAddress   Cause = "no_address"
	CauseOther       Cause = "other"
)

// ErrNotConnected is returned by [Network.Open] for a peer that is not connected.
var ErrNotConnected = errors.New("the peer is not connected")

// DialError is why a peer could not be reached.
type DialError struct {
	Cause  Cause
	Detail string
}

func (e *DialError) Error() string { return "connect: " + e.Detail }

// classify finds the cause in an error of libp2p. TLS and QUIC errors reach us as text only.
func classify(err error) Cause {
	text := err.Error()
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	var mismatch sec.ErrPeerIDMismatch
	var netErr net.Error
	switch {
	// The second form is the alert of a peer that refuses our certificate. Certificates are made
	// and signed by the libp2p of either side at its start, so time is all that can be wrong.
	case has("not yet valid", "certificate has expired"), has("bad certificate"):
		return CauseClock
	case errors.As(err, &mismatch), has("peer id mismatch"):
		return CauseWrongPeer
	case errors.Is(err, swarm.ErrNoAddresses), errors.Is(err, swarm.ErrNoGoodAddresses):
		return CauseNoAddress
	case errors.Is(err, network.ErrResourceLimitExceeded), has("limit exceeded", "CONNECTION_REFUSED", "code: 0x1001", "error 0x1001"):
		return CauseLimit
	case has("gated", "code: 0x1007", "error 0x1007"), errors.Is(err, network.ErrReset),
		has("failed to negotiate") && has("EOF", "reset by peer"):
		return CauseRefused
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout(),
		has("connection refused", "no recent network activity", "dial backoff", "no route to host"):
		return CauseUnreachable
	}
	return CauseOther
}

// severity orders causes by how much they tell a person.
func severity(c Cause) int {
	switch c {
	case CauseClock:
		return 6
	case CauseWrongPeer:
		return 5
	case CauseRefused, CauseLimit:
		return 4
	case CauseOther:
		return 3
	case CauseUnreachable:
		return 2
	}
	return 1
}

// explainDial makes one line of a failed dial: the attempt that tells most.
func explainDial(err error) *DialError {
	var dial *swarm.DialError
	if !errors.As(err, &dial) || len(dial.DialErrors) == 0 {
		return &DialError{Cause: classify(err), Detail: oneLine(err)}
	}
	var best *DialError
	for _, attempt := range dial.DialErrors {
		if errors.Is(attempt.Cause, context.Canceled) {
			continue
		}
		c := classify(attempt.Cause)
		if best == nil || severity(c) > severity(best.Cause) {
			best = &DialError{Cause: c, Detail: fmt.Sprintf("%s: %s", attempt.Address, oneLine(attempt.Cause))}
		}
	}
	if best == nil {
		return &DialError{Cause: CauseUnreachable, Detail: oneLine(err)}
	}
	if n := len(dial.DialErrors) + dial.Skipped - 1; n > 0 {
		best.Detail += fmt.Sprintf(" (and %d more addresses)", n)
	}
	return best
}

// oneLine clips foreign error text, which may hold words of the other side.
func oneLine(err error) string {
	const most = 300
	text := strings.Join(strings.Fields(err.Error()), " ")
	text = strings.ToValidUTF8(text, "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
