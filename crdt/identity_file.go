package crdt

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The key file is three lines of text: what it is, whose it is, the secret seed. The peer id guards
// against damage: it must be the public half of the seed.
const (
	identityTitle   = "chaz-peer identity v1"
	identityMaxFile = 4 << 10
)

// LoadIdentity reads the key file at path; when there is none it draws a key from rand and writes
// the file, mode 0600, so that after a crash it is whole or absent. A file that others could read
// or that is not a whole key file is refused; it is never overwritten.
func LoadIdentity(path string, rand io.Reader) (*Identity, error) {
	id, err := readIdentity(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	if id, err = NewIdentity(rand); err != nil {
		return nil, err
	}
	err = id.write(path)
	if errors.Is(err, fs.ErrExist) { // another process was first
		return readIdentity(path)
	}
	if err != nil {
		return nil, fmt.Errorf("write identity %s: %w", path, err)
	}
	return id, nil
}

func readIdentity(path string) (*Identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read identity %s: not a regular file", path)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return nil, fmt.Errorf("read identity %s: mode %04o lets other users reach the key; if nobody did, run: chmod 600 %s", path, perm, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, identityMaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read identity %s: %w", path, err)
	}
	id, err := parseIdentity(string(text))
	if err != nil {
		return nil, fmt.Errorf("read identity %s: %w; restore it from a backup, or move it away to start as a new peer", path, err)
	}
	return id, nil
}

// parseIdentity never quotes what it read: it may be a key.
func parseIdentity(text string) (*Identity, error) {
	if !strings.HasPrefix(text, identityTitle+"\n") {
		return nil, errors.New("not a chaz-peer identity, or a truncated one")
	}
	peer, rest, ok := strings.Cut(strings.TrimPrefix(text, identityTitle+"\n"), "\n")
	peer, isPeer := strings.CutPrefix(peer, "peer ")
	seedText, isSeed := strings.CutPrefix(rest, "seed ")
	seedText, whole := strings.CutSuffix(seedText, "\n")
	if !ok || !isPeer || !isSeed || !whole {
		return nil, errors.New("the file is truncated or damaged")
	}
	seed, err := lowerBase32.DecodeString(seedText)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("the file is truncated or damaged")
	}
	id := newIdentity([ed25519.SeedSize]byte(seed))
	if id.fileText() != text || id.id.String() != peer {
		return nil, errors.New("the key is damaged: it does not belong to the peer id in the file")
	}
	return id, nil
}

func (id *Identity) fileText() string {
	return identityTitle + "\npeer " + id.id.String() + "\nseed " + lowerBase32.EncodeToString(id.key.Seed()) + "\n"
}

// write puts the file in place as a whole: a temporary file, synced, then linked to its name, which
// unlike a rename never replaces a key that another process wrote meanwhile.
func (id *Identity) write(path string) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".identity-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, idIgnoreMissing(os.Remove(f.Name()))) }()
	_, err = f.WriteString(id.fileText())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return err
	} else if err != nil { // a file system without hard links
		if err := os.Rename(f.Name(), path); err != nil {
			return err
		}
	}
	return idSyncDir(dir)
}

func idIgnoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func idSyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
