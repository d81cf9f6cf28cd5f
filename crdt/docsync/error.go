package docsync

import "fmt"

// Cause is why a session ended or counted something: the key of [Session.Counters].
type Cause string

// The causes that end a connection.
const (
	CauseOversize     Cause = "oversize_frame"
	CauseMalformed    Cause = "malformed_frame"
	CauseUnknownType  Cause = "unknown_frame_type"
	CauseLimit        Cause = "limit"
	CauseBeforeHello  Cause = "frame_before_hello"
	CauseSecondHello  Cause = "second_hello"
	CauseReplay       Cause = "replayed_frame" // own nonce, a channel number used before
	CauseChannel      Cause = "unknown_channel"
	CauseUnexpected   Cause = "unexpected_frame" // not allowed in the channel's state
	CauseDuplicate    Cause = "duplicate_open"
	CauseWindow       Cause = "window" // more in flight than allowed
	CausePage         Cause = "bad_page"
	CauseObject       Cause = "bad_object"
	CauseGap          Cause = "gap"
	CauseOffer        Cause = "unexpected_offer"
	CauseGuessing     Cause = "guessing"
	CauseIncompatible Cause = "incompatible"
	CauseSilence      Cause = "silence"
	CauseRemote       Cause = "remote_error"
	CauseSlow         Cause = "slow_reader" // the other side does not read what it asked for
)

// The causes that are counted only.
const (
	CountNotServed    Cause = "refused_not_served"
	CountPending      Cause = "refused_pending"
	CountVersion      Cause = "refused_blocked_version"
	CountBusy         Cause = "refused_busy"
	CountCrossed      Cause = "crossed_open"
	CountClosed       Cause = "frame_for_closed_channel"
	CountExtension    Cause = "extension_frame"
	CountUnknownTag   Cause = "unknown_answer_ignored"
	CountOfferIgnored Cause = "offer_ignored"
	CountRefused      Cause = "change_refused"
	CountWaiting      Cause = "change_waiting"
	CountFork         Cause = "fork"
	CountInternal     Cause = "internal"
	CountClockJump    Cause = "clock_jump"
)

// ProtocolError says that the other peer broke a rule of the protocol. It ends the connection.
type ProtocolError struct {
	Cause  Cause
	Detail string
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("sync protocol: %s: %s", e.Cause, e.Detail)
}

// RemoteError is what the other peer said before it closed the connection.
type RemoteError struct {
	Code Code
	Text string
}

func (e *RemoteError) Error() string {
	return fmt.Sprintf("the other peer ended sync: %s: %q", e.Code, e.Text)
}

// IncompatibleError says that two peers have no protocol version in common.
type IncompatibleError struct{ MinHere, MaxHere, MinThere, MaxThere uint64 }

func (e *IncompatibleError) Error() string {
	return fmt.Sprintf("this peer speaks sync protocol %d to %d, the other %d to %d", e.MinHere, e.MaxHere, e.MinThere, e.MaxThere)
}
