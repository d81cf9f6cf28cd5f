package sim

import (
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// picture is what a peer has of a document.
type picture struct {
	heads   []crdt.ChangeHash
	access  [32]byte
	state   activation.State
	rows    []crdt.Row // of the activation log, by id
	entries []crdt.RowID
	records string
	subject string
	changes []crdt.SignedChange
}

// look reads a document and checks what needs no comparison.
func (w *world) look(p *peer, d *doc) *picture {
	pic := &picture{}
	err := p.repo.View(w.ctx, d.id, func(v *crdt.View) error {
		pic.heads, pic.access = v.Heads(), v.Access().Digest()
		pic.state = v.Index(activation.IndexName).(beliefs).State()
		for r := range v.Rows(activation.Store) {
			pic.rows = append(pic.rows, r)
		}
		for _, e := range (crdt.SessionView{View: v}).Entries(0, -1) {
			pic.entries = append(pic.entries, e.ID)
		}
		if s := w.opt.Subject; s != nil {
			var err error
			if pic.subject, err = s.Read(v); err != nil {
				return err
			}
		}
		for _, store := range []string{crdt.SettingsStore, "x_records"} {
			for k, text := range v.Records(store) {
				pic.records += store + "/" + k + "=" + text + "\n"
			}
		}
		return nil
	})
	more := false
	if err == nil {
		pic.changes, _, more, err = p.repo.Page(w.ctx, d.id, crdt.Vector{}, nil, 1<<30)
	}
	if err != nil || more {
		w.fail(S1, p, "read the %s: %v (more %v)", d.kind, err, more)
		return nil
	}
	slices.SortFunc(pic.rows, func(a, b crdt.Row) int { return slices.Compare(a.ID[:], b.ID[:]) })
	w.checkFold(p, d, pic)
	return pic
}

// checkFold: what the peer believes is what a fold from scratch says, in any order, and no row lost to
// one that its writer had seen.
func (w *world) checkFold(p *peer, d *doc, pic *picture) {
	rng := newStream(w.opt.Seed, "orders", p.n)
	rows := slices.Clone(pic.rows)
	for range 3 {
		w.met(I3)
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		if want := activation.FoldRows(slices.Values(rows)); !pic.state.Equal(want) {
			w.fail(I3, p, "it believes %s, its rows say %s", words(pic.state), words(want))
		}
	}
	w.met(P3)
	for _, r := range pic.rows {
		for _, seen := range w.ledger.saw[r.ID] {
			if e, err := activation.Parse(r.ID, r.Value); err == nil && pic.state[e.Name].ID == seen && seen != r.ID {
				w.fail(P3, p, "%s: the row %s counts, and %s was written by somebody who had seen it", e.Name, seen.String()[:8], r.ID.String()[:8])
			}
		}
	}
}

// words prints which names are on.
func words(s activation.State) string {
	list := []string{}
	for _, a := range s.ReadActive() {
		list = append(list, a.Name+"@"+a.Row.String()[:6])
	}
	for _, name := range s.ReadDisabled() {
		list = append(list, "-"+name)
	}
	return fmt.Sprint(list)
}
