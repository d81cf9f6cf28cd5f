package p2p

import (
	"net/netip"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/x/rate"
)

// One address may belong to a household of peers behind one router, and one dial of a peer may try
// all its remembered ports, so libp2p's defaults (8 connections, one new one in 5 s) are too tight.
const (
	connsPerIP     = 64
	connRatePerIP  = 5 // new connections a second
	connBurstPerIP = 64
)

func newResourceManager(l Limits) (network.ResourceManager, error) {
	limited := rcmgr.PartialLimitConfig{
		System:    scope(l.Conns, l.Streams, l.Memory),
		Transient: scope(max(8, l.Conns/4), max(16, l.Streams/4), l.Memory/4),
		PeerDefault: rcmgr.ResourceLimits{
			Conns:           rcmgr.LimitVal(l.ConnsPerPeer),
			ConnsInbound:    rcmgr.LimitVal(l.ConnsPerPeer),
			ConnsOutbound:   rcmgr.LimitVal(l.ConnsPerPeer),
			Streams:         rcmgr.LimitVal(l.StreamsPerPeer),
			StreamsInbound:  rcmgr.LimitVal(max(1, l.StreamsPerPeer/2)),
			StreamsOutbound: rcmgr.LimitVal(l.StreamsPerPeer),
			FD:              rcmgr.LimitVal(l.ConnsPerPeer),
			Memory:          rcmgr.LimitVal64(l.MemoryPerPeer),
		},
		// Protocols are bounded by their handlers and by the peer's share.
		ProtocolDefault:     scope(l.Conns, l.Streams, l.Memory),
		ProtocolPeerDefault: scope(l.ConnsPerPeer, l.StreamsPerPeer, l.MemoryPerPeer),
		ServiceDefault:      scope(l.Conns, l.Streams, l.Memory),
		ServicePeerDefault:  scope(l.ConnsPerPeer, l.StreamsPerPeer, l.MemoryPerPeer),
	}
	return rcmgr.NewResourceManager(
		rcmgr.NewFixedLimiter(limited.Build(rcmgr.DefaultLimits.Scale(l.Memory, l.Conns))),
		rcmgr.WithMetricsDisabled(),
		rcmgr.WithLimitPerSubnet(
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 32, ConnCount: connsPerIP}},
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 56, ConnCount: connsPerIP}}),
		rcmgr.WithConnRateLimiters(connRates()),
	)
}

func scope(conns, streams int, memory int64) rcmgr.ResourceLimits {
	return rcmgr.ResourceLimits{
		Conns:           rcmgr.LimitVal(conns),
		ConnsInbound:    rcmgr.LimitVal(conns),
		ConnsOutbound:   rcmgr.LimitVal(conns),
		Streams:         rcmgr.LimitVal(streams),
		StreamsInbound:  rcmgr.LimitVal(streams),
		StreamsOutbound: rcmgr.LimitVal(streams),
		FD:              rcmgr.LimitVal(conns),
		Memory:          rcmgr.LimitVal64(memory),
	}
}

func connRates() *rate.Limiter {
	limit := rate.Limit{RPS: connRatePerIP, Burst: connBurstPerIP}
	return &rate.Limiter{
		NetworkPrefixLimits: []rate.PrefixLimit{
			{Prefix: netip.MustParsePrefix("127.0.0.0/8")},
			{Prefix: netip.MustParsePrefix("::1/128")},
		},
		SubnetRateLimiter: rate.SubnetLimiter{
			IPv4SubnetLimits: []rate.SubnetLimit{{PrefixLength: 32, Limit: limit}},
			IPv6SubnetLimits: []rate.SubnetLimit{{PrefixLength: 56, Limit: limit}},
			GracePeriod:      time.Minute,
		},
	}
}
