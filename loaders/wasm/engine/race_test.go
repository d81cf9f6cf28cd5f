//go:build race

package engine

// underRace: the race detector makes compiling about ten times slower.
const underRace = true
