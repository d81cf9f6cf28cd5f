//go:build race

package hub

// raceDetector: it keeps memory of its own for every goroutine and address there ever was.
const raceDetector = true
