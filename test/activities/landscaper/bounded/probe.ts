// Runs in place of the schema validator, and attempts operations that code in the validator must not be able to do: in
// the sealed process, or in a thread, to show that the attempts succeed without the protection.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import process from 'node:process'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { serveSealed } from '../../../../activities/landscaper/bounded/sealed-process.ts'

export type ProbeRequest =
  /** Runs the code as the validator runs generated code: as an expression. `outcome` returns the result later. */
  | { readonly ask: 'run'; readonly code: string }
  | { readonly ask: 'outcome' }
  /** Attempts an operation that code can do if it loaded Node's modules before the process was sealed. */
  | { readonly ask: 'kept'; readonly power: string; readonly path: string }

export type Outcome = { readonly reached: unknown } | { readonly refused: string }

let outcome: Outcome | undefined

const require = createRequire(import.meta.url)

const POWERS: Readonly<Record<string, (path: string) => unknown>> = {
  'reading a file': (path) => readFileSync(path, 'utf8'),
  'listing a folder': (path) => readdirSync(path),
  'writing a file': (path) => mkdtempSync(`${path}-`),
  'starting a program': () => spawnSync('true').status,
  'starting a thread': () => void new Worker('', { eval: true }).terminate(),
  'ending another process': () => process.kill(process.ppid, 0),
  'loading a module': () => typeof require('node:net'),
  'asking for a module': () => typeof process.getBuiltinModule('node:net'),
  'asking for a binding': () => typeof (process as unknown as { binding(name: string): unknown }).binding('fs'),
}

function attempt(act: () => unknown): Outcome {
  try {
    return { reached: act() }
  } catch (error) {
    return { refused: String(error) }
  }
}

function answer(text: string): unknown {
  const request = JSON.parse(text) as ProbeRequest
  switch (request.ask) {
    case 'run': {
      outcome = undefined
      // eslint-disable-next-line @typescript-eslint/no-implied-eval, @typescript-eslint/no-unsafe-call -- the validator generates code in this way, and the probe tests what such code can reach
      const work = new Function(`return (async () => (${request.code}))()`)() as Promise<unknown>
      work.then(
        (reached) => (outcome = { reached: typeof reached === 'string' ? reached : typeof reached }),
        (error: unknown) => (outcome = { refused: String(error) }),
      )
      return 'begun'
    }
    case 'outcome':
      return outcome ?? 'under way'
    case 'kept':
      if (request.power === 'environment') return { reached: { ...process.env } }
      return attempt(() => POWERS[request.power]?.(request.path) ?? 'done')
  }
}

if (isMainThread) serveSealed(answer)
parentPort?.on('message', (text: string) => parentPort?.postMessage(answer(text)))
parentPort?.postMessage({})
