package sim

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// brokenLog is an activation log whose fold breaks a rule.
type brokenLog struct {
	events []activation.Event
	wins   func(e, best activation.Event) bool
}

func (l *brokenLog) Row(store string, r crdt.Row) {
	if e, err := activation.Parse(r.ID, r.Value); store == activation.Store && err == nil {
		l.events = append(l.events, e)
	}
}

func (l *brokenLog) Gone(string, crdt.RowID) {}

func (l *brokenLog) State() activation.State {
	s := activation.State{}
	for _, e := range l.events {
		void := slices.ContainsFunc(l.events, func(o activation.Event) bool { return o.Name == e.Name && slices.Contains(o.Prev, e.ID) })
		if best, any := s[e.Name]; !void && (!any || l.wins(e, best)) {
			s[e.Name] = e
		}
	}
	return s
}

func foldBy(wins func(e, best activation.Event) bool) func() crdt.IndexSpec {
	return func() crdt.IndexSpec {
		spec := activation.Index()
		spec.New = func() crdt.Index { return &brokenLog{wins: wins} }
		return spec
	}
}

// rewrite lets the product write its rows and then changes the last of them.
func rewrite(change func(row map[string]any, newest int64)) func(crdt.Index, int64, activation.Kind, string, extension.Ref) ([]string, error) {
	return func(index crdt.Index, now int64, kind activation.Kind, name string, ref extension.Ref) ([]string, error) {
		log := index.(*activation.Log)
		events, err := log.Next(now, kind, name, ref)
		if err != nil {
			return nil, err
		}
		e := events[len(events)-1]
		row := map[string]any{"kind": kind, "name": name, "timestamp": e.Timestamp}
		if kind == activation.Activated {
			row["extension_ref"] = ref
		}
		if len(e.Prev) > 0 {
			row["prev"] = e.Prev
		}
		newest, _ := log.Newest()
		change(row, newest)
		text, err := crdt.Canonical(row)
		return []string{text}, err
	}
}

// blindHost takes every signature for good: it puts a right one in the place of a wrong one, which it can
// because the lab has every key.
type blindHost struct {
	docsync.Host
	p *peer
}

func (h blindHost) Do(ctx context.Context, from crdt.PeerID, work docsync.Work) (docsync.Result, error) {
	apply, ok := work.(docsync.ApplyPage)
	if !ok {
		return h.Host.Do(ctx, from, work)
	}
	page, err := h.p.w.pages.Decode(apply.Page)
	if err != nil {
		return h.Host.Do(ctx, from, work)
	}
	access, err := h.p.repo.Access(ctx, apply.Doc)
	if err != nil {
		return nil, err
	}
	for i, sc := range page {
		c, err := chunk.New().Decode(access.Kind(), sc.Raw)
		if err != nil || len(sc.Sig) == 0 {
			continue
		}
		info, _ := access.Actor(c.Actor)
		for _, q := range h.p.w.peers {
			if q.self() == info.Key {
				page[i].Sig = q.id.Sign(crdt.ChangeMessage(apply.Doc, c.Actor, c.Seq, c.Hash))
			}
		}
	}
	if apply.Page, err = h.p.w.pages.Encode(page); err != nil {
		return nil, err
	}
	return h.Host.Do(ctx, from, apply)
}

// hastyCodec makes gates that take a change whose dependencies are not there.
type hastyCodec struct{ crdt.Codec }

type hastyGate struct{ crdt.Gate }

func (c hastyCodec) NewGate(id crdt.DocID, kind crdt.Kind) crdt.Gate {
	return hastyGate{c.Codec.NewGate(id, kind)}
}

func (g hastyGate) Check(c *crdt.Change) error {
	err := g.Gate.Check(c)
	var missing *crdt.MissingError
	if errors.As(err, &missing) {
		return nil
	}
	return err
}

func mutants() map[string]rules {
	return map[string]rules{
		"tiebreak removed": {index: foldBy(func(e, best activation.Event) bool { return e.Timestamp > best.Timestamp })},
		"arrival order":    {index: foldBy(func(activation.Event, activation.Event) bool { return true })},
		"wrapping add": {write: rewrite(func(row map[string]any, newest int64) {
			if newest == math.MaxInt64 {
				row["timestamp"] = newest + 1
			}
		})},
		"no prev":                 {write: rewrite(func(row map[string]any, _ int64) { delete(row, "prev") })},
		"missing signature check": {host: func(p *peer, h docsync.Host) docsync.Host { return blindHost{h, p} }},
		"gap accepted":            {codec: func(c crdt.Codec) crdt.Codec { return hastyCodec{c} }},
	}
}

// Mutants are looked for in so many seeds from the first one on.
const (
	mutantFirst = 96
	mutantSeeds = 1000
)

// TestMutants breaks one rule of the product each time: a lab that does not notice is worth nothing.
func TestMutants(t *testing.T) {
	lab := newLab(t)
	most := uint64(mutantFirst)
	for name, broken := range mutants() {
		found := false
		for seed := uint64(mutantFirst); seed < mutantFirst+mutantSeeds && !found; seed++ {
			r := play(t, lab, Options{Seed: seed, Core: CoreNever, rules: broken})
			if found = r.Failure != nil; found {
				most = max(most, seed)
				t.Logf("%s: seed %d: %.160s", name, seed, r.Failure)
			}
		}
		if !found {
			t.Errorf("%s: not noticed in %d seeds", name, mutantSeeds)
		}
	}
	for seed := uint64(mutantFirst); seed <= most; seed++ { // the control
		if r := play(t, lab, Options{Seed: seed, Core: CoreNever}); r.Failure != nil {
			t.Errorf("unbroken, seed %d: %v", seed, r.Failure)
		}
	}
	t.Logf("the control passed seeds %d to %d", mutantFirst, most)
}
