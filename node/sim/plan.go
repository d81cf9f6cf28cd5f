package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// extensions are the names that runs switch; built-ins are recorded by DoStart.
func extensionNames() []string { return []string{"notes", "calc", "maps"} }

// choice is one kind of step with its weight.
type choice struct {
	weight int
	do     Action
	fault  Fault
}

// choices is what a step of a plan can be. Weights are in thousandths of all steps.
func choices() []choice {
	return []choice{
		{140, DoPost, ""},
		{130, DoOn, ""},
		{100, DoOff, ""},
		{35, DoUpgrade, ""},
		{20, DoStart, ""},
		{50, DoSet, ""},
		{8, doBurst, ""},
		{60, DoPartition, FaultPartition},
		{25, DoBlock, FaultSilent},
		{20, DoBlock, FaultOneWay},
		{15, doFlap, FaultFlap},
		{30, doLose, FaultLoss},
		{40, DoReset, FaultReset},
		{60, doRepeat, FaultDuplicate},
		{20, DoCrash, FaultCrash},
		{10, doDisk, FaultLost},
		{10, doDisk, FaultTorn},
		{8, doDisk, FaultLate},
		{10, DoFull, FaultFull},
		{8, doDisk, FaultUnsure},
		{12, DoStop, FaultRestart},
		{12, DoBackup, ""},
		{6, DoRestore, FaultRestore},
		{20, DoEvict, FaultEvict},
		{25, DoCompact, FaultCompact},
		{20, DoJump, FaultJump},
		{12, DoClock, FaultExtreme},
		{8, DoDrift, FaultDrift},
		{8, DoCorrect, FaultNTP},
		{20, doForge, FaultForged},
		{15, doGap, FaultGap},
		{20, doMangle, FaultMangle},
		{20, doRogue, FaultRogue},
		{15, doPoison, FaultPoison},
		{40, DoGrant, FaultGrant},
		{30, DoJoin, FaultInvite},
	}
}

// plan draws the steps of a run. Every step has numbers of its own, so that leaving one out changes no
// other; a step of a class that is switched off is not played, and its time passes all the same.
func plan(o Options) []act {
	all := choices()
	if o.Subject != nil {
		all = append(all, choice{200, DoOwn, ""})
	}
	total := 0
	for _, c := range all {
		total += c.weight
	}
	out := make([]act, o.Steps)
	at := time.Duration(0)
	for i := range out {
		r := newStream(o.Seed, "step", i)
		n := r.IntN(total)
		k := 0
		for ; n >= all[k].weight; k++ {
			n -= all[k].weight
		}
		at += pause(r)
		out[i] = drawAct(r, o, all[k])
		out[i].n, out[i].at = i, at
	}
	return out
}

// pause is mostly short, so that steps meet what earlier ones have set going, and now and then longer
// than the silence after which a connection is given up.
func pause(r *rand.Rand) time.Duration {
	switch n := r.IntN(100); {
	case n < 50:
		return between(r, 0, 20*time.Millisecond)
	case n < 92:
		return between(r, 20*time.Millisecond, 600*time.Millisecond)
	case n < 98:
		return between(r, time.Second, 10*time.Second)
	}
	return between(r, 30*time.Second, 70*time.Second)
}

func drawAct(r *rand.Rand, o Options, c choice) act {
	a := act{do: c.do, fault: c.fault, a: r.IntN(o.Peers), doc: 0, arg: r.Uint64()}
	a.b = (a.a + 1 + r.IntN(o.Peers-1)) % o.Peers
	if chance(r, 25) {
		a.doc = 1
	}
	a.name = pick(r, extensionNames())
	a.text = fmt.Sprintf("%x", r.Uint32())
	a.role = pick(r, []crdt.Role{crdt.Read, crdt.Write, crdt.Write, crdt.Admin})
	switch c.do {
	case DoPartition, DoBlock, doFlap:
		a.for_ = between(r, 50*time.Millisecond, 3*time.Second)
		if chance(r, 25) {
			a.for_ = between(r, 3*time.Second, 90*time.Second)
		}
	case DoCrash, DoStop, DoRestore, DoFull:
		a.for_ = between(r, 50*time.Millisecond, 4*time.Second)
	case DoJump:
		a.for_ = pick(r, []time.Duration{-50 * time.Millisecond, 50 * time.Millisecond, -time.Hour, time.Hour, -400 * 24 * time.Hour, 400 * 24 * time.Hour})
	case DoClock, doPoison:
		a.stamp = pick(r, []int64{0, 4_070_908_800_000, math.MinInt64, math.MaxInt64, math.MaxInt64, crdt.MaxStamp})
	case DoDrift:
		a.stamp = pick(r, []int64{-100_000, -200, 200, 30_000, 500_000})
	case DoCorrect:
		a.for_ = between(r, -20*time.Millisecond, 20*time.Millisecond)
	}
	return a
}
