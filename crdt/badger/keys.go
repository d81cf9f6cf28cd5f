package badger

import "encoding/binary"

// The first byte of every Badger key. Badger keeps its own keys under "!" (0x21).
const (
	spaceMeta   byte = 0x00 // + name: facts about the store itself
	spaceEntry  byte = 0x01 // + key: the value, or with user meta metaSplit its length (8 bytes)
	spacePiece  byte = 0x02 // + key + number (4 bytes): one piece of a split value
	spaceSplit  byte = 0x03 // + key: how many pieces (4 bytes); an index of what is in spacePiece
	spaceStage  byte = 0x04 // + stage (8 bytes) + number (4 bytes): a record of a large batch
	spaceMarker byte = 0x05 // + stage (8 bytes): how many records (4 bytes); the stage is valid
)

// metaSplit in the user meta of an entry says that its value is split.
const metaSplit byte = 1

// metaKeyRepair holds the name of the folder of the last repair that nobody acknowledged.
const metaKeyRepair = "\x00repair"

// pieceSize is the largest value kept in one Badger entry. Badger's threshold for values that live
// in its tables is 65,500 bytes.
const pieceSize = 60_000

func inSpace(space byte, key []byte) []byte {
	k := make([]byte, 0, 1+len(key)+4)
	return append(append(k, space), key...)
}

func pieceKey(key []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(inSpace(spacePiece, key), uint32(n))
}

func stageKey(stage uint64, n int) []byte {
	return binary.BigEndian.AppendUint32(stagePrefix(spaceStage, stage), uint32(n))
}

func stagePrefix(space byte, stage uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{space}, stage)
}

// pieces is the number of pieces of a value of n bytes; 0 if it is kept whole.
func pieces(n int) int {
	if n <= pieceSize {
		return 0
	}
	return (n + pieceSize - 1) / pieceSize
}
