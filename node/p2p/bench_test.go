package p2p

import (
	"context"
	"io"
	"testing"
)

// benchPair connects two networks over one transport.
func benchPair(b *testing.B, transport string, serve func(*Network)) (*node, *node) {
	x, y := start(b, testConfig(b, 0), nil), start(b, testConfig(b, 1), serve)
	if err := x.Connect(contextOf(b), y.Self(), y.over(transport)); err != nil {
		b.Fatal(err)
	}
	return x, y
}

// BenchmarkRoundTrip sends 64 bytes on an open stream and waits for their echo.
func BenchmarkRoundTrip(b *testing.B) {
	for _, transport := range []string{"quic", "tcp"} {
		b.Run(transport, func(b *testing.B) {
			x, y := benchPair(b, transport, withEcho)
			s, err := x.Open(contextOf(b), y.Self(), echoProto)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			buf := make([]byte, 64)
			for b.Loop() {
				if _, err := s.Write(buf); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(s, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpenStream opens a stream, sends 64 bytes, waits for their echo and closes it.
func BenchmarkOpenStream(b *testing.B) {
	for _, transport := range []string{"quic", "tcp"} {
		b.Run(transport, func(b *testing.B) {
			x, y := benchPair(b, transport, withEcho)
			buf := make([]byte, 64)
			for b.Loop() {
				s, err := x.Open(contextOf(b), y.Self(), echoProto)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Write(buf); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(s, buf); err != nil {
					b.Fatal(err)
				}
				if err := s.CloseWrite(); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Read(buf); err != io.EOF {
					b.Fatalf("end of stream: %v", err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkThroughput writes 64 KiB pieces one way.
func BenchmarkThroughput(b *testing.B) {
	const sinkProto = "/chaz/test-sink/1"
	sink := func(n *Network) {
		n.Handle(sinkProto, func(_ context.Context, s *Stream) {
			_, _ = io.Copy(io.Discard, s)
			_, _ = s.Write([]byte{1})
		})
	}
	for _, transport := range []string{"quic", "tcp"} {
		b.Run(transport, func(b *testing.B) {
			x, y := benchPair(b, transport, sink)
			s, err := x.Open(contextOf(b), y.Self(), sinkProto)
			if err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, 64<<10)
			b.SetBytes(int64(len(buf)))
			for b.Loop() {
				if _, err := s.Write(buf); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.CloseWrite(); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(s, buf[:1]); err != nil { // all of it arrived
				b.Fatal(err)
			}
		})
	}
}
