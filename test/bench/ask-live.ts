// How soon people see a change: `pawl trace -w` beside a journal in which the followed job goes on, from the commit of a change to the line that tells it.
//
//   V1. Changes come at any time between two looks, so they wait for a while that is drawn anew each time.
//   V2. A change is looked for by a phase of its own, which nothing else has.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

import type { LiveJob } from './ask-journal.ts'

const CHANGES = 20
/** V1: longer than any pause between two looks at a small tree. */
const LONGEST_REST_MS = 500
const LONGEST_MS = 30_000

/** @returns of each change the milliseconds until it was told. @throws when one is not. */
export async function watchLive(pawl: string, url: string, job: LiveJob): Promise<readonly number[]> {
  const client = new pg.Client({ connectionString: url })
  // Its questions say so, too.
  client.on('error', () => undefined)
  await client.connect()
  const words = ['trace', `inst/${job.name}`, '-n', job.namespace, '-w', '--database-url', url]
  const child = spawn(process.execPath, [pawl, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  // It waits for a journal that goes away.
  const end = () => void child.kill('SIGTERM')
  process.once('exit', end)
  try {
    const told = tellingOf(child)
    await told(job.phase)
    const taken: number[] = []
    for (let change = 1; change <= CHANGES; change++) {
      await sleep(Math.random() * LONGEST_REST_MS)
      const phase = `Changed${change}`
      const isTold = told(phase)
      await client.query('update hosted_job set phase = $1 where workflow_id = $2 and uid = $3', [
        phase,
        job.workflowID,
        job.itemUid,
      ])
      const committed = performance.now()
      await isTold
      taken.push(performance.now() - committed)
    }
    return taken
  } finally {
    process.off('exit', end)
    if (child.exitCode === null) {
      end()
      await once(child, 'exit')
    }
    await client.end().catch(() => undefined)
  }
}

/** Waits for a line with a word (V2). */
function tellingOf(child: ChildProcessByStdio<null, Readable, null>): (word: string) => Promise<void> {
  let hear: (line: string) => void = () => undefined
  let fail: (error: Error) => void = () => undefined
  createInterface(child.stdout).on('line', (line) => hear(line))
  child.once('exit', (code) => fail(new Error(`pawl trace -w ended with ${String(code)}`)))
  return async (word) => {
    await new Promise<void>((done, broken) => {
      fail = broken
      const late = setTimeout(
        () => broken(new Error(`pawl trace -w told no '${word}' in ${LONGEST_MS} ms`)),
        LONGEST_MS,
      )
      hear = (line) => {
        if (!line.includes(`  ${word}`)) return
        clearTimeout(late)
        done()
      }
    })
  }
}
