// Package replay makes a synced session run what its log switched on: fold, resolve, gate, live. For each
// session it compares the external extensions that the log has on with what is installed in the hub, asks
// the loaders' set whether each may run here, builds what may and takes out what may not, any more.
//
// What lives here: that one comparison, the states that people see, and the retries of what is missing.
// What may not: bytes and decisions (loaders), running code (loaders/wasm), dispatch (extension/hub),
// the network (node).
package replay
