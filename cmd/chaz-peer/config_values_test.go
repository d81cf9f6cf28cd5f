package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAddresses(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1:0": "/ip4/127.0.0.1/udp/0/quic-v1 /ip4/127.0.0.1/tcp/0", ":4711": "/ip4/0.0.0.0/udp/4711/quic-v1 /ip4/0.0.0.0/tcp/4711",
		"[::1]:5": "/ip6/::1/udp/5/quic-v1 /ip6/::1/tcp/5", "/ip4/1.2.3.4/tcp/1": "/ip4/1.2.3.4/tcp/1", "/ip6/::/udp/1/quic-v1": "/ip6/::/udp/1/quic-v1",
	} {
		if got, err := listenAddrs(in); err != nil || strings.Join(got, " ") != want {
			t.Errorf("listen on %q: %v, %v", in, got, err)
		}
	}
	for _, bad := range []string{
		"", "/", "localhost:1", "1.2.3.4", "1.2.3.4:70000", "/ip4/::1/tcp/1", "/ip6/1.2.3.4/tcp/1", "/ip4/1.2.3.4/udp/1", "/ip4/1.2.3.4/udp/1/quic",
		"/ip4/1.2.3.4/udp/1/quic-v12", "/ip4/1.2.3.4/tcp/x", "/ip4/1.2.3.4/tcp/1/p2p/" + peerA, "/dns4/example.org/tcp/1", "/ip4/1.2.3.4/tcp/1/", "[fe80::1%eth0]:1",
	} {
		if got, err := listenAddrs(bad); err == nil {
			t.Errorf("listen on %q: %v", bad, got)
		}
	}
	for in, ok := range map[string]bool{
		"/ip4/1.2.3.4/tcp/1/p2p/" + peerA: true, "/dns4/example.org/udp/1/quic-v1/p2p/" + peerA: true, "/ip6/::1/tcp/1/p2p/" + peerA: true,
		"/ip4/1.2.3.4/tcp/1": false, "/ip4/1.2.3.4/tcp/1/p2p/": false, "/ip4/1.2.3.4/tcp/1/p2p/" + peerA + "/x": false, "/dns4//tcp/1/p2p/" + peerA: false, peerA: false,
	} {
		if _, err := peerAddr(in); (err == nil) != ok {
			t.Errorf("peer at %q: %v", in, err)
		}
	}
}

func TestDurations(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"0": 0, "5ms": 5 * time.Millisecond, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour,
		"1d12h": 36 * time.Hour, "2w": 336 * time.Hour, "+2h": 2 * time.Hour, "-3d": -72 * time.Hour, "1.5h": 90 * time.Minute,
	} {
		if got, err := parseDuration(in); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", in, got, err, want)
		}
	}
	for _, bad := range []string{"", "-", "5", "d", "5x", "1..5h", "h5", "--5h", "1h 5m", "999999999w", strings.Repeat("9", 400) + "h"} {
		if got, err := parseDuration(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "ms")
		if got, err := parseDuration(fmt.Sprintf("%dms", ms)); err != nil || got.Milliseconds() != ms {
			t.Fatalf("%d ms reads as %v, %v", ms, got, err)
		}
		if got, err := parseDuration(exact(ms)); err != nil || got.Milliseconds() != ms {
			t.Fatalf("%d ms is written as %s, which reads as %v, %v", ms, exact(ms), got, err)
		}
		if _, err := parseDuration(span(ms)); err != nil {
			t.Fatalf("%d ms is shown as %s, which does not read: %v", ms, span(ms), err)
		}
	})
}

// What is a hair short of a whole unit is shown as that.
func TestSpanIsRounded(t *testing.T) {
	for ms, want := range map[int64]string{
		259_199_999: "3d", -259_199_999: "-3d", 84_600_000: "23h30m", 90_000_000: "1d1h", 3_599_999: "1h", 59_999: "1m", 61_400: "1m1s",
		59_900: "59.9s", 1500: "1.5s", 999: "999ms", 0: "0ms",
	} {
		if got := span(ms); got != want {
			t.Errorf("%d ms is %s; want %s", ms, got, want)
		}
	}
}

func TestSizeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(leastMemory, 1<<40).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "round") {
			n = n >> 20 << 20
		}
		if got, err := parseSize(exactSize(n)); err != nil || got != n {
			t.Fatalf("%d is written as %s, which reads as %d, %v", n, exactSize(n), got, err)
		}
	})
	for _, bad := range []string{"", "MiB", "-1", "16", "9999999999GiB", "16 stone", "1.5GiB"} {
		if got, err := parseSize(bad); err == nil {
			t.Errorf("%q is %d", bad, got)
		}
	}
}

func TestNearestFindsSlips(t *testing.T) {
	known := keyNames(topKeys())
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(known).Draw(t, "key")
		i := rapid.IntRange(0, len(k)-2).Draw(t, "at")
		swapped := k[:i] + k[i+1:i+2] + k[i:i+1] + k[i+2:]
		dropped := k[:i] + k[i+1:]
		for _, slip := range []string{swapped, dropped, k + "s"} {
			if got := nearest(slip, known); got != k {
				t.Fatalf("%q suggests %q, want %q", slip, got, k)
			}
		}
	})
	if got := nearest("frobnicate", known); got != "" {
		t.Errorf("frobnicate suggests %q", got)
	}
}
