package sim

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is a class of things that go wrong, or at least not quietly. The words are stable: they are
// options, and keys of [Result.Faults].
type Fault string

// The faults of the network.
const (
	FaultPartition Fault = "partition" // a link is cut for a while, both ends notice
	FaultSilent    Fault = "silent"    // nothing arrives any more, nobody notices
	FaultOneWay    Fault = "one_way"   // the same in one direction
	FaultFlap      Fault = "flap"      // a link goes up and down
	FaultLoss      Fault = "loss"      // a frame is lost; the stream stands still, then ends
	FaultReset     Fault = "reset"     // a stream ends with what was on its way
	FaultReorder   Fault = "reorder"   // frames of different streams overtake each other
	FaultDuplicate Fault = "duplicate" // a frame arrives twice, or once more after a reconnect
	FaultHalfOpen  Fault = "half_open" // one end dies without a word
)

// The faults of disks and processes.
const (
	FaultCrash   Fault = "crash"      // the process dies between two steps
	FaultLost    Fault = "lost_batch" // it dies before a batch is down
	FaultTorn    Fault = "torn_write" // it dies while a batch is being written
	FaultLate    Fault = "late_death" // it dies when a batch is down and nobody was told
	FaultFull    Fault = "disk_full"
	FaultUnsure  Fault = "disk_unsure" // a write fails and is down all the same
	FaultRestart Fault = "restart"     // stopped and started in order
	FaultRestore Fault = "restore"     // started from an old backup
	FaultEvict   Fault = "evict"       // a document leaves memory and is read again
	FaultCompact Fault = "compact"
)

// The faults of clocks.
const (
	FaultOffset  Fault = "clock_offset" // wrong from the start
	FaultDrift   Fault = "clock_drift"
	FaultJump    Fault = "clock_jump"
	FaultExtreme Fault = "clock_extreme" // to 1970, 2099, the ends of int64
	FaultNTP     Fault = "clock_ntp"     // put right while running
)

// The faults of people.
const (
	FaultForged Fault = "forged"  // a change in another member's name
	FaultGap    Fault = "gap"     // a change is left out of a page
	FaultMangle Fault = "mangled" // bytes of a frame or of a change are flipped
	FaultRogue  Fault = "rogue"   // a reader writes
	FaultPoison Fault = "poison"  // a row of the activation log stamped by hand, at the ends of int64 too
	FaultGrant  Fault = "grant"   // members are added and promoted meanwhile
	FaultInvite Fault = "invite"  // somebody joins by ticket meanwhile
)

// Faults lists all classes.
func Faults() []Fault {
	return []Fault{
		FaultPartition, FaultSilent, FaultOneWay, FaultFlap, FaultLoss, FaultReset, FaultReorder, FaultDuplicate, FaultHalfOpen,
		FaultCrash, FaultLost, FaultTorn, FaultLate, FaultFull, FaultUnsure, FaultRestart, FaultRestore, FaultEvict, FaultCompact,
		FaultOffset, FaultDrift, FaultJump, FaultExtreme, FaultNTP,
		FaultForged, FaultGap, FaultMangle, FaultRogue, FaultPoison, FaultGrant, FaultInvite,
	}
}

// ParseFaults reads a list of classes, separated by commas or spaces; "all" is every one, "none" none.
func ParseFaults(text string) ([]Fault, error) {
	out := []Fault{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		switch {
		case word == "all":
			out = append(out, Faults()...)
		case word == "none":
		case slices.Contains(Faults(), Fault(word)):
			out = append(out, Fault(word))
		default:
			return nil, fmt.Errorf("parse faults: %q is none of %v", word, Faults())
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Invariant is something that must hold. Those that begin with S are checked at every step, those with
// I when all has come to rest, P is a promise of the activation log. The words are keys of
// [Result.Invariants].
type Invariant string

// The invariants.
const (
	S1 Invariant = "S1" // no panic, no failure inside, no protocol error between honest peers
	S2 Invariant = "S2" // queues and memory stay within their bounds
	S3 Invariant = "S3" // nothing of a stranger, a reader or a forger gets in, nothing gets out to a stranger
	S4 Invariant = "S4" // what a peer acknowledges is down on its disk
	S5 Invariant = "S5" // a local write is visible to the next local read
	S6 Invariant = "S6" // a verdict on a change never turns
	I1 Invariant = "I1" // members have equal heads and equal access logs
	I2 Invariant = "I2" // nothing that was acknowledged is lost, and copies are counted right
	I3 Invariant = "I3" // members have equal active sets, equal to a fold from scratch in any order
	I4 Invariant = "I4" // every stored change is signed by a member that may write
	I5 Invariant = "I5" // a saved document has the same heads
	I6 Invariant = "I6" // no head is an ancestor of another
	I8 Invariant = "I8" // after a heal all comes to rest within bounds of messages and time
	I9 Invariant = "I9" // a restart from disk gives the same state
	P3 Invariant = "P3" // a switch made after seeing another beats it everywhere
)

// Invariants lists all that are checked.
func Invariants() []Invariant {
	return []Invariant{S1, S2, S3, S4, S5, S6, I1, I2, I3, I4, I5, I6, I8, I9, P3}
}

// Waiting says what is not on the menu yet and what it waits for.
func Waiting() map[string]string {
	const revocation = "revocation as a command"
	return map[string]string{
		"I7: a revoked peer gets nothing written after its revocation was known": revocation,
		"I2: exactly the valid part of what is stored, under cuts":               revocation,
		"I4: live or cut grants":                     revocation,
		"fault revoke, leave, downgrade":             revocation,
		"fault twin: two copies of one home write":   revocation + ", which settles the fork",
		"fault restore that nobody notices":          revocation + ", which settles the fork",
		"S6: accepted turns to refused by a rebuild": revocation,
		"S3: bytes that only the core would refuse":  "the validator process",
		"fault poisoned change, died validator":      "the validator process and its quarantine",
	}
}
