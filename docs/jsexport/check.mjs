// Usage, after `npm ci` in this folder: node check.mjs FILE
// Loads FILE, a document exported by `chaz-peer … export`, and prints its stores as one JSON object:
// {store: {key: text}}. Every text is JSON itself; one that is not, or that is no string, is an
// error.
import { readFileSync } from "node:fs"
import { argv, stdout } from "node:process"
import * as Automerge from "@automerge/automerge"

if (argv.length !== 3) throw new Error("usage: node check.mjs FILE")
const doc = Automerge.load(new Uint8Array(readFileSync(argv[2])))

const stores = {}
for (const [store, entries] of Object.entries(doc)) {
  stores[store] = {}
  for (const [key, value] of Object.entries(entries)) {
    const text = Automerge.isImmutableString(value) ? value.toString() : value
    if (typeof text !== "string") throw new Error(`${store}/${key}: not a string`)
    JSON.parse(text)
    stores[store][key] = text
  }
}
stdout.write(JSON.stringify(stores) + "\n")
