package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// packer writes packs by hand.
type packer struct {
	body  bytes.Buffer
	count uint32
}

const (
	typeCommit = 1
	typeBlob   = 3
	typeOfs    = 6
	typeRef    = 7
)

// add writes an object whose header promises size bytes, and returns its offset.
func (p *packer) add(typ byte, size int, extra, content []byte) int {
	at := 12 + p.body.Len()
	b := typ<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		p.body.WriteByte(b | 0x80)
		b = byte(size & 127)
	}
	p.body.WriteByte(b)
	p.body.Write(extra)
	z := zlib.NewWriter(&p.body)
	_, _ = z.Write(content)
	_ = z.Close()
	p.count++
	return at
}

func (p *packer) bytes() []byte {
	out := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), p.count)
	return append(append(out, p.body.Bytes()...), make([]byte, 20)...)
}

// ofs is the distance to a base, as packs write it.
func ofs(n int) []byte {
	out := []byte{byte(n & 127)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		out = append([]byte{byte(n&127) | 0x80}, out...)
	}
	return out
}

// delta makes target size bytes by repeated copies of the whole base.
func delta(base, times int) []byte {
	d := binary.AppendUvarint(nil, uint64(base))
	d = binary.AppendUvarint(d, uint64(base*times))
	for range times {
		d = append(d, 0xf0, byte(base), byte(base>>8), byte(base>>16)) // copy from 0
	}
	return d
}

func open(t testing.TB, data []byte, change func(*packLimits)) (*pack, error) {
	limits := newPackLimits(Config{}.withDefaults())
	if change != nil {
		change(&limits)
	}
	p, err := receivePack(t.Context(), t.TempDir(), bytes.NewReader(data), limits)
	if p != nil {
		t.Cleanup(p.close)
	}
	return p, err
}

func blobID(body []byte) plumbing.Hash {
	id, _ := hash(encode(blobType, body))
	return id
}

// TestPackBombs are packs that are small and would become large.
func TestPackBombs(t *testing.T) {
	zeros := make([]byte, 1<<20)
	small := func(l *packLimits) {
		l.object, l.inflated, l.stack, l.depth, l.objects = 4<<20, 16<<20, 6<<20, 50, 1000
	}
	chain := func(n int, grow int) []byte {
		var p packer
		base := []byte(strings.Repeat("a", 1000))
		last, size := p.add(typeBlob, len(base), nil, base), len(base)
		for range n {
			d := delta(size, grow)
			at := 12 + p.body.Len()
			p.add(typeOfs, len(d), ofs(at-last), d)
			last, size = at, size*grow
		}
		return p.bytes()
	}
	many := func(n int, typ byte, size int, content []byte) []byte {
		var p packer
		for range n {
			p.add(typ, size, nil, content)
		}
		return p.bytes()
	}
	counted := packer{}
	counted.add(typeBlob, 1, nil, []byte("x"))
	lying := counted.bytes()
	binary.BigEndian.PutUint32(lying[8:], 4_000_000_000)
	wide := packer{}
	wide.add(typeBlob, len(zeros), nil, zeros)
	for range 30 {
		d := delta(len(zeros), 1)
		at := 12 + wide.body.Len()
		wide.add(typeOfs, len(d), ofs(at-12), d)
	}
	for _, c := range []struct {
		name  string
		pack  []byte
		words string
	}{
		{"many large objects", many(17, typeBlob, len(zeros), zeros), "larger than the limit"},
		{"a promise of terabytes", many(1, typeBlob, 1<<45, zeros), "larger than the limit"},
		{"more than promised", many(1, typeBlob, 10, zeros), "exceeds declared size"},
		{"less than promised", many(1, typeBlob, len(zeros)+1, zeros), "shorter than its header"},
		{"deltas that copy", wide.bytes(), "larger than the limit"},
		{"long chain", chain(60, 1), "chain of deltas"},
		{"heavy chain", chain(12, 2), "chain of deltas"},
		{"billions of objects", lying, "more than the limit of 1000"},
		{"delta on nothing", func() []byte { var p packer; p.add(typeOfs, 3, ofs(5), []byte("abc")); return p.bytes() }(), "delta on nothing"},
		{"delta without a size", func() []byte {
			var p packer
			p.add(typeBlob, 1, nil, []byte("x"))
			at := 12 + p.body.Len()
			p.add(typeOfs, 1, ofs(at-12), []byte{0xff})
			return p.bytes()
		}(), "delta without a size"},
		{"unknown type", many(1, 5, 1, []byte("x")), ""},
		{"empty", nil, "read pack"},
		{"no pack", []byte("<html>"), "read pack"},
		{"cut", counted.bytes()[:14], "read pack"},
		{"commit without a tree", many(1, typeCommit, 3, []byte("abc")), "a commit without a tree"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := open(t, c.pack, small)
			wantError(t, err, nil, c.words)
			if c.words != "more than the limit of 1000" && len(c.pack) > 1<<20 {
				t.Errorf("the pack itself has %d bytes", len(c.pack))
			}
		})
	}
	for name, data := range map[string][]byte{"large": many(15, typeBlob, len(zeros), zeros), "long": chain(40, 1), "growing": chain(10, 2)} {
		if _, err := open(t, data, small); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPackDeltas resolves every kind of delta, and passes over what is too large.
func TestPackDeltas(t *testing.T) {
	base := []byte(strings.Repeat("base ", 100))
	id := blobID(base)
	var p packer
	later := delta(len(base)*2, 2) // on an object that is itself a delta and comes later, by hash
	mid := blobID(bytes.Repeat(base, 2))
	p.add(typeRef, len(later), mid[:], later)
	at := p.add(typeBlob, len(base), nil, base)
	d := delta(len(base), 2)
	p.add(typeRef, len(d), id[:], d)
	d = delta(len(base), 3)
	p.add(typeOfs, len(d), ofs(12+p.body.Len()-at), d)
	p.add(typeBlob, len(base), nil, base)                               // twice
	lost := p.add(typeBlob, 6000, nil, bytes.Repeat([]byte("z"), 6000)) // too large
	p.add(typeOfs, 8, ofs(12+p.body.Len()-lost), delta(6000, 1))
	d = delta(len(base), 20)
	p.add(typeOfs, len(d), ofs(12+p.body.Len()-at), d) // makes what is too large
	loop := blobID([]byte("never"))
	p.add(typeRef, len(d), loop[:], d)

	pk, err := open(t, p.bytes(), func(l *packLimits) { l.object = 5000 })
	must(t, err)
	for _, n := range []int{1, 2, 3, 4} {
		want := bytes.Repeat(base, n)
		raw, ok, err := pk.object(blobID(want), 1<<20)
		if err != nil || !ok || !bytes.Equal(raw, encode(blobType, want)) {
			t.Errorf("base × %d: %d bytes, %v, %v", n, len(raw), ok, err)
		}
	}
	for _, body := range [][]byte{bytes.Repeat([]byte("z"), 6000), bytes.Repeat(base, 20), []byte("never")} {
		if _, ok, err := pk.object(blobID(body), 1<<20); ok || err != nil {
			t.Errorf("an object of %d bytes: %v %v", len(body), ok, err)
		}
	}
	_, _, err = pk.object(id, 10)
	wantError(t, err, loaders.ErrInvalid, "more than the limit of 10")
}

// TestBadPacks are servers that leave out or change what they were asked for.
func TestBadPacks(t *testing.T) {
	r := newRepo(t)
	sha := r.push("main", pkg(module(1)))
	encodePack := func(ids []plumbing.Hash) []byte {
		var out bytes.Buffer
		_, err := packfile.NewEncoder(&out, r.st, false).Encode(ids, 0)
		must(t, err)
		return out.Bytes()
	}
	without := func(drop func(id string) bool) func([]plumbing.Hash) []byte {
		return func(ids []plumbing.Hash) []byte {
			var kept []plumbing.Hash
			for _, id := range ids {
				if !drop(id.String()) {
					kept = append(kept, id)
				}
			}
			return encodePack(kept)
		}
	}
	for _, c := range []struct {
		name  string
		pack  func([]plumbing.Hash) []byte
		class error
		words string
	}{
		{"without the commit", without(func(id string) bool { return id == sha }), loaders.ErrMissing, "the host did not send it"},
		{"commit alone", without(func(id string) bool { return id != sha }), loaders.ErrMissing, "tree"},
		{"without the module", without(func(id string) bool { return id == r.blob(module(1)) }), loaders.ErrMissing, "demo.wasm"},
		{"flipped bit", func(ids []plumbing.Hash) []byte { d := encodePack(ids); d[len(d)/2] ^= 1; return d }, nil, "read pack"},
		{"cut", func(ids []plumbing.Hash) []byte { d := encodePack(ids); return d[:len(d)/2] }, nil, "read pack"},
		{"bomb", func([]plumbing.Hash) []byte {
			var p packer
			p.add(typeBlob, 1<<40, nil, make([]byte, 1<<20))
			return p.bytes()
		}, nil, "larger than the limit"},
	} {
		for _, caps := range []string{plainCaps, "shallow ofs-delta"} {
			t.Run(c.name+"/"+caps, func(t *testing.T) {
				p := newPeer(t, nil)
				url := serve(t, &server{repo: r, caps: caps, pack: c.pack})
				wantError(t, p.Fetch(t.Context(), ref(url, sha), outside()), c.class, c.words)
				if files, _ := os.ReadDir(p.dir); len(files) != 0 {
					t.Errorf("left in the store: %v", files)
				}
				var h http.Handler = &server{repo: r, caps: caps, pack: encodePack}
				must(t, p.Fetch(t.Context(), ref(serve(t, h), sha), outside()))
			})
		}
	}
}

// TestCollision hashes the published first blocks of two files with one SHA-1 (the SHAttered attack).
func TestCollision(t *testing.T) {
	prefix := "255044462d312e330a25e2e3cfd30a0a0a312030206f626a0a3c3c2f57696474682032203020522f4865696768742033203020522f547970652034203020522f537562747970652035203020522f46696c7465722036203020522f436f6c6f7253706163652037203020522f4c656e6774682038203020522f42697473506572436f6d706f6e656e7420383e3e0a73747265616d0affd8fffe00245348412d3120697320646561642121212121852fec092339759c39b1a1c63c4c97e1fffe01"
	blocks := "7346dc9166b67e118f029ab621b2560ff9ca67cca8c7f85ba84c79030c2b3de218f86db3a90901d5df45c14f26fedfb3dc38e96ac22fe7bd728f0e45bce046d23c570feb141398bb552ef5a0a82be331fea48037b8b5d71f0e332edf93ac3500eb4ddc0decc1a864790c782c76215660dd309791d06bd0af3f98cda4bc4629b1"
	data, err := hex.DecodeString(prefix + blocks)
	must(t, err)
	if _, err := hash(data); err == nil {
		t.Error("a colliding file has a hash")
	}
	if _, err := hash(data[:len(data)-64]); err != nil {
		t.Errorf("a file without the second block: %v", err)
	}
	sum, err := hash([]byte("blob 0\x00"))
	must(t, err)
	if got := fmt.Sprintf("%x", sum); got != "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" {
		t.Errorf("the empty blob is %s", got)
	}
}

// FuzzPack: no pack panics or gives an object another name than its hash.
func FuzzPack(f *testing.F) {
	var p packer
	base := []byte("base base base")
	at := p.add(typeBlob, len(base), nil, base)
	d := delta(len(base), 2)
	p.add(typeOfs, len(d), ofs(12+p.body.Len()-at), d)
	id := blobID(base)
	p.add(typeRef, len(d), id[:], d)
	f.Add(p.bytes())
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01"))
	dir := f.TempDir()
	limits := packLimits{objects: 100, object: 1 << 16, inflated: 1 << 20, stack: 1 << 18, depth: 20}
	f.Fuzz(func(t *testing.T, data []byte) {
		pk, err := receivePack(context.Background(), dir, bytes.NewReader(data), limits)
		if err != nil {
			return
		}
		defer pk.close()
		for id := range pk.byID {
			raw, ok, err := pk.object(id, 1<<16)
			if err != nil || !ok {
				t.Fatalf("object %s: %v %v", id, ok, err)
			}
			if _, err := verify(id.String(), raw); err != nil {
				t.Fatalf("object %s: %v", id, err)
			}
		}
	})
}
