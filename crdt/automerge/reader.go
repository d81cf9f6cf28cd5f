package automerge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"

	binding "github.com/automerge/automerge-go"
)

// Limits of reading a file that somebody else made.
const (
	MaxFile   = 64 << 20      // bytes of an Automerge file
	MaxValues = 128 << 20     // bytes of all keys and values in it
	maxAnswer = 2 * MaxValues // bytes of the same as JSON, where quotes take two
	// maxReaderData is the data memory a reading process may take: the core expands compressed
	// columns without a bound of its own, and needs about 1 GB for a collaborative text of 1 MiB.
	maxReaderData = 3 << 30
)

// Stores holds the string values of a document: store, key, value.
type Stores map[string]map[string]string

// answer is what a reading process says.
type answer struct {
	Stores Stores `json:"stores,omitempty"`
	Error  string `json:"error,omitempty"`
}

// RunReader reads an Automerge file from in and writes to out what [Child.Values] expects. It must be
// the whole life of a process, which it limits in memory: crafted bytes abort it. It returns an
// error only when out could not be written.
func RunReader(in io.Reader, out io.Writer) error {
	var a answer
	err := limitProcess()
	if err == nil {
		a.Stores, err = readStores(in)
	}
	if err != nil {
		a = answer{Error: err.Error()}
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(a); err != nil {
		return fmt.Errorf("write values of Automerge file: %w", err)
	}
	return nil
}

// limitProcess bounds this process's data memory and keeps an abort from leaving a core dump. (A
// bound of the address space would end any Go program.)
func limitProcess() error {
	for resource, limit := range map[int]uint64{syscall.RLIMIT_DATA: maxReaderData, syscall.RLIMIT_CORE: 0} {
		var r syscall.Rlimit
		if err := syscall.Getrlimit(resource, &r); err != nil {
			return fmt.Errorf("limit reading process: %w", err)
		}
		r.Cur = min(limit, r.Max)
		r.Max = r.Cur
		if err := syscall.Setrlimit(resource, &r); err != nil {
			return fmt.Errorf("limit reading process: %w", err)
		}
	}
	return nil
}

func readStores(in io.Reader) (Stores, error) {
	file, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read Automerge file: %w", err)
	}
	if len(file) > MaxFile {
		return nil, fmt.Errorf("read Automerge file: larger than %d bytes", MaxFile)
	}
	if len(file) == 0 {
		return nil, errors.New("read Automerge file: it is empty")
	}
	doc, err := binding.Load(file)
	if err != nil {
		return nil, fmt.Errorf("read Automerge file: %w", err)
	}
	root, err := doc.RootMap().Values()
	if err != nil {
		return nil, fmt.Errorf("read Automerge file: %w", err)
	}
	stores := Stores{}
	size := 0
	for name, v := range root {
		if v.Kind() != binding.KindMap {
			return nil, fmt.Errorf("read Automerge file: %q holds %s, want a map", name, v.Kind())
		}
		if stores[name], err = readStore(v.Map(), &size); err != nil {
			return nil, fmt.Errorf("read Automerge file: store %q: %w", name, err)
		}
	}
	return stores, nil
}

// readStore reads a map of strings and counts their bytes into size. JavaScript's plain strings are
// texts here.
func readStore(m *binding.Map, size *int) (map[string]string, error) {
	values, err := m.Values()
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(values))
	for key, v := range values {
		switch v.Kind() {
		case binding.KindStr:
			out[key] = v.Str()
		case binding.KindText:
			if out[key], err = v.Text().Get(); err != nil {
				return nil, fmt.Errorf("key %q: %w", key, err)
			}
		default:
			return nil, fmt.Errorf("key %q holds %s, want a string", key, v.Kind())
		}
		if *size += len(key) + len(out[key]); *size > MaxValues {
			return nil, fmt.Errorf("more than %d bytes of values", MaxValues)
		}
	}
	return out, nil
}
