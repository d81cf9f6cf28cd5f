package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// promise says in words what a check is about.
func promise(i sim.Invariant) string {
	words := map[sim.Invariant]string{
		sim.S1: "nothing breaks inside, and honest peers keep to the protocol",
		sim.S2: "queues stay within their bounds",
		sim.S3: "nothing of a stranger, a reader or a forger gets in, nothing gets out to a stranger",
		sim.S4: "what a peer acknowledges is on its disk",
		sim.S5: "a write is there for the next read on the same peer",
		sim.S6: "a verdict on a change never turns",
		sim.I1: "all members end with the same changes and the same access log",
		sim.I2: "nothing that was acknowledged is lost, and copies are counted right",
		sim.I3: "all members believe the same, and what a fold of the log from scratch says",
		sim.I4: "every stored change is signed by a member who may write",
		sim.I5: "a saved document has the same heads",
		sim.I6: "no head lies below another",
		sim.I8: "after a heal all come together soon and without endless talk",
		sim.I9: "a restart from disk gives the same state",
		sim.P3: "a switch made after seeing another one beats it everywhere",

		sim.Expected: "what the scenario expects",
	}
	return words[i]
}

// wanted is what a failure broke, in words: of a scenario, the expectation itself.
func wanted(f *sim.Failure, s *simStory) string {
	m := placed.FindStringSubmatch(strings.TrimSuffix(f.Detail, "\n"))
	if f.Invariant != sim.Expected || s == nil || m == nil {
		return promise(f.Invariant)
	}
	n, err := strconv.Atoi(m[2])
	switch n--; {
	case err != nil || n < 0:
	case m[1] == "expect" && n < len(s.Expect):
		return expected(&s.Expect[n])
	case m[1] == "step" && n < len(s.Steps) && s.Steps[n].Expect != nil:
		return expected(s.Steps[n].Expect)
	}
	return promise(f.Invariant)
}

// whereOf says what failed, where and when.
func whereOf(f *sim.Failure, s *simStory) string {
	where := "check " + string(f.Invariant)
	if f.Invariant == sim.Expected {
		where = "not as expected"
	}
	if f.Peer != "" {
		where += " at " + clean(f.Peer)
	}
	where += ", after " + since(f.At)
	if f.Step >= 0 && s == nil {
		where += fmt.Sprintf(", step %d", f.Step)
	}
	return where
}

// wording is how an event is told. In long and short, %s is what the lab says beside the kind.
type wording struct {
	short, long string
	class       string // how it is drawn
}

// The classes of events, which have a colour each.
const (
	classOn    = "on"
	classOff   = "off"
	classWrite = "write"
	classNet   = "net"
	classClock = "clock"
	classLife  = "life"
	classEvil  = "evil"
	classFail  = "fail"
)

// wordings are those of all kinds of marks in a timeline.
func wordings() map[string]wording {
	return map[string]wording{
		"on": {"%s on", "switches %s on", classOn}, "off": {"%s off", "switches %s off", classOff},
		"upgrade": {"new %s", "gives %s another version", classOn},
		"start":   {"begins", "begins to use the session: its built-ins are recorded", classWrite},
		"post":    {"“%s”", "says “%s”", classWrite}, "set": {"sets %s", "puts a setting to “%s”", classWrite},
		"own": {"%s", "writes “%s” by the rules under test", classWrite}, "burst": {"burst", "makes many small writes", classWrite},
		"grant": {"grants %s", "gives a role: %s", classWrite}, "join": {"joins", "uses a ticket: %s", classWrite},

		"partition": {"cut: %s", "is cut off from %s", classNet}, "heal": {"healed", "can be reached by %s again", classNet},
		"reset": {"reset: %s", "loses its connection with %s", classNet}, "flap": {"flaps", "its link to %s goes up and down", classNet},
		"block": {"deaf", "nothing it sends arrives at %s any more", classNet}, "unblock": {"heard", "what it sends arrives at %s again", classNet},
		"lose": {"frame lost", "its next frame will be lost", classNet}, "repeat": {"repeated", "its next frame will arrive twice", classNet},

		"jump": {"clock %s", "its clock jumps by %s", classClock}, "clock": {"clock set", "its clock is put to %s", classClock},
		"drift": {"drifts", "its clock runs too fast by %s", classClock}, "correct": {"clock right", "its clock is put right", classClock},

		"crash": {"crash", "its process dies", classLife}, "stop": {"stop", "its process stops in order", classLife},
		"restart": {"restart", "its process starts again", classLife}, "died": {"died", "its process has died in the middle of a write", classLife},
		"backup": {"backup", "a copy of its disk is made", classLife}, "restore": {"old backup", "its disk goes back to an old copy", classLife},
		"evict": {"evict", "drops the document from memory and reads it again", classLife}, "compact": {"packs", "packs its log", classLife},
		"disk": {"disk", "its disk will fail at the next write", classLife}, "disk_full": {"disk full", "its disk is full", classLife},
		"disk_room": {"room", "its disk has room again", classLife}, "disk_unsure": {"disk unsure", "a write fails and is on disk all the same", classLife},
		"lost_batch": {"lost batch", "it dies before its last write is on disk", classLife}, "torn_write": {"torn write", "it dies in the middle of a write", classLife},
		"late_death": {"late death", "it dies when its last write is on disk and nobody was told", classLife},

		"forge": {"forges", "sends a change in somebody else's name", classEvil}, "gap": {"gap", "leaves a change out of what it sends", classEvil},
		"mangle": {"mangles", "flips a bit of what it sends", classEvil}, "rogue": {"rogue write", "writes without the right to: “%s”", classEvil},
		"poison": {"poison", "writes a switch with a stamp that no clock showed: %s", classEvil},

		"failure": {"FAILED", "%s", classFail},
	}
}

// told puts what the lab says into a wording.
func told(format, text string) string {
	if !strings.Contains(format, "%s") {
		return format
	}
	return fmt.Sprintf(format, text)
}
