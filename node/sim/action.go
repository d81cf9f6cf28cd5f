package sim

import (
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Action is what a step does. The words are what scenarios say.
type Action string

// What people do.
const (
	DoOn      Action = "on"      // switch an extension on
	DoOff     Action = "off"     // switch it off
	DoUpgrade Action = "upgrade" // give an active extension another version
	DoStart   Action = "start"   // begin a session: the built-ins of this peer are recorded
	DoPost    Action = "post"
	DoSet     Action = "set" // a setting of the session
	DoOwn     Action = "own" // what the subject under test writes
	DoGrant   Action = "grant"
	DoJoin    Action = "join" // by a ticket
)

// What happens to networks, processes, disks and clocks.
const (
	DoPartition Action = "partition"
	DoHeal      Action = "heal"
	DoReset     Action = "reset"
	DoBlock     Action = "block" // one direction stands still
	DoUnblock   Action = "unblock"
	DoJump      Action = "jump"  // the clock by an amount
	DoClock     Action = "clock" // the clock to a time
	DoDrift     Action = "drift"
	DoCorrect   Action = "correct"
	DoCrash     Action = "crash"
	DoStop      Action = "stop" // in order, to be restarted
	DoRestart   Action = "restart"
	DoBackup    Action = "backup"
	DoRestore   Action = "restore"
	DoEvict     Action = "evict"
	DoCompact   Action = "compact"
	DoFull      Action = "disk_full"
	DoRoom      Action = "disk_room"
	DoWait      Action = "wait" // until all is quiet
	DoExpect    Action = "expect"
)

// What only plans from a seed do.
const (
	doFlap   Action = "flap"
	doLose   Action = "lose"   // the next frame
	doRepeat Action = "repeat" // the next frame, or one from an earlier connection
	doDisk   Action = "disk"   // what the disk does at its next write
	doForge  Action = "forge"  // a change in another's name
	doGap    Action = "gap"    // leave a change out
	doMangle Action = "mangle" // flip a bit
	doRogue  Action = "rogue"  // write as a reader
	doPoison Action = "poison" // a stamp by hand
	doBurst  Action = "burst"  // many small writes
)

// act is one step, ready to be played.
type act struct {
	n       int // its number in the plan
	at      time.Duration
	do      Action
	fault   Fault // the class it belongs to, if any
	a, b    int   // the peer, and the other one
	doc     int
	name    string
	text    string
	version string
	role    crdt.Role
	for_    time.Duration // how long, how far
	stamp   int64
	arg     uint64
	want    *Expect
}

// Actions tells what each action does and takes, for documentation and completion.
func Actions() map[Action]string {
	return map[Action]string{
		DoOn:        "peer switches the extension name on; version if given",
		DoOff:       "peer switches the extension name off",
		DoUpgrade:   "peer gives the active extension name another version",
		DoStart:     "peer begins to use the session: its built-ins are recorded",
		DoPost:      "peer says text",
		DoSet:       "peer sets the level of the extension name to text",
		DoOwn:       "peer writes text by the rules of the subject under test",
		DoGrant:     "peer gives with a role",
		DoJoin:      "peer joins by a ticket for a role that with makes",
		DoPartition: "links are cut: peer from with, peer from all, or groups from each other; for a while or until heal",
		DoHeal:      "cut links work again: as partition, or all",
		DoReset:     "the connection of peer and with ends",
		DoBlock:     "nothing of peer arrives at with any more, and nobody notices; for a while or until unblock",
		DoUnblock:   "it arrives again, in both directions",
		DoJump:      "the clock of peer moves by",
		DoClock:     "the clock of peer is put to",
		DoDrift:     "the clock of peer runs too fast by ppm",
		DoCorrect:   "the clock of peer is put right",
		DoCrash:     "peer dies; it comes back after for or at a restart",
		DoStop:      "peer stops in order; it comes back after for or at a restart",
		DoRestart:   "peer runs again",
		DoBackup:    "a copy is made of the disk of peer",
		DoRestore:   "peer goes back to its last backup; it runs again after for or at a restart",
		DoEvict:     "peer drops the session from memory and reads it again",
		DoCompact:   "peer packs its log",
		DoFull:      "the disk of peer takes no more; for a while or until disk_room",
		DoRoom:      "it does again",
		DoWait:      "time passes until all is quiet, at most for",
		DoExpect:    "what expect says must hold now",
	}
}
