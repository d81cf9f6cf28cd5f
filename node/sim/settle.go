package sim

import (
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// Bounds of a recovery: simulated time, and frames for each pair of peers and document.
const (
	restTime   = 180 * time.Second
	restFrames = 120
)

// settle lets time pass until all members have the same, and fails I8 if that takes too long.
func (w *world) settle() {
	w.met(I8)
	begin, talked := w.now, w.talk
	for w.now < begin+restTime {
		if !w.turn(begin + restTime) {
			break
		}
		if w.active == 0 && w.together() {
			// Notes of who has what are written a moment later.
			w.advance(w.now + 2*time.Second)
			if w.active == 0 && w.together() {
				w.checkTalk(w.talk - talked)
				return
			}
		}
	}
	if w.res.Failure == nil && w.ctx.Err() == nil {
		w.fail(I8, nil, "%s after everything healed: %s", restTime, w.apart())
	}
}

func (w *world) checkTalk(frames int) {
	n := len(w.peers)
	if most := restFrames * n * n / 2 * len(w.docs); frames > most {
		w.fail(I8, nil, "coming together took %d frames, more than %d", frames, most)
	}
}

func (w *world) together() bool { return w.apart() == "" }

// apart says what is not as it should be at rest, by digests and by what sessions say of themselves.
func (w *world) apart() string {
	for _, d := range w.docs {
		members := w.members(d)
		first, ok := members[0].repo.Summary(d.id)
		for _, p := range members {
			sum, here := p.repo.Summary(d.id)
			switch {
			case !ok || !here:
				return fmt.Sprintf("%s does not have the %s", p.name, d.kind)
			case sum.Access != first.Access:
				return fmt.Sprintf("%s and %s have different access logs of the %s", members[0].name, p.name, d.kind)
			case sum.Vector != first.Vector:
				return fmt.Sprintf("%s and %s have different changes of the %s", members[0].name, p.name, d.kind)
			}
			for _, q := range members {
				if q != p && p.states[place{q.n, d.id}] != docsync.InSync {
					return fmt.Sprintf("%s has the same %s as %s and shows %q", p.name, d.kind, q.name, p.states[place{q.n, d.id}])
				}
			}
		}
	}
	return ""
}

// members are the honest peers that may read a document, by the log of its first owner; he comes first.
func (w *world) members(d *doc) []*peer {
	owner := w.peers[0]
	access, err := owner.repo.Access(w.ctx, d.id)
	if err != nil {
		return []*peer{owner}
	}
	var out []*peer
	for _, p := range w.peers {
		if !p.rogue && access.Role(p.self()) >= crdt.Read {
			out = append(out, p)
		}
	}
	return out
}
