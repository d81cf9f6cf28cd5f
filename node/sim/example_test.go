package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/sim"
)

// A story in a test: the clock of one peer is a year behind, and its switch wins all the same, because
// it was made after seeing the other one. In a test, sim.RunT(t, story) does the same in one line.
func ExampleRun() {
	story := &sim.Scenario{
		Name:  "a year behind",
		Peers: []sim.ScenarioPeer{{Name: "anna"}, {Name: "ben", Clock: sim.ScenarioClock{Offset: -sim.Duration(8760 * 3600e9)}}},
		Steps: []sim.Step{
			{Do: sim.DoOn, Peer: "anna", Name: "notes"},
			{Do: sim.DoWait},
			{Do: sim.DoOff, Peer: "ben", Name: "notes"},
			{Do: sim.DoWait},
			{Do: sim.DoExpect, Expect: &sim.Expect{Inactive: []string{"notes"}, Scratch: true}},
		},
	}
	r, err := sim.Run(context.Background(), sim.Options{Scenario: story})
	fmt.Println(err, r.Failure == nil)
	// Output: <nil> true
}

// A data type of one's own: votes in the rows of a session, counted from all of them. The lab writes
// them on peers that crash and lose each other, and compares the counts when all has healed.
func ExampleSubject() {
	votes := &sim.Subject{
		Write: func(tx *crdt.Tx, text string) error {
			_, err := tx.AddRow("x_rows", map[string]string{"vote": text[:1], "by": tx.Self().String(), "nonce": text})
			return err
		},
		Read: func(v *crdt.View) (string, error) {
			var all []string
			for r := range v.Rows("x_rows") {
				var row struct{ Vote string }
				if err := json.Unmarshal([]byte(r.Value), &row); err != nil {
					return "", err
				}
				all = append(all, row.Vote)
			}
			slices.Sort(all)
			return strings.Join(all, ""), nil
		},
	}
	lab, err := sim.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lab.Close()
	s, err := lab.RunSeeds(context.Background(), sim.Options{Seed: 1, Subject: votes, Core: sim.CoreNever}, 5, nil, nil)
	fmt.Println(err, s.Seeds, s.Failed, s.Faults["partition"] > 0)
	// Output: <nil> 5 0 true
}
