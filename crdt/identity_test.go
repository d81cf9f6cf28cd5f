package crdt

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestIdentityIsMadeOnceAndKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "home", "identity")
	made, err := LoadIdentity(path, testRand(1))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	again, err := LoadIdentity(path, testRand(2))
	if err != nil || again.PeerID() != made.PeerID() {
		t.Fatalf("read back as %v, %v; made as %v", again, err, made)
	}
	if msg := []byte("x"); !ed25519.Verify(made.PeerID().Key(), msg, again.Sign(msg)) {
		t.Error("the signature is not the peer's")
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// TestIdentityRace: of several processes that start at once all end with one key.
func TestIdentityRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity")
	ids := make([]*Identity, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			var err error
			if ids[i], err = LoadIdentity(path, testRand(uint64(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids[1:] {
		if id.PeerID() != ids[0].PeerID() {
			t.Errorf("%s and %s", id, ids[0])
		}
	}
}

func TestIdentityRefusals(t *testing.T) {
	good := testIdentity(0).fileText()
	other := testIdentity(1).PeerID().String()
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		want       string // part of the error; empty: the positive control
	}{
		{"good", good, 0o600, ""},
		{"read-only", good, 0o400, ""},
		{"group may read", good, 0o640, "chmod 600"},
		{"others may read", good, 0o604, "chmod 600"},
		{"others may write", good, 0o602, "chmod 600"},
		{"empty", "", 0o600, "truncated"},
		{"first line", good[:10], 0o600, "truncated"},
		{"cut in the seed", good[:len(good)-10], 0o600, "truncated"},
		{"cut before the last newline", good[:len(good)-1], 0o600, "truncated"},
		{"foreign", "-----BEGIN OPENSSH PRIVATE KEY-----\n", 0o600, "not a chaz-peer identity"},
		{"binary", "\x08\x01\x12\x40" + strings.Repeat("k", 64), 0o600, "not a chaz-peer identity"},
		{"a line more", good + "\n", 0o600, "damaged"},
		{"somebody else's id", strings.Replace(good, testIdentity(0).PeerID().String(), other, 1), 0o600, "does not belong"},
		{"huge", good + strings.Repeat("x", 1<<20), 0o600, "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "identity")
			if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.mode); err != nil { // whatever the umask
				t.Fatal(err)
			}
			_, err := LoadIdentity(path, testRand(1))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("positive control refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want a mention of %q", err, c.want)
			case err != nil && strings.Contains(err.Error(), lowerBase32.EncodeToString(testIdentity(0).key.Seed())[:8]):
				t.Errorf("the error shows the key: %v", err)
			}
			if kept, err := os.ReadFile(path); err != nil || string(kept) != c.text {
				t.Errorf("the file was touched: %v", err)
			}
		})
	}
	if _, err := LoadIdentity(t.TempDir(), testRand(1)); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := LoadIdentity(filepath.Join(t.TempDir(), "identity"), bytes.NewReader(nil)); err == nil {
		t.Error("a key was made without randomness")
	}
}
