package main

import (
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// stateWord is a state as a person reads it.
func stateWord(s control.State) string { return strings.ReplaceAll(string(s), "_", " ") }

func stateStyle(s control.State) style {
	switch s {
	case control.InSync, control.StateReady:
		return good
	case control.Syncing, control.Behind, control.Pending, control.Paused:
		return warn
	case control.Offline:
		return dim
	}
	return bad
}

// remedyOf is what a person can do about a state; peer is what he calls the other peer.
func remedyOf(s control.State, peer string) string {
	switch s {
	case control.Offline:
		return "is chaz-peer running on " + peer + ", and does one of the two reach the other?"
	case control.Paused:
		return "chaz-peer peers resume " + peer
	case control.Pending:
		return "it waits for approval: on the other side, chaz-peer peers pending"
	case control.NotServed:
		return "ask the owner for a ticket; the other peer does not hold it or gives no access"
	case control.Denied:
		return "to let " + peer + " in, give it a ticket: chaz-peer session share"
	case control.Forked:
		return "two copies of one home are in use: stop one of them, then chaz-peer doctor"
	case control.Incompatible:
		return "update the older chaz-peer of the two"
	}
	return ""
}

func peerRemedy(x control.Peer) string {
	return remedyOf(x.State, orID(x.Name, shortPeer(x.ID)))
}
