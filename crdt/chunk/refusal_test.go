package chunk

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Operations of the change under test, in the order Next writes them.
const (
	opMemoryA = iota // delete of row 1, set of row 4, in key order
	opMemoryB
	opHistory
	opConfig
)

// refusals are edits of one honest change, each of which must be refused for its reason. That the
// change passes as it is, is the control.
var refusals = []struct {
	name   string
	reason crdt.Reason
	edit   func(*body)
}{
	{"dependencies not sorted", crdt.ReasonMalformed, func(b *body) { slices.Reverse(b.deps) }},
	{"a dependency twice", crdt.ReasonMalformed, func(b *body) { b.deps = []crdt.ChangeHash{b.deps[0], b.deps[0]} }},
	{"actors not sorted", crdt.ReasonMalformed, func(b *body) { slices.Reverse(b.others) }},
	{"an actor nobody uses", crdt.ReasonMalformed, func(b *body) { b.others = append(b.others, crdt.ActorID{0xfe}) }},
	{"own actor among the others", crdt.ReasonMalformed, func(b *body) { b.others = append(b.others, b.actor) }},
	{"own actor under two indexes", crdt.ReasonMalformed, func(b *body) {
		b.others = slices.Insert(b.others, 1, b.actor)
		for i, p := range b.ops[opConfig].pred { // bob's index moves, alice's becomes the second one
			b.ops[opConfig].pred[i].actor = map[uint64]uint64{0: 2, 2: 3}[p.actor]
		}
	}},
	{"replaces operation 0", crdt.ReasonMalformed, func(b *body) { b.ops[opConfig].pred[0].ctr = 0 }},
	{"genesis actor", crdt.ReasonMalformed, func(b *body) { b.actor, b.others = crdt.ActorID{}, b.others[1:] }},
	{"time before 1970", crdt.ReasonMalformed, func(b *body) { b.time = -1 }},
	{"time after 9999", crdt.ReasonMalformed, func(b *body) { b.time = 253402300800 }},
	{"no operations", crdt.ReasonMalformed, func(b *body) { b.ops = nil }},
	{"makes a map", crdt.ReasonMalformed, func(b *body) {
		o := &b.ops[opConfig]
		o.action, o.valType, o.value = actMakeMap, valNull, ""
	}},
	{"increments", crdt.ReasonMalformed, func(b *body) { b.ops[opConfig].action = 5 }},
	{"writes to the root", crdt.ReasonMalformed, func(b *body) { b.ops[opConfig].root = true }},
	{"delete with a value", crdt.ReasonMalformed, func(b *body) { b.ops[opConfig].action = actDelete }},
	{"empty key", crdt.ReasonMalformed, func(b *body) { b.ops[opConfig].key = "" }},
	{"one key twice in a row", crdt.ReasonMalformed, func(b *body) { b.ops = append(b.ops, b.ops[opConfig]) }},
	{"one key twice, apart", crdt.ReasonMalformed, func(b *body) { b.ops = append(b.ops, b.ops[opHistory]) }},

	{"key too long", crdt.ReasonTooLarge, func(b *body) { b.ops[opConfig].key = strings.Repeat("k", crdt.MaxKey+1) }},
	{"value too long", crdt.ReasonTooLarge, func(b *body) {
		b.ops[opConfig].value = `"` + strings.Repeat("v", crdt.MaxValue-1) + `"`
	}},
	{"change too long", crdt.ReasonTooLarge, func(b *body) { b.ops[opConfig].value = strings.Repeat(" ", crdt.MaxChange) }},
	{"too many dependencies", crdt.ReasonTooLarge, func(b *body) { b.deps = make([]crdt.ChangeHash, crdt.MaxDeps+1) }},
	{"too many operations", crdt.ReasonTooLarge, func(b *body) {
		for i := range crdt.MaxOps {
			o := b.ops[opConfig]
			o.key, o.pred = strings.Repeat("k", 1+i%7)+string(rune('a'+i%9)), nil
			b.ops = append(b.ops, o)
		}
	}},
	{"replaces too many", crdt.ReasonTooLarge, func(b *body) {
		b.ops = nil
		for i := range crdt.MaxOps {
			o := wireOp{objActor: 1, objCtr: 8, key: fmt.Sprint(i), action: actSet, valType: valText, value: "1"}
			for j := range uint64(maxPreds/crdt.MaxOps + 1) {
				o.pred = append(o.pred, wirePred{j % 2, int64(1 + j)})
			}
			b.ops = append(b.ops, o)
		}
	}},
	{"counter too high", crdt.ReasonTooLarge, func(b *body) { b.startOp = maxCounter }},

	{"object out of range", crdt.ReasonStore, func(b *body) { b.ops[opConfig].objCtr = uint64(len(crdt.Agent.Stores()) + 1) }},
	{"object 0", crdt.ReasonStore, func(b *body) { b.ops[opConfig].objCtr = 0 }},
	{"object of another actor", crdt.ReasonStore, func(b *body) { b.ops[opConfig].objActor = 2 }},
	{"object of no actor", crdt.ReasonStore, func(b *body) { b.ops[opConfig].objActor = 9 }},

	{"key is not the hash", crdt.ReasonRow, func(b *body) { b.ops[opHistory].value += " " }},
	{"key is the hash in upper case", crdt.ReasonRow, func(b *body) { b.ops[opHistory].key = strings.ToUpper(b.ops[opHistory].key) }},
	{"row replaces", crdt.ReasonRow, func(b *body) { b.ops[opHistory].pred = []wirePred{{0, 16}} }},
	{"delete of a row for life", crdt.ReasonRow, func(b *body) {
		o := &b.ops[opHistory]
		o.action, o.valType, o.value = actDelete, valNull, ""
	}},
	{"delete of a row that is not there", crdt.ReasonRow, func(b *body) { removal(b).key = strings.Repeat("0", 64) }},
	{"delete under no row's key", crdt.ReasonRow, func(b *body) { removal(b).key = "x" }},
	{"delete of a row that replaces nothing", crdt.ReasonRow, func(b *body) { removal(b).pred = nil }},
	{"row that is there", crdt.ReasonRow, func(b *body) {
		again := row("memory", 2)
		for i := range b.ops {
			if b.ops[i].objCtr == b.ops[opMemoryA].objCtr && b.ops[i].action == actSet {
				b.ops[i].key, b.ops[i].value = again.Key, again.Value
			}
		}
	}},

	{"replaces nothing", crdt.ReasonRecord, func(b *body) { b.ops[opConfig].pred, b.others = nil, b.others[:1] }},
	{"replaces one of two", crdt.ReasonRecord, func(b *body) {
		p := b.ops[opConfig].pred
		b.ops[opConfig].pred = slices.DeleteFunc(p, func(p wirePred) bool { return p.actor == 0 })
	}},
	{"replaces what was replaced", crdt.ReasonRecord, func(b *body) {
		o := &b.ops[opConfig]
		o.pred = append([]wirePred{{0, 17}}, o.pred...) // the field's first value
	}},
	{"replaced not sorted", crdt.ReasonRecord, func(b *body) { slices.Reverse(b.ops[opConfig].pred) }},
	{"replaces the future", crdt.ReasonRecord, func(b *body) { b.ops[opConfig].pred[1].ctr = int64(b.startOp) }},
	{"replaces by no actor", crdt.ReasonRecord, func(b *body) { b.ops[opConfig].pred[1].actor = 9 }},
	{"delete of nothing", crdt.ReasonRecord, func(b *body) {
		b.ops[opConfig] = wireOp{objActor: 1, objCtr: b.ops[opConfig].objCtr, key: "none", action: actDelete}
		b.others = b.others[:1]
	}},
	{"document id", crdt.ReasonRecord, func(b *body) {
		for i, s := range crdt.Agent.Stores() {
			if s.Name == crdt.MetaStore {
				b.ops[opConfig] = wireOp{
					objActor: 1, objCtr: uint64(i + 1), key: crdt.MetaDocKey, action: actDelete,
					pred: []wirePred{{1, int64(len(crdt.Agent.Stores()) + 1)}},
				}
			}
		}
		b.others = b.others[:1]
	}},

	{"gap", crdt.ReasonSequence, func(b *body) { b.seq++ }},
	{"sequence number 0", crdt.ReasonSequence, func(b *body) { b.seq = 0 }},
	{"more changes than operations", crdt.ReasonSequence, func(b *body) { b.seq = b.startOp + 1 }},
	{"first operation too high", crdt.ReasonSequence, func(b *body) { b.startOp++ }},
	{"first operation too low", crdt.ReasonSequence, func(b *body) {
		b.startOp--
		b.ops[opConfig].pred, b.others = nil, b.others[:1]
	}},
	{"no dependencies", crdt.ReasonSequence, func(b *body) { b.deps = nil }},

	{"a number", crdt.ReasonValue, func(b *body) { b.ops[opConfig].valType = 4 }},
	{"not JSON", crdt.ReasonValue, func(b *body) { b.ops[opConfig].value = "{" }},
	{"two JSON texts", crdt.ReasonValue, func(b *body) { b.ops[opConfig].value = "1 2" }},
	{"key not UTF-8", crdt.ReasonUTF8, func(b *body) { b.ops[opConfig].key = "\xff" }},
	{"value not UTF-8", crdt.ReasonUTF8, func(b *body) { b.ops[opConfig].value = "\"\xff\"" }},
}

func removal(b *body) *wireOp {
	for i := range b.ops {
		if b.ops[i].action == actDelete {
			return &b.ops[i]
		}
	}
	return nil
}

func TestRefusals(t *testing.T) {
	h, _, _, _, next := disputed(t)
	if err := h.judge(next.Raw); err != nil {
		t.Fatalf("control: %v", err)
	}
	for _, r := range refusals {
		b := bodyOf(t, next.Raw)
		if !bytes.Equal(b.encode(), next.Raw) {
			t.Fatal("control: encoding does not give the same bytes")
		}
		r.edit(b)
		wantReason(t, r.name, h.judge(b.encode()), r.reason)
	}
}

func wantReason(t *testing.T, name string, err error, want crdt.Reason) {
	t.Helper()
	var r *crdt.Refusal
	if !errors.As(err, &r) || r.Reason != want {
		t.Errorf("%s: got %v, want %s", name, err, want)
	}
}

// TestFrames holds edits that no encoder makes.
func TestFrames(t *testing.T) {
	h, _, _, _, next := disputed(t)
	content, _, err := open(next.Raw)
	if err != nil {
		t.Fatal(err)
	}
	insert := func(at int, bs ...byte) []byte { return slices.Insert(bytes.Clone(content), at, bs...) }
	replace := func(at int, bs ...byte) []byte {
		out := slices.Delete(bytes.Clone(content), at, at+1)
		return slices.Insert(out, at, bs...)
	}
	deps := 1 + 32*int(content[0])
	message := deps + 17 + 3 // after actor, sequence number, first operation, time: one byte each
	if content[message] != 0 || content[message+1] != 2 {
		t.Fatal("the header is not where this test expects it")
	}
	flip := func(at int) []byte {
		raw := bytes.Clone(next.Raw)
		raw[at] ^= 3
		return raw
	}
	for name, raw := range map[string][]byte{
		"empty":            nil,
		"cut":              next.Raw[:len(next.Raw)-1],
		"cut head":         next.Raw[:7],
		"magic":            flip(0),
		"checksum":         flip(4),
		"type":             retype(next.Raw, 2),
		"bytes behind":     append(bytes.Clone(next.Raw), 0),
		"content behind":   seal(insert(len(content), 0)),
		"message":          seal(replace(message, 1, 'm')),
		"long number":      seal(replace(deps+17, content[deps+17]|0x80, 0)),
		"long time":        seal(replace(deps+19, content[deps+19]|0x80, 0)),
		"short actor":      seal(replace(deps, 15)),
		"more columns":     seal(replace(message+2+2*17, content[message+2+2*17]+1)),
		"genesis":          New().Genesis(doc, crdt.Agent).Raw,
		"two chunks":       append(bytes.Clone(next.Raw), next.Raw...),
		"nothing but head": seal(nil),
	} {
		wantReason(t, name, h.judge(raw), crdt.ReasonMalformed)
	}
	if err := h.judge(seal(content)); err != nil {
		t.Errorf("control: %v", err)
	}
}

func retype(raw []byte, kind byte) []byte {
	out := bytes.Clone(raw)
	out[8] = kind
	sum := hashOf(out)
	copy(out[4:], sum[:4])
	return out
}

// TestDecodeAloneRefuses: these need no gate, though it would refuse them too.
func TestDecodeAloneRefuses(t *testing.T) {
	_, _, _, _, next := disputed(t)
	for name, edit := range map[string]func(*body){
		"replaced not sorted": func(b *body) { slices.Reverse(b.ops[opConfig].pred) },
		"replaces the future": func(b *body) { b.ops[opConfig].pred[1].ctr = int64(b.startOp) },
		"two of one actor": func(b *body) {
			b.ops[opConfig].pred = []wirePred{{0, 17}, {0, 18}}
		},
	} {
		b := bodyOf(t, next.Raw)
		if _, err := New().Decode(crdt.Agent, b.encode()); err != nil {
			t.Fatalf("control: %v", err)
		}
		edit(b)
		_, err := New().Decode(crdt.Agent, b.encode())
		wantReason(t, name, err, crdt.ReasonRecord)
	}
}
