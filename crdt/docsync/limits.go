package docsync

import "time"

// ProtocolID names the protocol on a multiplexed connection.
const ProtocolID = "/chaz/sync/1"

// Protocol is the version that this package speaks; a hello carries a range of them.
const Protocol = 1

// Limits of the wire. Everything from the other peer is held against them before it is looked at.
const (
	MaxFrame        = 1 << 20          // bytes of one frame behind its length
	MaxPage         = 512 << 10        // bytes of chunks that a page aims at
	MaxPageDecoded  = MaxPage + 64<<10 // bytes of a page once inflated: one chunk may fill it alone
	MaxPageChanges  = 16384            // changes in one page
	MaxAnnounce     = 2000             // entries in one announce or unknown frame
	MaxAnnounced    = 1 << 16          // documents announced over one connection
	MaxChain        = 8                // objects in an open or offer frame
	MaxObjectIDs    = 4096             // ids in an access frame
	MaxObjectsFrame = 64 << 10         // bytes of objects in one frame
	MaxVector       = 8192             // vector entries in one have or ack frame
	MaxActors       = 16384            // vector entries of one document
	MaxRefusedList  = 1024             // refused changes in one frame
	MaxChannels     = 4096             // open channels of one connection
	MaxNote         = 256              // bytes of a note or an error text
	MaxSecret       = 64               // bytes of a secret
	MaxFeatures     = 32               // feature names in a hello
	MaxName         = 128              // bytes of a feature, agent, reason or code
)

// Limits of one session's own behaviour.
const (
	pagesInFlight = 2       // pages sent on one channel and not acknowledged
	windowPages   = 4       // the same as a receiver tolerates it
	bytesInFlight = 8 << 20 // page bytes sent on all channels and not acknowledged
	bulkLoads     = 2       // pages of documents far behind that are read at once
	liveLoads     = 16      // pages of fresh changes that are read at once
	liveInARow    = 4       // fresh pages sent before a bulk page gets its turn
	handshakes    = 64      // channels being opened at once by this side
	idleChannels  = 1024    // own channels above which an idle one is closed for a new one
	maxRefusals   = 10000   // opens refused before the peer is taken for a guesser
	maxDelayed    = 256     // refusals waiting for their moment
	markedPage    = 16      // changes in a page above which it carries marks
	maxReasks     = 3       // times a channel asks again for what a waiting change needs
	maxAccess     = 64      // access frames taken on one channel
	maxHaves      = 64      // complete have messages taken without a page in between
	offsetSamples = 9       // clock samples of which the median counts
)

// Times, all measured on the session's own steady time.
const (
	pingEvery    = 15 * time.Second
	silenceLimit = 45 * time.Second // without any frame: the connection is half open
	helloLimit   = 15 * time.Second
	refuseDelay  = 100 * time.Millisecond // unknown and denied take the same time
	retryBusy    = 30 * time.Second
	ackRecord    = 250 * time.Millisecond // between two durable notes of one document's acks
	maxClockStep = 20 * time.Second       // of a jump of the clock that counts as time
)
