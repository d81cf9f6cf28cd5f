package ipld

import "time"

// MaxBlock is the greatest block, in bytes. It has no setting: larger ones can't be exchanged with others.
const MaxBlock = 2 << 20

// Limits bound what one package may cost. A zero field takes its default; what is above the hard limit is
// the hard limit.
type Limits struct {
	Manifest  int64         // bytes of a manifest; 64 KiB, hard 256 KiB
	WASM      int64         // bytes of a module; 16 MiB, hard 64 MiB
	Content   int64         // bytes of content that is no package; 64 MiB, hard 64 MiB
	Blocks    int           // blocks of one package, a block that is linked twice counts twice; 1,024, hard 4,096
	Depth     int           // links between the root and a block; 4, hard 8
	Entries   int           // entries of a directory; 32, hard 32
	CAR       int64         // bytes of a CAR file; 32 MiB, hard 128 MiB
	FetchTime time.Duration // of one Fetch; 60 s, hard 10 min
}

func (l Limits) withDefaults() Limits {
	l.Manifest = bound(l.Manifest, 64<<10, 256<<10)
	l.WASM = bound(l.WASM, 16<<20, 64<<20)
	l.Content = bound(l.Content, 64<<20, 64<<20)
	l.Blocks = bound(l.Blocks, 1024, 4096)
	l.Depth = bound(l.Depth, 4, 8)
	l.Entries = bound(l.Entries, 32, 32)
	l.CAR = bound(l.CAR, 32<<20, 128<<20)
	l.FetchTime = bound(l.FetchTime, time.Minute, 10*time.Minute)
	return l
}

func bound[T int | int64 | time.Duration](v, standard, hard T) T {
	if v <= 0 {
		return standard
	}
	return min(v, hard)
}

// framing is how many bytes of blocks a file of n bytes may take on top of its content: its inner nodes
// and a manifest. A tree of 256 KiB leaves needs less than a thousandth.
func framing(n int64) int64 { return n/8 + 1<<20 }
