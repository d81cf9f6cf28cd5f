package chunk

import (
	"encoding/binary"
	"unsafe"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// node is one absorbed change. Node 0 is the genesis.
type node struct {
	hash   crdt.ChangeHash
	parent uint32 // a dependency; the clock says what the other dependencies add to it
	actor  uint32 // index in graph.actors
	seq    uint32
	maxOp  uint32 // counter of the last operation
	next   uint32 // 1 + the next node whose hash begins with the same 8 bytes, or 0
	weight uint16 // steps from here to the next full clock
	head   bool   // no absorbed change depends on it
	clock  *clock // nil: just the parent's, and the parent
}

// graph is the history of a document: which change is an ancestor of which.
type graph struct {
	nodes  []node
	index  map[uint64]uint32 // first 8 bytes of a hash to a node
	actors []crdt.ActorID
	number map[crdt.ActorID]uint32 // index in actors
	last   []uint32                // last node of each actor
	heads  int
	extra  int // bytes in clocks
	joined []uint32
	other  []uint32
}

func newGraph(genesis *crdt.Change, maxOp uint64) *graph {
	g := &graph{index: make(map[uint64]uint32), number: make(map[crdt.ActorID]uint32)}
	g.insert(node{hash: genesis.Hash, actor: g.actor(genesis.Actor), seq: 1, maxOp: uint32(maxOp)})
	return g
}

func (g *graph) actor(a crdt.ActorID) uint32 {
	i, ok := g.number[a]
	if !ok {
		i = uint32(len(g.actors))
		g.number[a] = i
		g.actors = append(g.actors, a)
		g.last = append(g.last, 0)
	}
	return i
}

func (g *graph) insert(n node) uint32 {
	i := uint32(len(g.nodes))
	key := binary.LittleEndian.Uint64(n.hash[:])
	if same, ok := g.index[key]; ok {
		n.next = same + 1
	}
	g.index[key] = i
	n.head = true
	g.heads++
	g.last[n.actor] = i
	g.nodes = append(g.nodes, n)
	return i
}

func (g *graph) find(h crdt.ChangeHash) (uint32, bool) {
	i, ok := g.index[binary.LittleEndian.Uint64(h[:])]
	for ok && g.nodes[i].hash != h {
		if g.nodes[i].next == 0 {
			return 0, false
		}
		i = g.nodes[i].next - 1
	}
	return i, ok
}

// lastOf returns the last change of an actor; ok is false when it has none.
func (g *graph) lastOf(a crdt.ActorID) (uint32, bool) {
	i, ok := g.number[a]
	if !ok {
		return 0, false
	}
	return g.last[i], true
}

// findAll resolves hashes, or names those that are unknown.
func (g *graph) findAll(hashes []crdt.ChangeHash) ([]uint32, error) {
	out := make([]uint32, len(hashes))
	var missing []crdt.ChangeHash
	for i, h := range hashes {
		n, ok := g.find(h)
		if !ok {
			missing = append(missing, h)
		}
		out[i] = n
	}
	if len(missing) > 0 {
		return nil, &crdt.MissingError{Deps: missing}
	}
	return out, nil
}

// covers reports whether deps, which have no repeats, hold every head: then everything absorbed is
// an ancestor.
func (g *graph) covers(deps []uint32) bool {
	n := 0
	for _, d := range deps {
		if g.nodes[d].head {
			n++
		}
	}
	return n == g.heads
}

// add inserts a change after its dependencies.
func (g *graph) add(c *crdt.Change, deps []uint32) uint32 {
	n := node{
		hash: c.Hash, actor: g.actor(c.Actor), seq: uint32(c.Seq),
		maxOp: uint32(c.StartOp) + uint32(len(c.Ops)) - 1,
	}
	g.place(&n, deps)
	for _, d := range deps {
		if g.nodes[d].head {
			g.nodes[d].head = false
			g.heads--
		}
	}
	return g.insert(n)
}

// size counts the bytes of memory in use, with the usual slack of Go's maps.
func (g *graph) size() int {
	const perIndex, perActor = 32, 2 * 32
	return cap(g.nodes)*int(unsafe.Sizeof(node{})) + len(g.nodes)*perIndex +
		len(g.actors)*(perActor+16+4) + g.extra + 4*(cap(g.joined)+cap(g.other))
}
