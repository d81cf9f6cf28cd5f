package badger

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dgraph-io/badger/y"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Badger v1.6.2 on disk: value log files "%06d.vlog" of entries (header, key with 8 bytes of
// version, value, CRC-32C); a transaction is a run of entries of one version and an end entry.
const (
	logSuffix = ".vlog"
	logHeader = 18 // key length, value length, expiry (8), meta, user meta
	logMaxKey = 1 << 16
	bitTxn    = 1 << 6
	bitTxnEnd = 1 << 7
)

// logPos is a position in the value log.
type logPos struct {
	file   uint32
	offset int64
}

// damage is the first place where the log cannot be read on.
type damage struct {
	logPos       // where the last whole transaction ends
	size   int64 // of that file
}

// findDamage reads the value log behind the tables as Badger will; nil: it is whole.
func findDamage(dir string, head logPos) (*damage, error) {
	files, err := logFiles(dir)
	if err != nil {
		return nil, err
	}
	if len(files) > 0 && !slices.Contains(files, head.file) && head != (logPos{}) {
		return &damage{logPos: logPos{file: head.file}}, nil
	}
	for _, n := range files {
		if n < head.file {
			continue // all of it is in tables
		}
		from := int64(0)
		if n == head.file {
			from = head.offset
		}
		end, size, err := scanLog(logPath(dir, n), from)
		if err != nil {
			return nil, err
		}
		if end != size {
			return &damage{logPos: logPos{file: n, offset: end}, size: size}, nil
		}
	}
	return nil, nil
}

func logPath(dir string, n uint32) string {
	return filepath.Join(dir, fmt.Sprintf("%06d%s", n, logSuffix))
}

// logFiles lists the numbers of the value log files, ascending.
func logFiles(dir string) ([]uint32, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []uint32
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), logSuffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(name, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%w: a log file is named %s", crdt.ErrTornStore, e.Name())
		}
		files = append(files, uint32(n))
	}
	slices.Sort(files)
	return files, nil
}

// scanLog returns where the last whole transaction of a log file ends, and the size of the file. A
// file that is shorter than from ends at 0: there is nothing in it that the tables do not have.
func scanLog(path string, from int64) (end, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	size = info.Size()
	if from > size {
		return 0, size, nil
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return 0, 0, err
	}
	n, err := wholePart(f, size-from)
	return from + n, size, err
}

// wholePart returns how many of the next size bytes are whole transactions.
func wholePart(r io.Reader, size int64) (n int64, err error) {
	s := logScanner{r: bufio.NewReaderSize(r, 1<<18), left: size}
	var version uint64 // of the transaction that is open; 0: none
	for {
		e, ok, err := s.next()
		if err != nil {
			return 0, err
		}
		if !ok || !e.follows(&version) {
			return n, nil
		}
		if version == 0 {
			n = size - s.left
		}
	}
}

// logEntry is what wholePart needs of an entry.
type logEntry struct {
	meta    byte
	version uint64
	value   []byte
}

// follows reports whether the entry may stand here, version being that of the open transaction, and
// opens or closes the transaction.
func (e logEntry) follows(version *uint64) bool {
	switch {
	case e.meta&bitTxn != 0:
		if *version == 0 {
			*version = e.version
		}
		return *version == e.version
	case e.meta&bitTxnEnd != 0:
		v, err := strconv.ParseUint(string(e.value), 10, 64)
		if err != nil || v != *version {
			return false
		}
		*version = 0
		return true
	}
	return *version == 0
}

type logScanner struct {
	r    *bufio.Reader
	left int64 // bytes of the file behind the last entry
	buf  []byte
}

// next reads an entry; ok is false at the end and where what stands there is not one.
func (s *logScanner) next() (e logEntry, ok bool, err error) {
	var h [logHeader]byte
	if s.left < logHeader+8+4 {
		return e, false, nil
	}
	if _, err := io.ReadFull(s.r, h[:]); err != nil {
		return e, false, err
	}
	klen, vlen := int64(binary.BigEndian.Uint32(h[:])), int64(binary.BigEndian.Uint32(h[4:]))
	if klen < 8 || klen > logMaxKey || logHeader+klen+vlen+4 > s.left {
		return e, false, nil
	}
	n := int(klen + vlen + 4)
	s.buf = slices.Grow(s.buf[:0], n)[:n]
	if _, err := io.ReadFull(s.r, s.buf); err != nil {
		return e, false, err
	}
	body, sum := s.buf[:klen+vlen], s.buf[klen+vlen:]
	crc := crc32.Update(crc32.Checksum(h[:], y.CastagnoliCrcTable), y.CastagnoliCrcTable, body)
	if crc != binary.BigEndian.Uint32(sum) {
		return e, false, nil
	}
	s.left -= logHeader + int64(n)
	return logEntry{meta: h[16], version: y.ParseTs(body[:klen]), value: body[klen:]}, true, nil
}
