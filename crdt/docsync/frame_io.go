package docsync

import (
	"encoding/binary"
	"fmt"
	"io"
)

// WriteFrame writes the length as 4 bytes big endian and the bytes of an encoded frame, in one
// Write.
func WriteFrame(w io.Writer, frame []byte) error {
	b := make([]byte, 4, 4+len(frame))
	binary.BigEndian.PutUint32(b, uint32(len(frame)))
	if _, err := w.Write(append(b, frame...)); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

// ReadFrame reads the bytes of one frame. A length over MaxFrame fails with a *[ProtocolError]
// before anything is allocated for it; the end of the stream between frames is io.EOF.
func ReadFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:1]); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(r, head[1:]); err != nil {
		return nil, fmt.Errorf("read frame: %w", noEOF(err))
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxFrame {
		return nil, bad(CauseOversize, "a frame of %d bytes, the limit is %d", n, MaxFrame)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("read frame: %w", noEOF(err))
	}
	return b, nil
}

// noEOF tells the end of a stream within a frame from the end between two.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
