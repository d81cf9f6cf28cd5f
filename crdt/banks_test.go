package crdt_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func TestBankAndPackageViews(t *testing.T) {
	p, ctx := newPeer(t, 1, crdt.NewMemStore()), context.Background()
	for kind, store := range map[crdt.Kind]string{crdt.MemoryBank: "memory", crdt.SkillBank: "skills"} {
		id, err := p.Create(ctx, kind, func(tx *crdt.Tx) error {
			for i, at := range []int64{5, 9, 7} {
				if _, err := tx.AddRow(store, map[string]any{"key": fmt.Sprint(i), "timestamp": at}); err != nil {
					return err
				}
			}
			if err := tx.Set(crdt.MetaStore, "description", "what we know"); err != nil {
				return err
			}
			return tx.Set(crdt.MetaStore, crdt.MetaDisplay, "team")
		})
		if err != nil {
			t.Fatal(err)
		}
		err = p.View(ctx, id, func(v *crdt.View) error {
			b := crdt.BankView{View: v}
			var keys string
			for _, r := range b.Rows() {
				keys += string(r.Value[8])
			}
			if b.Name() != "team" || b.Description() != "what we know" || keys != "120" {
				t.Errorf("%s: %q, %q, rows in the order %s", kind, b.Name(), b.Description(), keys)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	id, err := p.Create(ctx, crdt.Package, func(tx *crdt.Tx) error {
		for _, version := range []string{"1.0.0", "1.1.0"} {
			if err := tx.Set("releases", version, map[string]string{"cid": "bafy" + version}); err != nil {
				return err
			}
		}
		return tx.Set(crdt.MetaStore, crdt.MetaName, "greeter")
	})
	if err != nil {
		t.Fatal(err)
	}
	err = p.View(ctx, id, func(v *crdt.View) error {
		pkg := crdt.PackageView{View: v}
		if got := slices.Sorted(maps.Keys(pkg.Releases())); pkg.Name() != "greeter" || fmt.Sprint(got) != "[1.0.0 1.1.0]" {
			t.Errorf("package %q with %v", pkg.Name(), got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
