package automerge

import (
	"iter"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// pageBytes is how many bytes of chunks go to the core in one call. One call a change costs up to
// twice the time; above some hundred changes a page buys nothing and only holds memory.
const pageBytes = 128 << 10

// feed gives chunks in causal order to the core, page by page, and asks after each page for each of
// its changes. The error, a *[ChangeError], names the first change that was not taken; what came
// before it was.
func feed(h handle, chunks iter.Seq2[crdt.ChangeHash, []byte]) error {
	f := feeder{handle: h, waiting: map[crdt.ChangeHash]struct{}{}}
	for hash, raw := range chunks {
		if len(f.raw) > 0 && len(f.raw)+len(raw) > pageBytes {
			if err := f.flush(); err != nil {
				return err
			}
		}
		if err := f.add(hash, raw); err != nil {
			// A bad change among those before it is the first one, and they are to be taken.
			if earlier := f.flush(); earlier != nil {
				return earlier
			}
			return err
		}
	}
	return f.flush()
}

// feeder holds the page that the next call of the core gets.
type feeder struct {
	handle  handle
	raw     []byte
	hashes  []crdt.ChangeHash
	waiting map[crdt.ChangeHash]struct{} // hashes as a set
}

// add puts a chunk into the page if it is what its hash says and follows what it depends on.
func (f *feeder) add(hash crdt.ChangeHash, raw []byte) error {
	deps, err := checkChunk(hash, raw)
	if err != nil {
		return err
	}
	var missing []crdt.ChangeHash
	for _, dep := range deps {
		if _, ok := f.waiting[dep]; !ok && !f.handle.known(dep) {
			missing = append(missing, dep)
		}
	}
	if len(missing) > 0 {
		return &ChangeError{hash, &crdt.MissingError{Deps: missing}}
	}
	f.raw = append(f.raw, raw...)
	f.hashes = append(f.hashes, hash)
	f.waiting[hash] = struct{}{}
	return nil
}

// flush gives the page to the core, asks for each of its changes, and empties the page.
func (f *feeder) flush() error {
	if len(f.hashes) == 0 {
		return nil
	}
	cause := f.handle.load(f.raw)
	for _, hash := range f.hashes {
		if !f.handle.known(hash) {
			return notTaken(hash, cause)
		}
	}
	f.raw, f.hashes = f.raw[:0], f.hashes[:0]
	clear(f.waiting)
	return nil
}
