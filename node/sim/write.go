package sim

import (
	"errors"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// playPeer does a step of a running peer.
func (w *world) playPeer(a act, p, q *peer) bool {
	d := w.docs[min(a.doc, len(w.docs)-1)]
	if p.rogue != (a.do == doRogue) && a.do != DoEvict && a.do != DoCompact {
		return false
	}
	if !p.repo.Has(d.id) && a.do != DoJoin {
		return false
	}
	switch a.do {
	case DoOn, DoOff, DoUpgrade:
		return p.switchOne(d, a)
	case DoStart:
		return p.recordActive(d, a)
	case DoPost, doRogue:
		return p.post(d, a)
	case DoSet:
		return p.set(d, a)
	case doBurst:
		return p.burst(d)
	case doPoison:
		return p.poison(d, a)
	case DoOwn:
		return p.w.opt.Subject != nil && p.update(d, func(tx *crdt.Tx) error { return p.w.opt.Subject.Write(tx, a.text) }, nil)
	case DoGrant:
		return p.grant(d, q, a)
	case DoJoin:
		return p.join(d, q, a)
	case doForge, doGap, doMangle:
		return p.attack(d, a)
	case DoEvict, DoCompact:
		return p.upkeep(d, a)
	}
	return false
}

// update writes, and checks what it says and what can be read afterwards.
func (p *peer) update(d *doc, fn func(*crdt.Tx) error, seen func(*crdt.View) string) bool {
	before := p.ownTips(d)
	err := p.repo.Update(p.w.ctx, d.id, fn)
	if p.disk.dead || errors.Is(err, crdt.ErrNoRight) || isDisk(err) {
		return err == nil || p.disk.dead
	}
	if err != nil {
		p.w.fail(S1, p, "write to %s: %v", d.kind, err)
		return false
	}
	p.w.met(S5)
	err = p.repo.View(p.w.ctx, d.id, func(v *crdt.View) error {
		for a, t := range v.Vector() {
			if t.Seq > before[a].Seq {
				p.raise(a, t)
			}
		}
		if seen != nil {
			if bad := seen(v); bad != "" {
				p.w.fail(S5, p, "%s", bad)
			}
		}
		return nil
	})
	if err != nil && !isDisk(err) {
		p.w.fail(S5, p, "read after a write: %v", err)
	}
	return true
}

func (p *peer) ownTips(d *doc) crdt.Vector {
	v, err := p.repo.Vector(p.w.ctx, d.id)
	if err != nil {
		return nil
	}
	return v
}

func (p *peer) post(d *doc, a act) bool {
	if a.do == doRogue {
		p.w.hit(FaultRogue)
	}
	var id crdt.RowID
	store := "x_rows"
	return p.update(d, func(tx *crdt.Tx) (err error) {
		if d.kind == crdt.Session {
			store = crdt.EntriesStore
			id, err = crdt.AddEntry(tx, crdt.Entry{Sender: p.name, Content: a.text})
			return err
		}
		id, err = tx.AddRow(store, map[string]any{"text": a.text, "n": a.arg >> 12, "peer": p.name})
		return err
	}, func(v *crdt.View) string {
		if _, ok := v.Row(store, id); !ok {
			return "a row that was just written is not there"
		}
		return ""
	})
}

func (p *peer) set(d *doc, a act) bool {
	store, key := "x_records", a.name+"/level"
	if d.kind == crdt.Session {
		store = crdt.SettingsStore
	}
	value := a.text
	return p.update(d, func(tx *crdt.Tx) error { return tx.Set(store, key, value) }, func(v *crdt.View) string {
		if got, _ := v.Record(store, key); got != fmt.Sprintf("%q", value) {
			return fmt.Sprintf("a setting shows %s just after %q was written", got, value)
		}
		return ""
	})
}

// burst writes more changes than a segment needs.
func (p *peer) burst(d *doc) bool {
	done := true
	for i := range 66 {
		done = done && p.update(d, func(tx *crdt.Tx) error {
			_, err := tx.AddRow("x_rows", map[string]any{"burst": i, "peer": p.name, "step": p.w.step})
			return err
		}, nil)
	}
	return done
}
