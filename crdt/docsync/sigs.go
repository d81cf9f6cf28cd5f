package docsync

import "github.com/chaz-peer/chaz-peer/crdt"

// newestSigs leaves the last signature of each actor in a page: it proves the changes below it.
func newestSigs(page []crdt.SignedChange) []crdt.SignedChange {
	seen := map[crdt.ActorID]bool{}
	out := make([]crdt.SignedChange, len(page))
	for i := len(page) - 1; i >= 0; i-- {
		out[i] = page[i]
		actor, ok := chunkActor(page[i].Raw)
		if !ok {
			continue
		}
		if seen[actor] {
			out[i].Sig = nil
		}
		seen[actor] = true
	}
	return out
}

// chunkActor reads the actor off the front of an Automerge change chunk: magic and checksum
// (8 bytes), type (1), length, number of dependencies, their hashes, length of the actor, the actor.
func chunkActor(raw []byte) (actor crdt.ActorID, ok bool) {
	if len(raw) < 9 {
		return actor, false
	}
	b := raw[9:]
	if _, b, ok = uleb(b); !ok {
		return actor, false
	}
	deps, b, ok := uleb(b)
	if !ok || deps > crdt.MaxDeps || len(b) < deps*32 {
		return actor, false
	}
	n, b, ok := uleb(b[deps*32:])
	if !ok || n != len(actor) || len(b) < n {
		return actor, false
	}
	copy(actor[:], b)
	return actor, true
}

// uleb reads an unsigned LEB128 number of at most four bytes.
func uleb(b []byte) (n int, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 4; i++ {
		n |= int(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}
