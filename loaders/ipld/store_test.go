package ipld

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/chaz-peer/chaz-peer/loaders"
)

func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoreKeepsBlocks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blocks")
	s := openStore(t, dir)
	for _, hash := range []uint64{multihash.SHA2_256, multihash.SHA2_512, multihash.BLAKE3} {
		data := bytes.Repeat([]byte{byte(hash)}, 1000)
		h, err := multihash.Sum(data, hash, -1)
		if err != nil {
			t.Fatal(err)
		}
		id := cid.NewCidV1(cid.Raw, h).String()
		if here, err := s.Has(id); err != nil || here {
			t.Fatalf("Has before Put: %v, %v", here, err)
		}
		if err := s.Put(t.Context(), id, data); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, dir) // as after a restart
		got, err := s.Get(t.Context(), id)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("Get: %d bytes, %v", len(got), err)
		}
		if here, err := s.Has(id); err != nil || !here {
			t.Fatalf("Has after Put: %v, %v", here, err)
		}
	}
	if n, size, err := s.Size(); n != 3 || size != 3000 || err != nil {
		t.Errorf("Size: %d, %d, %v", n, size, err)
	}
}

func TestStoreFindsByHashAlone(t *testing.T) {
	s := openStore(t, t.TempDir())
	data := []byte("one block, four names")
	h := sha256Hash(data)
	if err := s.Put(t.Context(), cid.NewCidV0(h).String(), data); err != nil {
		t.Fatal(err)
	}
	for _, c := range []cid.Cid{cid.NewCidV0(h), cid.NewCidV1(cid.Raw, h), cid.NewCidV1(cid.DagProtobuf, h), cid.NewCidV1(cid.DagJSON, h)} {
		if got, err := s.Get(t.Context(), c.String()); err != nil || !bytes.Equal(got, data) {
			t.Errorf("Get(%s): %q, %v", c, got, err)
		}
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].ID != cid.NewCidV1(cid.Raw, h).String() || list[0].Size != int64(len(data)) {
		t.Fatalf("List: %v, %v", list, err)
	}
	if err := s.Delete(cid.NewCidV1(cid.DagCBOR, h).String()); err != nil {
		t.Fatal(err)
	}
	_, err = s.Get(t.Context(), cid.NewCidV0(h).String())
	refused(t, err, loaders.ErrMissing, "not here")
	if err := s.Delete(cid.NewCidV0(h).String()); err != nil {
		t.Errorf("Delete of nothing: %v", err)
	}
}

func TestStoreRefusesWrongBlocks(t *testing.T) {
	s := openStore(t, t.TempDir())
	data := []byte("right")
	id := cidOf(cid.Raw, data).String()
	big := make([]byte, MaxBlock+1)
	good := Block{id, data}
	for name, c := range map[string]struct {
		id    string
		data  []byte
		words string
	}{
		"other bytes": {id, []byte("wrong"), "do not match the hash"},
		"no bytes":    {id, nil, "do not match the hash"},
		"too large":   {cidOf(cid.Raw, big).String(), big, "the limit is 2097152"},
		"bad id":      {named(t, cid.Raw, multihash.SHA1, -1).String(), data, "sha1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.PutAll(t.Context(), []Block{good, {c.id, c.data}})
			refused(t, err, loaders.ErrInvalid, c.words)
			if n := count(t, s); n != 0 {
				t.Errorf("%d blocks were kept", n)
			}
		})
	}
	most := big[1:]
	if err := s.PutAll(t.Context(), []Block{good, {cidOf(cid.Raw, most).String(), most}}); err != nil {
		t.Errorf("right blocks: %v", err)
	}
}

func TestStoreSetsRottedFilesAside(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"a bit":   func(b []byte) []byte { b[3] ^= 1; return b },
		"shorter": func(b []byte) []byte { return b[:5] },
		"longer":  func(b []byte) []byte { return append(b, 0) },
		"empty":   func([]byte) []byte { return nil },
		"huge":    func([]byte) []byte { return make([]byte, 3*MaxBlock) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir)
			data := []byte("what will rot")
			id := cidOf(cid.Raw, data)
			if err := s.Put(t.Context(), id.String(), data); err != nil {
				t.Fatal(err)
			}
			path := s.path(id)
			if err := os.WriteFile(path, spoil(bytes.Clone(data)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := s.Get(t.Context(), id.String())
			refused(t, err, loaders.ErrMissing, "the file was set aside as "+filepath.Join(dir, "rotted"))
			if here, err := s.Has(id.String()); err != nil || here {
				t.Errorf("Has of a block that rotted: %v, %v", here, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "rotted", filepath.Base(path))); err != nil {
				t.Error(err)
			}
			if err := s.Put(t.Context(), id.String(), data); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(t.Context(), id.String()); err != nil || !bytes.Equal(got, data) {
				t.Errorf("Get after another Put: %q, %v", got, err)
			}
		})
	}
}

// A Put over a rotted file that nobody has read yet must not take it for the block.
func TestStorePutMendsRottedFile(t *testing.T) {
	s := openStore(t, t.TempDir())
	data := []byte("what will rot")
	id := cidOf(cid.Raw, data)
	for range 2 {
		if err := s.Put(t.Context(), id.String(), data); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(t.Context(), id.String()); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("Get: %q, %v", got, err)
		}
		if err := os.WriteFile(s.path(id), []byte("what has rotd"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStoreIsPrivateAndTidy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blocks")
	s := openStore(t, dir)
	data := []byte("private")
	id := cidOf(cid.Raw, data)
	if err := s.Put(t.Context(), id.String(), data); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Dir(s.path(id)): 0o700, s.path(id): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %v", path, info.Mode(), err, want)
		}
	}
	leftover := filepath.Join(dir, "tmp", "block-1")
	stray := filepath.Join(filepath.Dir(s.path(id)), "README")
	for _, path := range []string{leftover, stray} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = openStore(t, dir)
	if _, err := os.Stat(leftover); !os.IsNotExist(err) {
		t.Errorf("a half-written file outlived Open: %v", err)
	}
	if n := count(t, s); n != 1 {
		t.Errorf("%d blocks, want 1: a stray file is none", n)
	}
	if _, err := os.Stat(stray); err != nil {
		t.Errorf("a file of somebody else: %v", err)
	}
}

func TestStoreConcurrently(t *testing.T) {
	s := openStore(t, t.TempDir())
	var blocks []Block
	for i := range 40 {
		data := bytes.Repeat([]byte{byte(i)}, 100+i)
		blocks = append(blocks, Block{cidOf(cid.Raw, data).String(), data})
	}
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			mine := slices.Clone(blocks)
			if w%2 == 1 {
				slices.Reverse(mine)
			}
			if w < 2 {
				if err := s.PutAll(t.Context(), mine); err != nil {
					t.Error(err)
				}
			}
			for _, b := range mine {
				if err := s.Put(t.Context(), b.ID, b.Data); err != nil {
					t.Error(err)
				}
				if got, err := s.Get(t.Context(), b.ID); err != nil || !bytes.Equal(got, b.Data) {
					t.Errorf("Get: %d bytes, %v", len(got), err)
				}
			}
		})
	}
	wg.Wait()
	if n := count(t, s); n != len(blocks) {
		t.Errorf("%d blocks, want %d", n, len(blocks))
	}
	if left, err := os.ReadDir(filepath.Join(s.dir, tempFolder)); err != nil || len(left) != 0 {
		t.Errorf("%d files left in tmp, %v", len(left), err)
	}
}

// A write that fails leaves nothing half done behind, and says what failed.
func TestStorePutThatFails(t *testing.T) {
	s := openStore(t, t.TempDir())
	data, other := []byte("in the way"), []byte("beside it")
	id, beside := cidOf(cid.Raw, data), cidOf(cid.Raw, other)
	if err := os.Mkdir(s.path(id), 0o700); err != nil { // a folder where the file belongs
		t.Fatal(err)
	}
	both := []Block{{id.String(), data}, {beside.String(), other}}
	if err := s.PutAll(t.Context(), both); err == nil {
		t.Fatal("no error")
	}
	if left, err := os.ReadDir(filepath.Join(s.dir, tempFolder)); err != nil || len(left) != 0 {
		t.Errorf("%d files left in tmp, %v", len(left), err)
	}
	if err := os.Remove(s.path(id)); err != nil {
		t.Fatal(err)
	}
	if err := s.PutAll(t.Context(), both); err != nil {
		t.Errorf("control: %v", err)
	}
	if n := count(t, s); n != 2 {
		t.Errorf("%d blocks, want 2", n)
	}
}
