// Package p2p finds peers, keeps connections to them and opens streams on these. It is the only door
// to libp2p: addresses are multiaddr text here, peers are [crdt.PeerID], streams are [Stream].
//
// A [Network] listens on QUIC and on TCP with Noise, never on TCP with TLS: QUIC proves identities
// with certificates, which a peer refuses whose clock is more than an hour behind ours, and Noise
// knows no time. Both are dialled, so a machine whose real clock is wrong connects over TCP, and
// [PeerState].Cause names the clock. There is no relay, no address discovery service, no hole
// punching and no DHT: nothing leaves the machine except towards addresses somebody gave, peers told,
// or multicast DNS showed.
//
// Wanted peers ([Network.Want]) are dialled until they are connected, with exponential back-off and
// jitter. The back-off starts over when the network changes, after sleep, when multicast DNS or an
// explicit [Network.Connect] brings a new address, and on [Network.Resume]. Addresses of peers that
// proved their identity go to the [AddressBook].
//
// "Connected" means that the peer identified itself over the connection. A completed handshake alone
// proves nothing: a peer that refuses us closes right after it. Even so only the first bytes on a
// stream show that a peer talks to us.
//
// What may not live here: what is said on the streams, who may do what in a document, and the store.
package p2p
