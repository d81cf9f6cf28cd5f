// Package wasm makes extensions of verified WebAssembly modules: what runs in the sandbox looks to the
// host like anything that is compiled in.
//
// [New] takes a module, the powers that a person on this peer granted, and the services of the host
// ([Services]), and gives an [Extension]. Each instance of it has a pool of its own; each call of the
// guest runs in the name of one [extension.Call]. [Discover] lists the tools of a module in a throw-away
// instance without any power, so that they can be shown, and fingerprinted, before anybody trusts it.
//
// Three interfaces between guest and host are spoken (abi.go): two of the Extism MCP plugins, tools
// only, and chaz-ext-1, which has every endpoint of the contract (chaz.go has its shapes). Whatever the
// interface, every host function that reaches beyond the guest's own memory asks one gate (gate.go);
// nothing else reads the grants. What is refused tells the guest which capability is missing and how to
// declare it, and is told to the audit.
//
// Guests are hostile: what they answer is bounded, checked and cleaned before it goes anywhere, and a
// guest that traps, loops, floods or talks nonsense makes an error of that one call.
//
// What lives here: the shapes of the interfaces, the gate, the HTTP client of guests, checks of tool
// lists. What may not: running WebAssembly (loaders/wasm/engine), who is trusted and where bytes come
// from (loaders), documents: sessions come as values of calls and are handed on.
package wasm
