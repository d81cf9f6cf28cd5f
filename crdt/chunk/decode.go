package chunk

import (
	"bytes"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// maxTime is the last second of the year 9999.
const maxTime = crdt.MaxStamp / 1000

// Codec implements [crdt.Codec]. It has no state.
type Codec struct{}

// New returns the codec.
func New() Codec { return Codec{} }

var _ crdt.Codec = Codec{}

// Decode reads a change chunk strictly. Every error is a [*crdt.Refusal]. The result's Raw is raw
// itself, which must not be written to afterwards; keys and values are copies. What is allocated is
// bounded by a small multiple of len(raw).
func (Codec) Decode(kind crdt.Kind, raw []byte) (*crdt.Change, error) {
	content, hash, err := open(raw)
	if err != nil {
		return nil, err
	}
	b, err := parse(content)
	if err != nil {
		return nil, err
	}
	if err := b.checkHeader(); err != nil {
		return nil, err
	}
	c, err := b.lower(kind)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(b.encode(), raw) {
		return nil, malformed("not in canonical form")
	}
	c.Hash, c.Raw = hash, raw
	return c, nil
}

// checkHeader holds the rules about the numbers of a change that need no document.
func (b *body) checkHeader() error {
	switch {
	case b.actor == genesisActor:
		return malformed("the genesis actor writes the genesis only")
	case b.time < 0 || b.time > maxTime:
		return malformed("time %d out of range", b.time)
	case b.startOp > maxCounter || b.startOp+uint64(len(b.ops)) > maxCounter:
		return crdt.Refuse(crdt.ReasonTooLarge, "operation counter over %d", maxCounter)
	case b.seq < 1 || b.startOp < 1 || b.seq > b.startOp:
		// Every change has an operation, so counters run ahead of sequence numbers.
		return crdt.Refuse(crdt.ReasonSequence, "sequence number %d, first operation %d", b.seq, b.startOp)
	}
	return nil
}

// lower turns wire operations into operations on stores.
func (b *body) lower(kind crdt.Kind) (*crdt.Change, error) {
	c := &crdt.Change{
		Actor: b.actor, Seq: b.seq, StartOp: b.startOp, Time: b.time, Deps: b.deps,
		Ops: make([]crdt.Op, len(b.ops)),
	}
	preds := 0
	for i := range b.ops {
		preds += len(b.ops[i].pred)
	}
	low := lowering{body: b, stores: kind.Stores(), used: make([]bool, len(b.others)), preds: make([]crdt.OpID, 0, preds)}
	for i := range b.ops {
		if err := low.op(&b.ops[i], &c.Ops[i]); err != nil {
			return nil, err
		}
	}
	for i, used := range low.used {
		if !used {
			return nil, malformed("actor %s is listed but not used", b.others[i])
		}
	}
	return c, checkKeys(b.ops)
}

type lowering struct {
	*body
	stores []crdt.StoreSpec
	used   []bool      // by index in others
	preds  []crdt.OpID // backs the Pred of all operations
}

func (l *lowering) actorAt(i uint64) (crdt.ActorID, bool) {
	switch {
	case i == 0:
		return l.actor, true
	case i > uint64(len(l.others)):
		return crdt.ActorID{}, false
	}
	l.used[i-1] = true
	return l.others[i-1], true
}

func (l *lowering) op(in *wireOp, out *crdt.Op) error {
	owner, ok := l.actorAt(in.objActor)
	if !ok || owner != genesisActor || in.objCtr < 1 || in.objCtr > uint64(len(l.stores)) {
		return crdt.Refuse(crdt.ReasonStore, "object (%d, actor %d) is no store of the kind", in.objCtr, in.objActor)
	}
	out.Store, out.Key, out.Value = l.stores[in.objCtr-1].Name, in.key, in.value
	switch {
	case in.action == actSet && in.valType == valText:
	case in.action == actSet:
		return crdt.Refuse(crdt.ReasonValue, "value of type %d is not text", in.valType)
	case in.action == actDelete && in.valType == valNull && in.value == "":
		out.Delete = true
	default:
		return malformed("operation of kind %d with a value of type %d", in.action, in.valType)
	}
	if err := checkText(out); err != nil {
		return err
	}
	return l.replaced(in, out)
}

func (l *lowering) replaced(in *wireOp, out *crdt.Op) error {
	start := len(l.preds)
	for _, p := range in.pred {
		actor, ok := l.actorAt(p.actor)
		if !ok || uint64(p.ctr) >= l.startOp {
			return crdt.Refuse(crdt.ReasonRecord, "replaces operation (%d, actor %d), which can't be", p.ctr, p.actor)
		}
		id := crdt.OpID{Counter: uint64(p.ctr), Actor: actor}
		if n := len(l.preds); n > start && l.preds[n-1].Compare(id) >= 0 {
			return crdt.Refuse(crdt.ReasonRecord, "replaced operations not sorted")
		}
		l.preds = append(l.preds, id)
	}
	if len(l.preds) > start {
		out.Pred = l.preds[start:len(l.preds):len(l.preds)]
	}
	return nil
}

// checkText holds the rules about one key and one value.
func checkText(op *crdt.Op) error {
	switch {
	case op.Key == "":
		return malformed("empty key")
	case len(op.Key) > crdt.MaxKey:
		return crdt.Refuse(crdt.ReasonTooLarge, "key of %d bytes, at most %d", len(op.Key), crdt.MaxKey)
	case len(op.Value) > crdt.MaxValue:
		return crdt.Refuse(crdt.ReasonTooLarge, "value of %d bytes, at most %d", len(op.Value), crdt.MaxValue)
	case !utf8.ValidString(op.Key) || !utf8.ValidString(op.Value):
		return crdt.Refuse(crdt.ReasonUTF8, "key or value in %s", op.Store)
	case !op.Delete && !crdt.ValidValue(op.Value):
		return crdt.Refuse(crdt.ReasonValue, "value in %s is not one JSON text", op.Store)
	}
	return nil
}

// checkKeys refuses two operations on one key.
func checkKeys(ops []wireOp) error {
	rising := true // as our own writer has them
	for i := 1; i < len(ops) && rising; i++ {
		a, b := &ops[i-1], &ops[i]
		rising = a.objCtr < b.objCtr || a.objCtr == b.objCtr && a.key < b.key
	}
	if rising {
		return nil
	}
	type place struct {
		object uint64
		key    string
	}
	seen := make(map[place]struct{}, len(ops))
	for i := range ops {
		p := place{ops[i].objCtr, ops[i].key}
		if _, twice := seen[p]; twice {
			return malformed("two operations on one key")
		}
		seen[p] = struct{}{}
	}
	return nil
}
