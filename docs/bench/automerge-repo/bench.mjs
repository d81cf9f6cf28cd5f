// Usage, after `npm ci` in this folder: node bench.mjs FILE FOLDER
// Holds the document in FILE (an Automerge file) in one automerge-repo peer and lets others fetch and
// follow it over a WebSocket on the loopback, each with its files below FOLDER. It reads one command a
// line and answers with one line of JSON:
//   bootstrap    a fresh peer fetches the document and writes its files
//   edit TEXT    the first peer adds one row; a second one that was there before sees it (after "seen"
//                nanoseconds), and both write their files
// both {"ns", "seen", "bytes"}: bytes pass the socket, both ways. All settings are the defaults. Files are written, not synced: the storage
// adapter has no such thing.
import { readFileSync, mkdirSync } from "node:fs"
import { createInterface } from "node:readline"
import { argv, stdin, stdout, hrtime } from "node:process"
import { join } from "node:path"
import { randomBytes } from "node:crypto"
import { WebSocketServer } from "ws"
import { Repo, ImmutableString } from "@automerge/automerge-repo"
import { WebSocketServerAdapter, WebSocketClientAdapter } from "@automerge/automerge-repo-network-websocket"
import { NodeFSStorageAdapter } from "@automerge/automerge-repo-storage-nodefs"

const [file, folder] = argv.slice(2)
let folders = 0
function storage() {
  const dir = join(folder, "peer-" + folders++)
  mkdirSync(dir, { recursive: true })
  return new NodeFSStorageAdapter(dir)
}

const sockets = []
const server = new WebSocketServer({ host: "127.0.0.1", port: 0 })
server.on("connection", (_, request) => sockets.push(request.socket))
await new Promise((done) => server.once("listening", done))
const a = new Repo({ storage: storage(), network: [new WebSocketServerAdapter(server)], sharePolicy: async () => true, peerId: "a" })
const handle = a.import(new Uint8Array(readFileSync(file)))
await handle.whenReady()
await a.flush()
const bytes = () => sockets.reduce((sum, s) => sum + s.bytesRead + s.bytesWritten, 0)
const same = (x, y) => JSON.stringify([...x].sort()) === JSON.stringify([...y].sort())

// follower connects a fresh peer and waits until it has all of the document, in its files too.
async function follower() {
  const adapter = new WebSocketClientAdapter(`ws://127.0.0.1:${server.address().port}`)
  const repo = new Repo({ storage: storage(), network: [adapter], peerId: "b" + folders })
  const h = await repo.find(handle.url)
  await until(h)
  await repo.flush()
  return { repo, h, adapter }
}

// until waits until the peer has what the first one has.
function until(h) {
  return new Promise((done) => {
    const look = () => {
      if (!same(h.heads(), handle.heads())) return
      h.off("heads-changed", look)
      done()
    }
    h.on("heads-changed", look)
    look()
  })
}

async function timed(run) {
  const before = bytes()
  const begin = hrtime.bigint()
  const since = () => Number(hrtime.bigint() - begin)
  const { seen, after } = await run(since)
  const ns = since()
  await after()
  return { ns, seen, bytes: bytes() - before }
}

const commands = {
  bootstrap: () =>
    timed(async () => {
      const f = await follower()
      return { seen: 0, after: () => settle().then(() => f.repo.shutdown()) }
    }),
  edit: async (text) => {
    follow ??= await follower()
    return timed(async (since) => {
      const key = randomBytes(32).toString("hex")
      handle.change((d) => {
        d.entries[key] = new ImmutableString(text)
      })
      await until(follow.h)
      const seen = since()
      await Promise.all([a.flush(), follow.repo.flush()])
      return { seen, after: settle }
    })
  },
}
let follow
// For the last answers to be counted, and so that the 100 ms between two messages or files, which the
// library keeps, are over before the next edit: they are not what is measured.
const settle = () => new Promise((done) => setTimeout(done, 150))

stdout.write("{}\n")
for await (const line of createInterface({ input: stdin })) {
  const [word, ...rest] = line.split(" ")
  stdout.write(JSON.stringify(await commands[word](rest.join(" "))) + "\n")
}
process.exit(0)
