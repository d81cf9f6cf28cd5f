package node_test

import (
	"context"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// The node serves every method of the API and no other.
func TestEveryMethodIsServed(t *testing.T) {
	n, err := node.Open(context.Background(), node.Config{Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	var have []string
	for _, m := range n.Methods() {
		have = append(have, m.Name)
	}
	want := control.Names()
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("served %v\nlisted %v", have, want)
	}
}
