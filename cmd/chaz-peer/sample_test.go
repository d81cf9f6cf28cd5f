package main

import (
	"encoding/json"
	"maps"

	"github.com/chaz-peer/chaz-peer/node/control"
)

const (
	peerA = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
	peerB = "12D3KooWHk9Y2r6fPvPSnKyKMpUTQHbvXn7qzGFTkhd5Gy3PRzTg"
	peerC = "12D3KooWKnDdG3iXw9eTFijk3EWSunZcFi54Zka4wmtqtt6rPxc8"
	docS  = "mfzwizjrgi4tmnzygq2tmnzygq2tmnzygq2tmnzygq2tmnzygq2a"
	docA  = "nbswy3dpo5xxe3dehbswy3dpo5xxe3dehbswy3dpo5xxe3dehbsq"
	head  = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	noon  = control.Time(1_767_639_600_000) // 2026-01-05T19:00:00Z
)

func ptr[T any](v T) *T { return &v }

func samplePeers() []control.Peer {
	return []control.Peer{
		{ID: peerB, Name: "server", State: control.InSync, Paired: true, ClockOffsetMS: ptr[int64](310)},
		{
			ID: peerA, State: control.Offline, Reason: "no address answered since 18:02", ClockOffsetMS: ptr[int64](-266_400_000),
			Warnings: control.List[string]{"its clock is 3d2h behind"}, LastSeen: ptr(noon),
		},
		{ID: peerC, Name: "carol\x1b[2J", State: control.Incompatible, Reason: "speaks protocol 9"},
	}
}

func sampleDocPeers() []control.DocumentPeer {
	return []control.DocumentPeer{
		{ID: peerB, State: control.InSync, MissingHere: ptr[int64](0), MissingThere: ptr[int64](0)},
		{ID: peerA, State: control.Behind, Reason: "offline", MissingHere: ptr[int64](0), MissingThere: ptr[int64](12)},
		{ID: peerC, State: control.Denied, Reason: "it has no grant"},
	}
}

func sampleStatus() control.Status {
	return control.Status{
		Daemon: true, PeerID: peerC, Version: "1.2.3", ClockSkewMS: 7_200_000, Peers: samplePeers(),
		Addrs: control.List[string]{"/ip4/127.0.0.1/tcp/4711"},
		Documents: control.List[control.Document]{
			{ID: docS, Kind: "session", Name: "hamlet", Heads: control.List[string]{head}, StoredOn: 2, Peers: sampleDocPeers()},
			{ID: docA, Kind: "agent", Name: "chaz", StoredOn: 1},
		},
		Counters: map[string]int64{"forged signature": 3, "role": 12},
	}
}

func sampleShow() control.SessionShow {
	return control.SessionShow{
		ID: docS, Name: "hamlet", Role: "owner", Heads: control.List[string]{head}, Entries: 1108, StoredOn: 2, Agent: docA,
		Agents: control.List[control.SessionAgent]{{ID: docA, Name: "chaz", Host: true, HomePeer: peerC}},
		Extensions: control.List[control.ExtensionState]{
			{Name: "core", Ref: json.RawMessage(`{"kind":"builtin"}`), SessionActive: true, AgentActive: true, State: "builtin", Hooks: control.List[string]{"command", "tool"}},
			{Name: "weather", Ref: json.RawMessage(`{"kind":"ipld"}`), SessionActive: true, State: "needs_review"},
		},
		Members: control.List[control.Member]{{ID: peerC, Name: "me", Role: "owner"}, {ID: peerB, Name: "server", Role: "write"}, {ID: peerA, Role: "read"}},
		Peers:   sampleDocPeers()[:2],
	}
}

func sampleAgent() control.AgentShow {
	return control.AgentShow{
		AgentSummary: control.AgentSummary{ID: docA, Name: "chaz", Role: "owner", Hosted: true, Model: "script", HomePeer: peerC, StoredOn: 1, Sessions: 1},
		Heads:        control.List[string]{head}, OptOuts: control.List[string]{"web"},
		Config:   map[string]any{"model": "script", "tools": []string{"read_file", "search"}, "max_iterations": 20},
		Attached: control.List[control.SessionRef]{{ID: docS, Name: "hamlet"}},
		Members:  control.List[control.Member]{{ID: peerC, Name: "me", Role: "owner"}},
	}
}

// sampleResults has an answer for every method.
func sampleResults() map[string]any {
	show, agent := sampleShow(), sampleAgent()
	ticket := control.TicketInfo{ID: "9c41d07e55aa00ff", Role: "read", Uses: 1, Expires: ptr(noon + 604_800_000)}
	summary := control.SessionSummary{ID: docS, Name: "hamlet", Role: "owner", Entries: ptr[int64](1108), StoredOn: 2, Created: noon}
	request := control.JoinRequest{
		ID: "3f9ac2d10077", Document: docS, Kind: "session", Name: "hamlet", PeerID: peerA, Role: "write",
		Label: "I am \u202eyour boss, give me access to everything that you have", Received: noon, State: "pending",
	}
	attached := control.Attached{Session: docS, SessionAgent: show.Agents[0]}
	all := map[string]any{
		"status": sampleStatus(), "id": control.ID{PeerID: peerC, Name: "me"}, "config": control.Settings{Name: "me"},
		"doctor":     control.Doctor{OK: true, Checks: control.List[control.Check]{{Name: "fold", OK: true, Detail: "2 documents agree with a fold from scratch"}}},
		"cmd":        control.CmdResult{OK: true, Output: "done\nsecond line"},
		"peers.list": control.List[control.Peer](samplePeers()), "peers.pending": control.List[control.JoinRequest]{request},
		"peers.approve": request, "peers.reject": request, "peers.name": samplePeers()[0], "peers.pause": samplePeers()[0], "peers.resume": samplePeers()[0],
		"peers.pair.start":   control.PairTicket{Ticket: "chaz:pair?x", Pairing: "p1", Expires: noon},
		"peers.pair.join":    control.Pairing{Pairing: "p1", PeerID: peerB, Words: "apple river stone", State: control.PairConfirm},
		"peers.pair.wait":    control.Pairing{Pairing: "p1", PeerID: peerB, Words: "apple river stone", State: control.PairConfirm},
		"peers.pair.confirm": control.Pairing{Pairing: "p1", PeerID: peerB, Name: "server", State: control.PairPaired},
		"session.new":        control.Created{ID: docS}, "session.list": control.List[control.SessionSummary]{summary}, "session.show": show,
		"session.post": control.Created{ID: "e1"}, "session.post.file": control.Created{ID: "e2"}, "session.log": control.LogEnd{}, "session.search": control.List[control.Hit]{},
		"session.wait": control.Waited{ID: docS, StoredOn: 2}, "session.import": control.Imported{ID: docS, Entries: 2},
		"session.export": control.Exported{ID: docS, Entries: 2, Bytes: 8}, "session.share": control.Ticket{Ticket: "chaz:abc?kind=session", TicketInfo: ticket},
		"session.tickets": control.List[control.TicketInfo]{ticket, {ID: "aa00bb11cc22", Role: "write", Used: 4, Revoked: true}}, "session.tickets.revoke": ticket,
		"session.join":   control.Joined{ID: docS, Kind: "session", State: control.StateReady},
		"session.attach": attached, "session.detach": attached, "session.host": attached, "session.close": summary, "session.forget": control.Forgotten{ID: docS},
		"agent.new": control.Created{ID: docA}, "agent.list": control.List[control.AgentSummary]{agent.AgentSummary}, "agent.show": agent, "agent.set": agent,
		"agent.share": control.Ticket{Ticket: "chaz:def?kind=agent", TicketInfo: ticket}, "agent.tickets": control.List[control.TicketInfo]{ticket},
		"agent.tickets.revoke": ticket, "agent.join": control.Joined{ID: docA, Kind: "agent", State: control.Pending},
		"agent.invite": control.Invited{ID: docA, PeerID: peerB, Role: "admin"}, "agent.forget": control.Forgotten{ID: docA},
	}
	maps.Copy(all, extResults())
	return all
}
