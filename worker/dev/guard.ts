// The guard process: reads what to clean up, one JSON line each, and cleans up if its input ends without a release.
//
// Only guard-client.ts starts it. It ends a few seconds after the process that started it.

import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

import { isRunning, signal, type ProcessIdentity } from '../server/process-identity.ts'

const GRACE_MS = 3000

const watched: ProcessIdentity[] = []
const folders: string[] = []
let released = false

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as { kill?: ProcessIdentity; remove?: string; release?: true }
  if (message.kill !== undefined) watched.push(message.kill)
  if (message.remove !== undefined) folders.push(message.remove)
  if (message.release === true) released = true
}

if (!released) {
  for (const identity of watched) signal(identity, 'SIGTERM')
  for (let waited = 0; waited < GRACE_MS && watched.some(isRunning); waited += 100) await sleep(100)
  for (const identity of watched) signal(identity, 'SIGKILL')
  for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
}
