package ipld

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ipfs/go-cid"
	"golang.org/x/sync/errgroup"
)

// writers is how many files are written and synced at once: the disk merges the syncs.
const writers = 8

// verified is a block whose bytes were checked against its CID.
type verified struct {
	cid  cid.Cid
	data []byte
}

// Put checks a block against its id and keeps it; it is durable when Put returns. An error that wraps
// [loaders.ErrInvalid] says that the block is wrong, any other that it could not be written.
func (s *Store) Put(ctx context.Context, id string, data []byte) error {
	return s.PutAll(ctx, []Block{{id, data}})
}

// PutAll is Put for several blocks and faster than one by one. All are checked before the first is
// written. If it fails, some may have been kept, each of them whole.
func (s *Store) PutAll(ctx context.Context, blocks []Block) error {
	checked := make([]verified, len(blocks))
	for i, b := range blocks {
		c, err := parse(b.ID)
		if err != nil {
			return fmt.Errorf("put block: %w", err)
		}
		if err := verify(c, b.Data); err != nil {
			return fmt.Errorf("put block: %w", invalid("%s: %w", short(c), err))
		}
		checked[i] = verified{c, b.Data}
	}
	return s.putAll(ctx, checked)
}

func (s *Store) putAll(ctx context.Context, blocks []verified) error {
	stage := s.stage()
	for _, b := range blocks {
		if err := ctx.Err(); err != nil {
			return errors.Join(err, stage.drop())
		}
		stage.add(b)
	}
	return stage.commit()
}

// stage writes blocks beside their places while others are still to come, and moves all of them in at
// once, or none. Its end is commit or drop. Not safe for concurrent use.
type stage struct {
	store *Store
	group errgroup.Group
	moves []*move
}

// move is a file in tmp/ and the place it is for. It is complete when the stage's group is done.
type move struct {
	from string // empty for a block that was there already
	to   string
	// wrong is set by who finds that the bytes are not what they should be: the file is not moved.
	wrong bool
}

func (s *Store) stage() *stage {
	st := &stage{store: s}
	st.group.SetLimit(writers)
	return st
}

// add writes b in the background, which may go on while its bytes are still being checked.
func (st *stage) add(b verified) *move {
	m := &move{to: st.store.path(b.cid)}
	st.moves = append(st.moves, m)
	st.group.Go(func() (err error) {
		if m.from, err = st.store.write(b); err != nil {
			return fmt.Errorf("put block %s: %w", short(b.cid), err)
		}
		return nil
	})
	return m
}

// commit returns when all blocks are in their places and durable.
func (st *stage) commit() error {
	if err := st.group.Wait(); err != nil {
		return errors.Join(err, st.remove())
	}
	defer st.store.changes.Add(1)
	folders := map[string]bool{}
	for _, m := range st.moves {
		if m.wrong {
			continue
		}
		folders[filepath.Dir(m.to)] = true
		if m.from == "" {
			continue
		}
		if err := os.Rename(m.from, m.to); err != nil {
			return errors.Join(fmt.Errorf("put block: %w", err), st.remove())
		}
		m.from = ""
	}
	return errors.Join(st.remove(), syncFolders(folders))
}

// drop forgets all blocks.
func (st *stage) drop() error { return errors.Join(st.group.Wait(), st.remove()) }

// remove deletes the files that were not moved.
func (st *stage) remove() error {
	var failed error
	for _, m := range st.moves {
		if m.from == "" {
			continue
		}
		if err := os.Remove(m.from); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	st.moves = nil
	return failed
}

// write leaves the bytes on the disk beside their place and returns where. A file that is there and right
// stays and gets the time of now, which Keep looks at.
func (s *Store) write(b verified) (string, error) {
	path := s.path(b.cid)
	if old, err := readBlock(path); err == nil && verify(b.cid, old) == nil {
		now := time.Now()
		return "", os.Chtimes(path, now, now)
	}
	f, err := os.CreateTemp(filepath.Join(s.dir, tempFolder), "block-") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(b.data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// syncFolders makes new names durable.
func syncFolders(folders map[string]bool) error {
	var g errgroup.Group
	g.SetLimit(writers)
	for dir := range folders {
		g.Go(func() error { return syncFolder(dir) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("put block: %w", err)
	}
	return nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
