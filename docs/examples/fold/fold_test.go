// Package fold_test puts a data type of an extension to the test: does it converge? It is an example to
// copy. The type is a shopping list that lives in the rows of a session; a second, careless one shows
// what the lab says when a type does not converge.
package fold_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/sim"
)

// item is one row of the list.
type item struct {
	Item string `json:"item"`
}

// write adds an item; in a scenario the text is that of the action own.
func write(tx *crdt.Tx, text string) error {
	_, err := tx.AddRow("x_rows", item{text})
	return err
}

// list is the state: all items in the order of the alphabet. It is a function of the set of rows, so it
// can't matter in which order they came.
func list(v *crdt.View) (string, error) {
	var all []string
	for r := range v.Rows("x_rows") {
		var x item
		if err := json.Unmarshal([]byte(r.Value), &x); err != nil {
			return "", err
		}
		all = append(all, x.Item)
	}
	slices.Sort(all)
	return strings.Join(all, ", "), nil
}

// newest is a careless index: it takes the row that came last for the newest one.
type newest struct{ value string }

func (n *newest) Row(store string, r crdt.Row) {
	if store == "x_rows" {
		n.value = r.Value
	}
}

func (n *newest) Gone(string, crdt.RowID) {}

func careless() *sim.Subject {
	return &sim.Subject{
		Indexes: []crdt.IndexSpec{{Name: "newest", Kinds: []crdt.Kind{crdt.Session}, New: func() crdt.Index { return &newest{} }}},
		Write:   write,
		Read:    func(v *crdt.View) (string, error) { return v.Index("newest").(*newest).value, nil },
	}
}

// tunnel is a story in which two people write at the same time and cannot hear each other.
func tunnel() *sim.Scenario {
	return &sim.Scenario{
		Name:  "shopping in a tunnel",
		Peers: []sim.ScenarioPeer{{Name: "anna"}, {Name: "ben"}},
		Steps: []sim.Step{
			{Do: sim.DoWait},
			{Do: sim.DoPartition, Peer: "anna", With: "ben"},
			{Do: sim.DoOwn, Peer: "anna", Text: "milk"},
			{Do: sim.DoOwn, Peer: "ben", Text: "bread"},
			{Do: sim.DoHeal},
			{Do: sim.DoWait},
		},
		Expect: []sim.Expect{{Agree: new(true)}},
	}
}

// One story, told by hand.
func TestListConvergesInTheTunnel(t *testing.T) {
	sim.RunOptions(t, sim.Options{Scenario: tunnel(), Subject: &sim.Subject{Write: write, Read: list}})
}

// Many runs that a seed makes up, with everything that can go wrong on networks, disks and clocks.
func TestListConverges(t *testing.T) {
	for seed := range uint64(10) {
		sim.RunOptions(t, sim.Options{Seed: seed, Core: sim.CoreNever, Subject: &sim.Subject{Write: write, Read: list}})
	}
}

// The control: the lab notices a type that does not converge.
func TestCarelessTypeIsNoticed(t *testing.T) {
	r, err := sim.Run(t.Context(), sim.Options{Scenario: tunnel(), Subject: careless()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Failure == nil || !strings.Contains(r.Failure.Detail, "they do not have the same") {
		t.Errorf("it was not noticed: %v", r.Failure)
	}
}

// A story without a type of one's own: ben's clock is a day behind, and his switch wins all the same.
func TestADayBehind(t *testing.T) {
	sim.RunT(t, &sim.Scenario{
		Peers: []sim.ScenarioPeer{{Name: "anna"}, {Name: "ben", Clock: sim.ScenarioClock{Offset: sim.Duration(-24 * time.Hour)}}},
		Steps: []sim.Step{
			{Do: sim.DoWait},
			{Do: sim.DoOn, Peer: "anna", Name: "notes", Version: "1.0.0"},
			{Do: sim.DoWait},
			{Do: sim.DoOff, Peer: "ben", Name: "notes"}, // a day behind, but it has seen the other
		},
		Expect: []sim.Expect{{Agree: new(true), Inactive: []string{"notes"}}},
	})
}
