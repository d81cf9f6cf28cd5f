package engine

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// sealMagic begins every file; another layout gets another one.
const sealMagic = "chaz-wasm-1\n"

// sealed is what a cache file holds: everything that makes a module run without reading it again.
type sealed struct {
	file    string // the name that the runtime gives the native code
	metered []byte // the module with its fuel counter
	native  []byte // machine code: whoever can change it owns this process
}

// seal authenticates cache files. The runtime itself only has a checksum against accidents.
type seal struct{ mac cipher.AEAD }

var errSeal = errors.New("the seal is broken")

// newSeal takes the key of this peer.
func newSeal(key []byte) (seal, error) {
	if len(key) < 16 {
		return seal{}, fmt.Errorf("the key has %d bytes, at least 16 are needed", len(key))
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte("chaz-peer compile cache"))
	b, err := aes.NewCipher(h.Sum(nil))
	if err != nil {
		return seal{}, err
	}
	mac, err := cipher.NewGCMWithRandomNonce(b)
	return seal{mac}, err
}

// wrap makes the file of that name, which is part of what is sealed: files can't be swapped. The bytes
// are only authenticated (GCM without a text), which is many times faster than a hash: reading them is
// most of what a warm start does.
func (s seal) wrap(name string, c sealed) []byte {
	head := len(sealMagic) + s.mac.Overhead()
	out := make([]byte, head, head+len(name)+len(c.file)+len(c.metered)+len(c.native)+32)
	for _, f := range []string{name, c.file} {
		out = append(binary.AppendUvarint(out, uint64(len(f))), f...)
	}
	out = append(binary.AppendUvarint(out, uint64(len(c.metered))), c.metered...)
	out = append(out, c.native...)
	copy(out, sealMagic)
	copy(out[len(sealMagic):], s.mac.Seal(nil, nil, nil, out[head:]))
	return out
}

// open checks a file and takes it apart. The parts are those of file, not copies.
func (s seal) open(name string, file []byte) (sealed, error) {
	tag := s.mac.Overhead()
	rest, ok := bytes.CutPrefix(file, []byte(sealMagic))
	if !ok || len(rest) < tag {
		return sealed{}, errSeal
	}
	body := rest[tag:]
	if _, err := s.mac.Open(nil, nil, rest[:tag], body); err != nil {
		return sealed{}, errSeal
	}
	named, body, ok1 := field(body)
	of, body, ok2 := field(body)
	metered, body, ok3 := field(body)
	if !ok1 || !ok2 || !ok3 || string(named) != name {
		return sealed{}, errSeal
	}
	return sealed{file: string(of), metered: metered, native: body}, nil
}

func field(b []byte) (f, rest []byte, ok bool) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, false
	}
	return b[k : k+int(n)], b[k+int(n):], true
}
