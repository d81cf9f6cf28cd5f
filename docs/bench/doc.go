// Command bench prints the speed table: every figure is a ratio between this program and the plain
// thing it is built on, both measured in this run, taking turns. Absolute times stand beside them so
// that a reader can judge the machine; nothing is asserted. docs/bench.md explains the rows.
//
// What may not live here: anything that a test or the product needs.
package main
