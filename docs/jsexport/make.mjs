// Usage: node make.mjs FILE JSON
// Writes the stores in JSON, {store: {key: text}}, as an Automerge file, the way a JavaScript
// program would: half of the texts as plain strings, half as immutable ones.
import { writeFileSync } from "node:fs"
import { argv } from "node:process"
import * as Automerge from "@automerge/automerge"

if (argv.length !== 4) throw new Error("usage: node make.mjs FILE JSON")
let plain = false
const doc = Automerge.change(Automerge.init(), (root) => {
  for (const [store, entries] of Object.entries(JSON.parse(argv[3]))) {
    root[store] = {}
    for (const [key, text] of Object.entries(entries)) {
      plain = !plain
      root[store][key] = plain ? text : new Automerge.ImmutableString(text)
    }
  }
})
writeFileSync(argv[2], Automerge.save(doc))
