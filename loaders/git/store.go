package git

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// originsName is the file beside a commit's objects that says where the commit was seen.
const originsName = "origins.json"

// temporary begins the names of files that are not whole yet.
const temporary = ".tmp-"

// store keeps proofs: a folder for each commit, in it a file for each object, named by its hash and
// holding what is hashed. What is read is not trusted; who reads verifies.
type store struct {
	dir string
	mu  sync.Mutex // of the origins, and of removal against writing
}

func (s *store) commitDir(sha string) string { return filepath.Join(s.dir, sha) }

// from is the source of the objects of one commit.
func (s *store) from(sha string) source { return storeSource{s.commitDir(sha)} }

type storeSource struct{ dir string }

func (s storeSource) object(_ context.Context, id string, _ int64) ([]byte, error) {
	f, err := os.Open(filepath.Join(s.dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing("not in the store")
	}
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("open: %w", err)
	case !info.Mode().IsRegular():
		return nil, missing("the store holds something that is no file")
	case info.Size() > maxObject+maxHeader:
		return nil, missing("the store holds something that is too large") // nothing that was put there
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxObject+maxHeader))
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return raw, nil
}

// put stores a proof; when it returns, all of it is on disk. The commit comes last, so where it is, a
// whole proof is.
func (s *store) put(sha string, objects []object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := s.commitDir(sha)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("store commit %s: %w", sha, err)
	}
	for _, o := range slices.Backward(objects) {
		if err := writeFile(dir, o.id, o.raw); err != nil {
			return fmt.Errorf("store object %s: %w", o.id, err)
		}
	}
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("store commit %s: %w", sha, err)
	}
	return syncDir(s.dir)
}

// writeFile puts a whole file under a name, for its owner alone.
func writeFile(dir, name string, data []byte) error {
	f, err := os.CreateTemp(dir, temporary)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// remove drops all of a commit. It is no error if there is nothing.
func (s *store) remove(sha string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The commit goes first: without it nothing here counts as a proof.
	err := os.Remove(filepath.Join(s.commitDir(sha), sha))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(s.commitDir(sha))
}

// commits lists the commits with the bytes of their folders.
func (s *store) commits() (map[string]int64, error) {
	dirs, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, d := range dirs {
		if !d.IsDir() || !isHash(d.Name()) {
			continue
		}
		files, err := os.ReadDir(s.commitDir(d.Name()))
		if err != nil {
			return nil, err
		}
		out[d.Name()] = 0
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				out[d.Name()] += info.Size()
			}
		}
	}
	return out, nil
}

// clean drops files that a crash left half written.
func (s *store) clean() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(d.Name(), temporary) {
			err = os.Remove(path)
		}
		return err
	})
}

// origins reads where a commit was seen. A file that can't be read counts as nothing seen.
func (s *store) origins(sha string) []Origin {
	text, err := os.ReadFile(filepath.Join(s.commitDir(sha), originsName))
	var out []Origin
	if err != nil || json.Unmarshal(text, &out) != nil {
		return nil
	}
	return out
}

// addOrigin notes where a commit was seen; the newest word on a repository counts.
func (s *store) addOrigin(sha string, o Origin) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := slices.DeleteFunc(s.origins(sha), func(old Origin) bool { return old.Repo == o.Repo })
	text, err := json.Marshal(append(kept, o))
	if err == nil {
		err = writeFile(s.commitDir(sha), originsName, text)
	}
	if err != nil {
		return fmt.Errorf("store origin of commit %s: %w", sha, err)
	}
	return nil
}

// layered asks the store first.
type layered struct {
	first source
	then  source
}

func (l layered) object(ctx context.Context, id string, limit int64) ([]byte, error) {
	raw, err := l.first.object(ctx, id, limit)
	if err == nil {
		if _, err = verify(id, raw); err == nil {
			return raw, nil
		}
	}
	if errors.Is(err, loaders.ErrInvalid) {
		return nil, err
	}
	return l.then.object(ctx, id, limit)
}
