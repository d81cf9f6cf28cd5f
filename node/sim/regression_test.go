package sim

import (
	"fmt"
	"testing"
)

// TestRegressions runs the seeds that once found a fault of the product.
func TestRegressions(t *testing.T) {
	for _, o := range []Options{
		{Seed: 41, Peers: 3, Steps: 60},                    // spoilt bytes took the name of a good change
		{Seed: 147, Peers: 3, Steps: 60},                   // the same
		{Seed: 6274, Peers: 3, Steps: 60, Core: CoreNever}, // a failed write that was durable was told to nobody
		{Seed: 6287, Peers: 3, Steps: 60, Core: CoreNever}, // the same
		{Seed: 5471, Peers: 3, Steps: 60, Core: CoreNever},
		{Seed: 5651, Peers: 3, Steps: 60, Core: CoreNever},  // a failed compaction that was durable
		{Seed: 11178, Peers: 3, Steps: 60, Core: CoreNever}, // a refusal that crossed an announce
	} {
		t.Run(fmt.Sprint(o.Seed), func(t *testing.T) { RunOptions(t, o) })
	}
}
