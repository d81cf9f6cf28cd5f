package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

const maxText = 4 << 10 // bytes of a GuestError

// run calls one function inside the frame. It reports whether the instance may be used again.
func (in *instance) run(export string, sig *meter.FuncType, input []byte) (out []byte, keep bool, err error) {
	at, ok := in.arena.put(input)
	if !ok {
		return nil, true, fmt.Errorf("the input of %d bytes does not fit into the exchange memory of %s",
			len(input), bytesText(in.arena.limit))
	}
	in.inputAt, in.inputLen = at, uint64(len(input))
	stack := in.stack[:len(sig.Results)]
	if err := in.function(export).CallWithStack(&in.ours, stack); err != nil {
		var exit *sys.ExitError
		if in.stop == nil && errors.As(err, &exit) && exit.ExitCode() == 0 {
			return in.output(), false, nil // a command that came to its end
		}
		return nil, false, in.explain(err)
	}
	// A function that returns nothing reports by error_set alone, one that returns a fraction not at all.
	code, silent := int32(0), len(stack) == 0
	if !silent && (sig.Results[0] == meter.I32 || sig.Results[0] == meter.I64) {
		code = int32(uint32(stack[0]))
	}
	if code == 0 && (!silent || in.errorAt == 0) {
		return in.output(), true, nil
	}
	if in.mem.full {
		return nil, false, in.memoryError()
	}
	in.pool.errs.Add(1)
	return nil, true, &GuestError{Code: code, Text: in.errorText()}
}

// output copies what the guest left.
func (in *instance) output() []byte {
	b, _ := in.arena.bytes(in.outputAt, in.outputLen)
	return append([]byte{}, b...)
}

func (in *instance) errorText() string {
	b, _ := in.arena.block(in.errorAt)
	if len(b) > maxText {
		b = b[:maxText]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
