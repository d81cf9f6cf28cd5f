package ipld

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// Store keeps blocks as files below one folder:
//
//	a/1220ab…   one block; the name is its multihash in hex, the folder the first digit of the digest
//	tmp/        files that are being written; emptied by Open
//	rotted/     files whose bytes no longer matched their name; the user's to delete
//
// A block is kept by its hash: it is found under every CID with that hash, whatever codec and version.
// Its methods are safe for concurrent use. Only one process may have it open.
type Store struct {
	dir     string
	changes atomic.Uint64 // how often blocks were put
}

const (
	tempFolder   = "tmp"
	rottedFolder = "rotted"
)

// Open opens the store in dir and creates its folders if they are not there.
func Open(dir string) (*Store, error) {
	s := &Store{dir: dir}
	if err := s.layOut(); err != nil {
		return nil, fmt.Errorf("open block store: %w", err)
	}
	return s, nil
}

// layOut makes all folders at once, so that a put has only its own to sync.
func (s *Store) layOut() error {
	if err := errors.Join(os.MkdirAll(s.dir, 0o700), os.RemoveAll(filepath.Join(s.dir, tempFolder))); err != nil {
		return err
	}
	there, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	missing := map[string]bool{tempFolder: true, rottedFolder: true}
	for _, name := range shards() {
		missing[name] = true
	}
	for _, d := range there {
		delete(missing, d.Name())
	}
	for name := range missing {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o700); err != nil {
			return err
		}
	}
	return syncFolder(s.dir)
}

func shards() []string {
	return strings.Split("0123456789abcdef", "")
}

// Get returns the bytes of a block after hashing them again. It fails with [loaders.ErrMissing] if the
// block is not here, also where the file's bytes had changed: that file is then set aside, so that the
// block can be fetched again.
func (s *Store) Get(_ context.Context, id string) ([]byte, error) {
	c, err := parse(id)
	if err != nil {
		return nil, fmt.Errorf("get block: %w", err)
	}
	return s.get(c)
}

func (s *Store) get(c cid.Cid) ([]byte, error) {
	data, err := readBlock(s.path(c))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("get block %s: %w", short(c), loaders.ErrMissing)
	case err != nil:
		return nil, fmt.Errorf("get block %s: %w", short(c), err)
	}
	if bad := verify(c, data); bad != nil {
		aside, err := s.setAside(c)
		if err != nil {
			return nil, fmt.Errorf("get block %s: %w on disk: %w", short(c), bad, err)
		}
		return nil, fmt.Errorf("get block %s: %w on disk, the file was set aside as %s: %w",
			short(c), bad, aside, loaders.ErrMissing)
	}
	return data, nil
}

// readBlock reads one byte more than a block may have, so that a longer file fails its check.
func readBlock(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, min(info.Size(), MaxBlock+1))
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // it got shorter meanwhile: fails its check
	}
	return data[:n], err
}

func (s *Store) setAside(c cid.Cid) (string, error) {
	from := s.path(c)
	to := filepath.Join(s.dir, rottedFolder, filepath.Base(from))
	return to, os.Rename(from, to)
}

// Has reports whether a block is here. It does not read it.
func (s *Store) Has(id string) (bool, error) {
	c, err := parse(id)
	if err != nil {
		return false, fmt.Errorf("look for block: %w", err)
	}
	_, here, err := s.stat(c)
	return here, err
}

func (s *Store) stat(c cid.Cid) (size int64, here bool, err error) {
	info, err := os.Stat(s.path(c))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("look for block %s: %w", short(c), err)
	}
	return info.Size(), true, nil
}

// Delete removes a block; one that is not here is no error.
func (s *Store) Delete(id string) error {
	c, err := parse(id)
	if err != nil {
		return fmt.Errorf("delete block: %w", err)
	}
	if err := os.Remove(s.path(c)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete block %s: %w", short(c), err)
	}
	return nil
}

// path is where the block of an admitted CID is.
func (s *Store) path(c cid.Cid) string {
	name := hex.EncodeToString(c.Hash())
	return filepath.Join(s.dir, shard(c.Hash()), name)
}

func shard(h multihash.Multihash) string {
	d, err := multihash.Decode(h)
	if err != nil || len(d.Digest) == 0 {
		return "0" // no admitted CID comes here
	}
	return hex.EncodeToString(d.Digest[:1])[:1]
}

// hashOfName reads a file name of the store back.
func hashOfName(name string) (cid.Cid, bool) {
	if strings.ToLower(name) != name {
		return cid.Undef, false
	}
	raw, err := hex.DecodeString(name)
	if err != nil {
		return cid.Undef, false
	}
	h, err := multihash.Cast(raw)
	if err != nil {
		return cid.Undef, false
	}
	c := cid.NewCidV1(cid.Raw, h)
	return c, admit(c, name) == nil
}
