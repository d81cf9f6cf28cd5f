// Package soak makes real daemons suffer: processes of their own, real clocks that lie, real disks that
// fill up, real sockets behind a relay that loses, delays and withholds what it carries.
//
// [Run] plays rounds until its time is over. In each of them clients write to every daemon while faults
// are drawn from a seed: a process is killed, stopped or restarted under another clock, its disk is
// filled, links are cut in both directions or in one, lose packets, deliver them twice or late. Then
// all is put right, and everything that was acknowledged must be on every peer, with equal heads and
// equal active sets, and every daemon must find itself in order. The counters of a [Report] show what
// really happened: a fault counts when its effect was seen.
//
// [RunScenario] plays a scenario of the lab with daemons instead of simulated peers.
//
// On Linux, as root, each daemon has a network namespace of its own and reaches the others through the
// relay only. Elsewhere they talk over loopback directly: they tell each other where they listen, so no
// relay stays between them. A partition is a pause on both sides then, and what else the relay would do
// is skipped with its reason. The machine's own network is never used. A daemon that is left over when the driver dies
// dies with it where namespaces are there.
//
// What lives here: processes, namespaces, the relay, faults, the checks from outside. What may not:
// anything that a client of the API could not know of a daemon.
package soak
