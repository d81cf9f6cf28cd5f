package sim

import (
	"errors"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// switchOne switches an extension, or gives it another version.
func (p *peer) switchOne(d *doc, a act) bool {
	kind, ref := activation.Activated, refOf(a)
	if a.do == DoOff {
		kind, ref = activation.Deactivated, extension.Ref{}
	}
	var last crdt.RowID
	var seen []crdt.RowID
	quiet := false
	done := p.update(d, func(tx *crdt.Tx) error {
		seen = p.w.ledger.seenRows(tx.View, activation.Store, a.name)
		texts, err := p.w.rowsFor(tx, a, kind, ref)
		if quiet = len(texts) == 0; err != nil || quiet {
			return err
		}
		for _, text := range texts {
			if last, err = tx.PutRow(activation.Store, text); err != nil {
				return err
			}
		}
		p.w.ledger.switched(d.id, a.name, last, seen)
		return nil
	}, func(v *crdt.View) string {
		if quiet {
			return ""
		}
		e, ok := v.Index(activation.IndexName).(beliefs).State()[a.name]
		if !ok || e.ID != last || e.Kind != kind {
			return fmt.Sprintf("%s was just switched (%s), and the row that counts is another one: %s at %d", a.name, a.do, e.Kind, e.Timestamp)
		}
		return ""
	})
	return done && !quiet
}

// rowsFor lists the rows that switch a name by the rules for writers.
func (w *world) rowsFor(tx *crdt.Tx, a act, kind activation.Kind, ref extension.Ref) ([]string, error) {
	index := tx.Index(activation.IndexName)
	if write := w.opt.rules.write; write != nil && a.do != DoUpgrade {
		return write(index, tx.Now(), kind, a.name, ref)
	}
	log, ok := index.(*activation.Log)
	if !ok {
		log = activation.NewLog() // the fold is replaced: write from the rows themselves
		for r := range tx.Rows(activation.Store) {
			log.Row(activation.Store, r)
		}
	}
	if a.do == DoUpgrade {
		if !log.Active(a.name) {
			return nil, nil
		}
		return textsOf(log.Upgrade(a.name, ref))
	}
	return textsOf(log.Next(tx.Now(), kind, a.name, ref))
}

func textsOf(events []activation.Event, err error) ([]string, error) {
	texts := make([]string, len(events))
	for i, e := range events {
		texts[i] = e.Text
	}
	return texts, err
}

// refOf is where the code of an extension comes from, one of several kinds.
func refOf(a act) extension.Ref {
	if a.version != "" {
		return extension.BuiltinRef(a.name, a.version)
	}
	switch a.arg % 3 {
	case 0:
		return extension.BuiltinRef(a.name, fmt.Sprintf("1.%d.0", a.arg>>8%20))
	case 1:
		return extension.GitRef(a.name, "https://example.org/"+a.name, fmt.Sprintf("%040x", a.arg))
	}
	return extension.IPLDRef(a.name, fmt.Sprintf("bafy%d", a.arg>>8%20))
}

// recordActive does what a peer does at the start of a session: its built-ins are on, in its version.
func (p *peer) recordActive(d *doc, a act) bool {
	var decls []extension.Declaration
	for _, name := range []string{"fs", "web"} {
		decls = append(decls, extension.Declaration{Manifest: extension.Manifest{Name: name, Ref: extension.BuiltinRef(name, fmt.Sprintf("1.%d.0", p.n))}})
	}
	wrote := false
	done := p.update(d, func(tx *crdt.Tx) error {
		log, ok := tx.Index(activation.IndexName).(*activation.Log)
		if !ok {
			return nil
		}
		events, err := activation.RecordActive(log, decls, tx.Now())
		for _, e := range events {
			if wrote, err = true, errors.Join(err, put(tx, e.Text)); err != nil {
				return err
			}
		}
		return err
	}, nil)
	return done && wrote
}

func put(tx *crdt.Tx, text string) error {
	_, err := tx.PutRow(activation.Store, text)
	return err
}

// poison writes a row whose stamp no clock has shown.
func (p *peer) poison(d *doc, a act) bool {
	row := map[string]any{"kind": "activated", "name": a.name, "timestamp": a.stamp, "extension_ref": extension.BuiltinRef(a.name, "6.6.6")}
	if a.arg%2 == 0 {
		row = map[string]any{"kind": "deactivated", "name": a.name, "timestamp": a.stamp}
	}
	done := p.update(d, func(tx *crdt.Tx) error {
		_, err := tx.AddRow(activation.Store, row)
		return err
	}, nil)
	if done {
		p.w.hit(FaultPoison)
	}
	return done
}
