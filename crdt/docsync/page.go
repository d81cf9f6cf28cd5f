package docsync

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// pageWindow is the zstd window: a reader needs no more memory than this and the page.
const pageWindow = 512 << 10

// Pages packs and unpacks the pages of Changes frames: one zstd frame over the CBOR array of
// [signature or empty, chunk] pairs. One Pages serves a whole process; methods are safe for
// concurrent use.
type Pages struct {
	enc   *zstd.Encoder
	small *zstd.Encoder // has less to clear before it starts
	dec   *zstd.Decoder
}

// smallPage is the size up to which a page is packed in the quick way.
const smallPage = 8 << 10

type pageEntry struct {
	_   struct{} `cbor:",toarray"`
	Sig []byte
	Raw []byte
}

// NewPages allocates the packer; Close frees it.
func NewPages() (*Pages, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(pageWindow), zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("make page packer: %w", err)
	}
	small, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(smallPage), zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("make page packer: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxPageDecoded), zstd.WithDecoderMaxWindow(pageWindow),
		zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("make page packer: %w", err)
	}
	return &Pages{enc, small, dec}, nil
}

// Close frees the packer. No other method may be running.
func (p *Pages) Close() {
	p.enc.Close()
	p.small.Close()
	p.dec.Close()
}

// Encode packs a page. It fails for one that the other side would refuse.
func (p *Pages) Encode(page []crdt.SignedChange) ([]byte, error) {
	entries := make([]pageEntry, len(page))
	for i, c := range page {
		entries[i] = pageEntry{Sig: c.Sig, Raw: c.Raw}
	}
	if err := checkPage(entries); err != nil {
		return nil, fmt.Errorf("pack page: %w", err)
	}
	b, err := wire.enc.Marshal(entries)
	if err != nil {
		return nil, fmt.Errorf("pack page: %w", err)
	}
	if len(b) > MaxPageDecoded {
		return nil, fmt.Errorf("pack page: %d bytes, the limit is %d", len(b), MaxPageDecoded)
	}
	enc := p.enc
	if len(b) <= smallPage {
		enc = p.small
	}
	out := enc.EncodeAll(b, make([]byte, 0, len(b)/2+64))
	if len(out) > MaxPageDecoded {
		return nil, fmt.Errorf("pack page: %d bytes once packed, the limit is %d", len(out), MaxPageDecoded)
	}
	return out, nil
}

// Decode unpacks a page from hostile bytes, with bounded memory. Errors are *[ProtocolError].
func (p *Pages) Decode(data []byte) ([]crdt.SignedChange, error) {
	if len(data) > MaxPageDecoded {
		return nil, bad(CausePage, "a page of %d bytes", len(data))
	}
	b, err := p.dec.DecodeAll(data, nil)
	if err != nil {
		return nil, bad(CausePage, "unpack: %v", err)
	}
	if len(b) > MaxPageDecoded {
		return nil, bad(CausePage, "a page of %d bytes once unpacked", len(b))
	}
	var entries []pageEntry
	if err := wire.dec.Unmarshal(b, &entries); err != nil {
		return nil, bad(CausePage, "%v", err)
	}
	if again, err := wire.enc.Marshal(entries); err != nil || !bytes.Equal(again, b) {
		return nil, bad(CausePage, "not in canonical form")
	}
	if err := checkPage(entries); err != nil {
		return nil, err
	}
	page := make([]crdt.SignedChange, len(entries))
	for i, e := range entries {
		page[i].Raw = e.Raw
		if len(e.Sig) > 0 {
			page[i].Sig = e.Sig
		}
	}
	return page, nil
}

func checkPage(entries []pageEntry) error {
	if len(entries) == 0 || len(entries) > MaxPageChanges {
		return bad(CausePage, "a page of %d changes", len(entries))
	}
	for _, e := range entries {
		if len(e.Sig) != 0 && len(e.Sig) != 64 {
			return bad(CausePage, "a signature of %d bytes", len(e.Sig))
		}
		if len(e.Raw) == 0 || len(e.Raw) > crdt.MaxChange {
			return bad(CausePage, "a change of %d bytes", len(e.Raw))
		}
	}
	if len(entries[len(entries)-1].Sig) == 0 {
		return bad(CausePage, "the last change of the page is not signed")
	}
	return nil
}
